//! The corpus of writes, judged by the rulebook alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a failing test stops where it stands, and tables pass their rows by value"
)]

use std::collections::BTreeSet;

use rstest::rstest;
use sandgate_shared::{
    corpus::{Case, Tried, cases},
    render::Installation,
    rules::{Attempt, Binds, Effect, Layer, Phase, Row, Rulebook, Subject, Verdict, table},
};
use serde_json::{Value, json};

fn rulebook() -> Rulebook {
    Rulebook::compile(&Installation::default().identity()).unwrap()
}

/// Judges the case; an object without a name gets one.
fn judge(rulebook: &Rulebook, case: &Case, phase: Phase) -> Verdict {
    let named = |object: &Value| {
        let mut object = object.clone();
        if object.pointer("/metadata/name").is_none() {
            json_patch::merge(&mut object, &json!({"metadata": {"name": "some-name"}}));
        }
        object
    };
    let old_object = case.old.as_ref().map(named);
    judge_object(
        rulebook,
        case,
        phase,
        &named(&case.new),
        old_object.as_ref(),
    )
}

fn judge_object(
    rulebook: &Rulebook,
    case: &Case,
    phase: Phase,
    object: &Value,
    old_object: Option<&Value>,
) -> Verdict {
    rulebook.judge(&Attempt {
        subject: case.subject,
        operation: case.operation(),
        subresource: case.subresource.as_deref(),
        phase,
        object,
        old_object,
        user_info: &case.who.user_info(&Installation::default().identity()),
    })
}

fn named(verdict: &Verdict) -> BTreeSet<&str> {
    verdict
        .violations
        .iter()
        .map(|violation| violation.rule.as_str())
        .collect()
}

/// The ids of the rules whose warnings a verdict holds.
fn warned(verdict: &Verdict) -> BTreeSet<&str> {
    let id = |text: &'_ String| {
        let mut rows = table().filter(|row| row.effect == Effect::Warn);
        rows.find(|row| text.ends_with(row.sentence))
            .unwrap_or_else(|| panic!("no rule warns: {text}"))
            .id
    };
    verdict.warnings.iter().map(id).collect()
}

fn differs(verdict: &Verdict, case: &Case, phase: Phase) -> bool {
    let expected: BTreeSet<_> = case.refused.iter().map(String::as_str).collect();
    // Of the two calls, one warns.
    let expected_warnings: BTreeSet<_> = match phase {
        Phase::Mutating => BTreeSet::new(),
        Phase::Validating => case.warned.iter().map(String::as_str).collect(),
    };
    !verdict.faults.is_empty() || named(verdict) != expected || warned(verdict) != expected_warnings
}

// Proves: W-003, W-009, W-010, W-011, W-012, W-013, W-014, W-015, W-016, W-017, W-018, W-019, W-020, W-021, W-022, W-023, W-024, W-025, W-026, W-027, W-028, W-029
// Proves: T-007, T-008, T-009, T-010, T-011, T-012, T-013, T-014, T-015, T-016, T-017, T-018, T-019, T-020, T-021, T-022, T-023, T-024, T-025, T-027, T-028, T-037, T-038, T-039, T-040, T-041, T-042, T-043, T-044, T-046, T-047, T-048, T-049, T-053, T-054, T-055, T-056, T-057, T-058, T-061, T-062, T-063, T-064, T-065, T-066, T-068, T-069, T-070, T-072, T-074, T-075, T-076, T-077, T-078, T-079
#[rstest]
#[case::before_the_schema(Phase::Mutating)]
#[case::as_it_will_be_stored(Phase::Validating)]
fn every_write_of_the_corpus_gets_its_verdict_with_exactly_the_broken_rules_named(
    #[case] phase: Phase,
) {
    let rulebook = rulebook();
    let wrong: Vec<_> = cases()
        .unwrap()
        .into_iter()
        .filter_map(|case| {
            let verdict = judge(&rulebook, &case, phase);
            let too_long = |text: &String| text.chars().count() > Row::LONGEST_WARNING;
            let long = verdict.warnings.iter().any(too_long);
            (long || differs(&verdict, &case, phase)).then(|| {
                format!(
                    "{}: expected {:?} and warnings {:?}, got {:?}, {:?}, faults {:?}",
                    case.name,
                    case.refused,
                    case.warned,
                    named(&verdict),
                    verdict.warnings,
                    verdict.faults
                )
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// Proves: W-001
#[test]
fn two_replicas_answer_every_write_alike() {
    let (one, other) = (rulebook(), rulebook());
    for case in cases().unwrap() {
        for phase in [Phase::Mutating, Phase::Validating] {
            assert_eq!(
                judge(&one, &case, phase),
                judge(&other, &case, phase),
                "{}",
                case.name
            );
        }
    }
}

// Proves: W-001, T-077
#[test]
fn a_name_yet_to_be_generated_is_judged_when_it_is_known() {
    let rulebook = rulebook();
    let mut judged = 0;
    for case in cases().unwrap() {
        if !case.refused.iter().any(|rule| rule == "claim-name") {
            continue;
        }
        judged += 1;
        let mut object = case.new.clone();
        let nameless = json!({"metadata": {"name": null, "generateName": "n-"}});
        json_patch::merge(&mut object, &nameless);
        let verdict = judge_object(&rulebook, &case, Phase::Mutating, &object, None);
        assert_eq!(verdict.violations, [], "{}", case.name);
        assert_eq!(verdict.faults, [""; 0], "{}", case.name);
    }
    assert!(judged > 0, "no case breaks claim-name");
}

// Proves: W-003
#[test]
fn switching_any_rule_off_makes_some_case_of_the_corpus_fail() {
    let cases = cases().unwrap();
    for row in table() {
        let rulebook = rulebook().without(row.id);
        let noticed = cases.iter().any(|case| {
            differs(
                &judge(&rulebook, case, Phase::Validating),
                case,
                Phase::Validating,
            )
        });
        assert!(noticed, "no case of the corpus depends on rule {}", row.id);
    }
}

// Proves: W-003
#[test]
fn every_rule_has_a_case_that_keeps_it_and_one_that_breaks_it() {
    let cases = cases().unwrap();
    let lacks = |wanted| -> Vec<&str> {
        let shown = |row: &&Row| cases.iter().any(|case| case.tries(row) == Some(wanted));
        let rows = table().filter(|row| !shown(row));
        rows.map(|row| row.id).collect()
    };
    assert_eq!(lacks(Tried::Broken), [""; 0], "no case breaks these");
    let kept = lacks(Tried::Kept);
    assert_eq!(
        kept, [""; 0],
        "no admitted case speaks of what these are about"
    );
}

// Proves: W-003
#[test]
fn only_the_webhook_warns_or_holds_what_cel_cannot_say() {
    for row in table() {
        let webhook_only = row.effect == Effect::Warn || row.check.cel().is_none();
        assert!(
            !webhook_only || row.layer == Layer::Webhook,
            "{} cannot be held by the API server",
            row.id
        );
    }
}

// Proves: W-002
#[test]
fn every_warning_fits_one_line_of_120_characters() {
    for row in table().filter(|row| row.effect == Effect::Warn) {
        for node in row.nodes {
            let item = if node.binds == Binds::EachItem {
                "[31]"
            } else {
                ""
            };
            let warning = row.warning(&format!("{}{item}{}", node.path, row.field));
            assert!(
                warning.chars().count() <= Row::LONGEST_WARNING && !warning.contains('\n'),
                "{warning}"
            );
        }
    }
}

// Proves: W-002
#[test]
fn every_rule_has_its_own_id_a_sentence_and_a_way_out() {
    let mut seen = BTreeSet::new();
    for row in table() {
        assert!(seen.insert(row.id), "rule id {} stands twice", row.id);
        assert!(
            row.id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'),
            "{}",
            row.id
        );
        assert!(
            !row.sentence.is_empty() && !row.remedy.is_empty(),
            "{}",
            row.id
        );
        assert!(
            !row.requirements.is_empty(),
            "{} names no requirement",
            row.id
        );
        assert!(!row.message("x").contains('\n'), "{}", row.id);
    }
}

// Proves: W-001
#[test]
fn on_lists_and_texts_beyond_their_bounds_no_rule_is_run() {
    let rulebook = rulebook();
    let many = |item: Value| Value::from(vec![item; 100_000]);
    let claim = cases().unwrap().remove(0);
    let mut huge = claim.clone();
    let breaks_much = json!({"role": "No Label", "id": "x"});
    for (field, value, rule) in [
        ("mounts", many(breaks_much), "schema-max-items"),
        (
            "connections",
            many(json!({"role": "r", "connection": "c"})),
            "schema-max-items",
        ),
        ("handle", json!("/".repeat(1 << 20)), "schema-max-length"),
    ] {
        huge.new["spec"][field] = value;
        let verdict = judge(&rulebook, &huge, Phase::Mutating);
        assert_eq!(named(&verdict), BTreeSet::from([rule]), "{field}");
        assert_eq!(verdict.faults, [""; 0], "{field}");
        huge.new = claim.new.clone();
    }
    let class = cases().unwrap();
    let mut class = class
        .into_iter()
        .find(|case| case.subject == Subject::SandboxClass)
        .unwrap();
    let limits: serde_json::Map<_, _> = (0..100_000)
        .map(|number| (format!("r{number}"), json!("0")))
        .collect();
    class.new["spec"]["resources"]["limits"] = Value::Object(limits);
    let verdict = judge(&rulebook, &class, Phase::Mutating);
    assert_eq!(named(&verdict), BTreeSet::from(["schema-max-properties"]));
}
