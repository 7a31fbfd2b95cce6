use std::time::Duration;

use rstest::rstest;
use sandgate_shared::render::{Installation, webhook_configurations};
use serde_json::json;
use tokio::time::Instant;

use super::super::compare::{Standing, compare};
use super::{Decision, Memory, News, OTHER_VERSION, REST, noted};

const SECOND: Duration = Duration::from_secs(1);

fn edited(mark: Option<&str>) -> Standing {
    let [wanted, _] = webhook_configurations(&Installation::default());
    let mut stands = wanted.clone();
    stands["webhooks"][0]["failurePolicy"] = json!("Ignore");
    if let Some(mark) = mark {
        let annotations = stands["metadata"]["annotations"].as_object_mut().unwrap();
        annotations
            .values_mut()
            .for_each(|value| *value = json!(mark));
    }
    compare(&wanted, Some(&stands))
}

fn heals(memory: &mut Memory, standing: &Standing, now: Instant) -> bool {
    let heals = matches!(memory.decide(standing, now).0, Decision::Heal(_));
    if heals {
        memory.healed(now);
    }
    heals
}

#[test]
fn an_edit_is_healed_at_once() {
    let (decision, news) = Memory::default().decide(&edited(None), Instant::now());
    assert!(matches!(decision, Decision::Heal(told) if told.len() == 1));
    assert_eq!(news, None);
}

#[test]
fn what_is_changed_back_each_time_is_healed_ever_after_with_rests_and_told_once() {
    let (mut now, standing) = (Instant::now(), edited(None));
    let mut memory = Memory::default();
    let (mut made, mut told) = (0, 0);
    // A stranger who answers each heal within a second, for an hour.
    for _ in 0..3600 {
        let (decision, news) = memory.decide(&standing, now);
        told += usize::from(news.is_some());
        match decision {
            Decision::Heal(_) => {
                made += 1;
                memory.healed(now);
                // For a moment it stands well.
                assert_eq!(
                    memory.decide(&Standing::Sound, now),
                    (Decision::Leave, None)
                );
            }
            Decision::Wait(left) => assert!(left <= REST, "{left:?}"),
            Decision::Leave => panic!("left alone"),
        }
        now += SECOND;
    }
    assert!((12..=20).contains(&made), "{made} heals in an hour");
    assert!((1..=made).contains(&told), "told {told} times");
}

#[rstest]
#[case::gone(Standing::Absent, News::Missing)]
#[case::of_another_version(edited(Some("other")), News::OtherVersion("other".to_owned()))]
fn what_is_not_healed_is_told_once_until_it_stands_well_again(
    #[case] standing: Standing,
    #[case] wanted: News,
) {
    let now = Instant::now();
    let mut memory = Memory::default();
    let (decision, news) = memory.decide(&standing, now);
    assert!(!matches!(decision, Decision::Heal(_)), "{decision:?}");
    assert_eq!(news.as_ref(), Some(&wanted));
    assert_eq!(memory.decide(&standing, now + SECOND).1, None);
    memory.decide(&Standing::Sound, now + 2 * SECOND);
    assert_eq!(memory.decide(&standing, now + 3 * SECOND).1, Some(wanted));
}

#[test]
fn another_versions_is_left_to_it_for_an_upgrade_and_no_longer() {
    let (start, other) = (Instant::now(), edited(Some("other")));
    let mut memory = Memory::default();
    assert!(!heals(&mut memory, &other, start));
    assert!(!heals(&mut memory, &other, start + OTHER_VERSION - SECOND));
    // A third version begins anew.
    assert!(!heals(
        &mut memory,
        &edited(Some("third")),
        start + OTHER_VERSION
    ));
    assert!(heals(
        &mut memory,
        &edited(Some("third")),
        start + 2 * OTHER_VERSION
    ));
    // Once well, the time begins anew, too.
    assert!(!heals(
        &mut memory,
        &Standing::Sound,
        start + 2 * OTHER_VERSION
    ));
    assert!(!heals(&mut memory, &other, start + 2 * OTHER_VERSION));
}

#[test]
fn each_note_names_what_it_is_about_and_what_to_do() {
    let name = "MutatingWebhookConfiguration zz-sandgate-sandgate";
    for (news, way_out) in [
        (News::Missing, "install the chart again"),
        (News::OtherVersion("x\u{202e}".to_owned()), "for 10 minutes"),
        (News::BackedOff(Vec::new()), "find out who changes it"),
    ] {
        let note = news.note(name);
        assert!(note.starts_with(name) && note.contains(way_out), "{note}");
        assert!(!note.contains('\u{202e}'), "{note}");
    }
}

#[test]
fn a_note_of_many_edits_names_each_field() {
    let [_, wanted] = webhook_configurations(&Installation::default());
    let mut stands = wanted.clone();
    let webhook = stands["webhooks"][0].as_object_mut().unwrap();
    let fields: Vec<String> = webhook
        .keys()
        .filter(|field| *field != "name")
        .cloned()
        .collect();
    for field in &fields {
        webhook[field] = json!({"edited": "x".repeat(200)});
    }
    let Standing::Altered(differences) = compare(&wanted, Some(&stands)) else {
        panic!("not seen");
    };
    let note = noted(&differences);
    assert!(note.len() < 900, "{note}");
    for field in fields {
        assert!(note.contains(&format!("].{field}")), "{field} in {note}");
    }
}
