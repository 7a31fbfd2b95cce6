//! Each law of proxies finds what breaks it, in a history made by hand.

use rstest::rstest;
use sandgate_shared::names::LABEL_COMPONENT;

use super::super::tests::{binding, claim, history, of, sources, with};
use super::super::{judge, unsettled};
use super::*;

type Told = (Kind, &'static str, Value);

fn of_proxy(more: &Value) -> Value {
    let component = json!({ "metadata": { "labels": { LABEL_COMPONENT: COMPONENT_EGRESS } } });
    of("a", &with(component, more))
}

fn pod(ready: &str) -> Value {
    json!({ "status": { "conditions": [{ "type": "Ready", "status": ready }] } })
}

fn annotated(key: &str, value: &str) -> Value {
    json!({ "metadata": { "annotations": { key: value } } })
}

/// A Service of the claim's proxy, by UID.
fn service(uid: &str, address: &str) -> Told {
    let whole = json!({ "metadata": { "uid": uid }, "spec": { "clusterIP": address } });
    (Kind::Service, "a-egress", of_proxy(&whole))
}

fn gone(told: Told) -> Told {
    (told.0, told.1, with(told.2, &json!({ "gone": true })))
}

/// The claim's sandbox, told of a proxy at this address.
fn sandbox(address: &str) -> Told {
    let value = format!("http://{address}");
    let variables = VARIABLES.map(|name| json!({ "name": name, "value": value }));
    let token = json!({ "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": "token" } } });
    let env: Vec<Value> = variables.into_iter().chain([token]).collect();
    let template =
        json!({ "spec": { "template": { "spec": { "containers": [{ "env": env }] } } } });
    let told = with(annotated(ANNOTATION_PROXY, address), &template);
    (Kind::Deployment, "a-sandbox", of("a", &told))
}

fn allowlist(hosts: &[&str]) -> Told {
    let data = json!({ "data": { ALLOWLIST_FILE: json!({ "hosts": hosts }).to_string() } });
    let whole = with(annotated(ANNOTATION_INTENT, "list"), &data);
    (Kind::Allowlist, "a-egress", of_proxy(&whole))
}

fn proxy_pod(told: &str) -> Told {
    let whole = with(annotated(ANNOTATION_ALLOWLIST, told), &pod("True"));
    (Kind::Pod, "proxy", of_proxy(&whole))
}

/// A claim with a proxy for both its Connections, as it is once it has come to its end.
fn settled() -> Vec<Told> {
    let bare = json!({});
    let mut all = sources();
    all.extend([
        (Kind::Claim, "a", binding()),
        (Kind::Policy, "a-egress", of_proxy(&bare)),
        allowlist(&["forge.example", "site.example"]),
        service("first", "10.0.0.8"),
        (Kind::Deployment, "a-egress", of_proxy(&bare)),
        proxy_pod("list"),
        (Kind::Secret, "a-sandbox-connections", of("a", &bare)),
        (Kind::Policy, "a-sandbox", of("a", &bare)),
        (Kind::Service, "a-sandbox", of("a", &bare)),
        sandbox("10.0.0.8:3128"),
    ]);
    all
}

fn moved() -> Told {
    let of_claim = json!({ "involvedObject": { "uid": "a" } });
    (Kind::Move, "a.moved", of_claim)
}

#[rstest]
#[case::before_its_proxy_was_ready(vec![(Kind::Pod, "proxy", of_proxy(&pod("False")))], 1)]
#[case::without_a_proxy(vec![], 1)]
#[case::with_a_pod_of_another_part(vec![(Kind::Pod, "pod", of("a", &pod("True")))], 1)]
#[case::after_its_proxy(vec![(Kind::Pod, "proxy", of_proxy(&pod("True")))], 0)]
fn a_sandbox_that_is_told_of_a_proxy_comes_after_it(
    #[case] mut changes: Vec<Told>,
    #[case] laws: usize,
) {
    changes.push(sandbox("10.0.0.9:3128"));
    assert_eq!(late(&history(changes)).len(), laws);
}

#[test]
fn a_proxy_that_is_ready_is_no_pod_that_an_address_may_lead_to() {
    let dialled = with(
        claim(1, "Bound"),
        &json!({ "status": { "addresses": { "tool": "a-sandbox:80" } } }),
    );
    let found = judge(&history(vec![
        (Kind::Claim, "a", claim(1, "Pending")),
        (Kind::Pod, "proxy", of_proxy(&pod("True"))),
        (Kind::Claim, "a", dialled),
    ]));
    let laws: Vec<&str> = found.iter().map(|it| it.law).collect();
    assert_eq!(laws, ["no address is published without a ready pod"]);
}

#[rstest]
#[case::of_one_service(vec![service("first", "10.0.0.8")], 1)]
#[case::of_none(vec![], 1)]
#[case::of_one_address(vec![service("first", "10.0.0.8"), service("second", "10.0.0.8")], 1)]
#[case::of_two(vec![
    service("first", "10.0.0.8"),
    gone(service("first", "10.0.0.8")),
    service("second", "10.0.0.9"),
], 0)]
fn a_move_is_told_only_of_a_proxy_that_had_two_addresses(
    #[case] mut changes: Vec<Told>,
    #[case] laws: usize,
) {
    changes.push(moved());
    let found = judge(&history(changes));
    let law = "a move of an egress proxy is told only of one that had two addresses";
    let told = found.iter().filter(|it| it.law == law);
    assert_eq!(told.count(), laws, "{found:?}");
}

#[rstest]
#[case::as_it_was(vec![])]
#[case::of_the_hosts_that_are_left(vec![
    gone((Kind::Connection, "site", json!({}))),
    allowlist(&["forge.example"]),
])]
#[case::with_another_service(vec![
    gone(service("first", "10.0.0.8")),
    service("second", "10.0.0.9"),
    sandbox("10.0.0.9:3128"),
])]
#[case::with_a_pod_that_is_over(vec![
    (Kind::Pod, "over", with(proxy_pod("other").2, &json!({ "status": { "phase": "Failed" } }))),
])]
fn a_proxy_for_the_hosts_that_stand_is_settled(#[case] changes: Vec<Told>) {
    let all = settled().into_iter().chain(changes).collect();
    assert_eq!(unsettled(&history(all), &[]), Vec::<String>::new());
}

#[rstest]
#[case::left_behind("its proxy is wanted: false", vec![
    gone((Kind::Connection, "site", json!({}))),
    gone((Kind::Secret, "token", json!({}))),
])]
#[case::without_its_allowlist("its proxy is wanted: true", vec![gone(allowlist(&[]))])]
#[case::without_its_deployment("its proxy is wanted: true", vec![
    gone((Kind::Deployment, "a-egress", json!({}))),
])]
#[case::for_a_host_that_nobody_names("its allowlist is", vec![
    allowlist(&["forge.example", "other.example", "site.example"]),
])]
#[case::for_the_host_of_a_connection_without_its_secret("its allowlist is", vec![
    gone((Kind::Secret, "token", json!({}))),
])]
#[case::without_the_host_of_an_edit("its allowlist is", vec![
    (Kind::Connection, "site", json!({ "spec": { "hosts": ["site.example", "two.example"] } })),
])]
#[case::that_knows_another_list("was told of allowlist", vec![proxy_pod("other")])]
#[case::that_was_told_once_of_its_list("was told of allowlist", vec![proxy_pod("list@1")])]
#[case::where_the_sandbox_looks_elsewhere("is told of proxy", vec![
    gone(service("first", "10.0.0.8")),
    service("second", "10.0.0.9"),
])]
#[case::of_which_the_sandbox_knows_nothing("is told of proxy", vec![
    (Kind::Deployment, "a-sandbox", of("a", &json!({}))),
])]
fn a_proxy_that_does_not_follow_its_hosts_is_unsettled(
    #[case] words: &str,
    #[case] changes: Vec<Told>,
) {
    let all = settled().into_iter().chain(changes).collect();
    let told = unsettled(&history(all), &[]).join("; ");
    assert!(told.contains(words), "{told}");
}

/// All of its Connections are gone, and its proxy with them.
fn without_hosts() -> Vec<Told> {
    let objects = OBJECTS.map(|kind| gone((kind, "a-egress", json!({}))));
    let sources = sources().into_iter().map(gone);
    let secret = gone((Kind::Secret, "a-sandbox-connections", json!({})));
    let all = settled().into_iter().chain(sources).chain(objects);
    all.chain([secret]).collect()
}

#[test]
fn a_sandbox_without_a_proxy_is_told_of_none() {
    let mut all = without_hosts();
    let told = unsettled(&history(all.clone()), &[]).join("; ");
    assert!(told.contains("is told of proxy"), "{told}");
    all.push((Kind::Deployment, "a-sandbox", of("a", &json!({}))));
    all.push((
        Kind::Allowlist,
        "a-egress",
        json!({ "metadata": { "uid": "theirs" } }),
    ));
    // Somebody else's object by the name of a proxy's is in nobody's way then.
    let may_fail = ("here".to_owned(), "a".to_owned());
    assert_eq!(unsettled(&history(all), &[may_fail]), Vec::<String>::new());
}

#[rstest]
#[case::gone(vec![], None)]
#[case::made_anew(vec![service("second", "10.0.0.9"), moved()], None)]
#[case::known_and_nobody_is_told(
    vec![service("second", "10.0.0.9"), sandbox("10.0.0.9:3128")],
    None,
)]
#[case::known(
    vec![service("second", "10.0.0.9"), sandbox("10.0.0.9:3128"), moved()],
    Some(2),
)]
#[case::at_the_same_address(vec![service("second", "10.0.0.8")], Some(1))]
fn a_service_is_back_once_the_sandbox_knows_it(
    #[case] changes: Vec<Told>,
    #[case] seconds: Option<u64>,
) {
    let first = settled();
    let all = first
        .into_iter()
        .chain([gone(service("first", "10.0.0.8"))]);
    let all = history(all.chain(changes).collect());
    let before = standing(&all[..settled().len()]);
    let service = super::service(&before).unwrap();
    assert_eq!(back(&all, service), seconds.map(Duration::from_secs));
}
