use k8s_openapi::api::events::v1::Event;
use k8s_openapi::jiff::Timestamp;

use super::{Called, event};
use crate::api_server::Place;
use crate::claim::plan::EventDraft;
use crate::kind::Kind;

fn made(place: Place<'_>, called: Called<'_>) -> Event {
    let draft = EventDraft {
        warning: true,
        reason: "ClassNotFound",
        action: "Reconcile",
        note: "x".repeat(2000),
    };
    let made = event(place, Some("u"), &draft, called, "pod-1");
    serde_json::from_value(serde_json::to_value(made).unwrap()).unwrap()
}

fn now() -> Called<'static> {
    Called::ByTime(Timestamp::from_second(1_800_000_000).unwrap())
}

#[test]
fn an_event_is_about_its_object_and_within_what_the_api_server_takes() {
    let name = "a".repeat(253);
    let made = made(Place::namespaced(Kind::SandboxClaim, "ns", &name), now());
    assert!(made.metadata.name.unwrap().len() <= 253);
    assert_eq!(made.metadata.namespace.as_deref(), Some("ns"));
    assert_eq!(made.type_.as_deref(), Some("Warning"));
    assert_eq!(made.reason.as_deref(), Some("ClassNotFound"));
    assert_eq!(made.reporting_instance.as_deref(), Some("pod-1"));
    assert!(made.note.unwrap().len() <= 1024);
    let regarding = made.regarding.unwrap();
    assert_eq!(regarding.kind.as_deref(), Some("SandboxClaim"));
    assert_eq!(regarding.namespace.as_deref(), Some("ns"));
    assert_eq!(regarding.uid.as_deref(), Some("u"));
}

#[test]
fn what_has_no_namespace_is_told_of_where_the_api_server_takes_it() {
    let made = made(
        Place::cluster(Kind::MutatingWebhookConfiguration, "zz"),
        now(),
    );
    assert_eq!(made.metadata.namespace.as_deref(), Some("default"));
    assert_eq!(made.regarding.unwrap().namespace, None);
}

#[test]
fn what_is_told_once_has_the_same_name_whoever_tells_it() {
    let place = Place::cluster(Kind::MutatingWebhookConfiguration, "istio");
    let name = |word| made(place, Called::Once(word)).metadata.name;
    assert_eq!(name("one"), name("one"));
    assert_ne!(name("one"), name("other"));
    let cut = format!("{}.b", "a".repeat(241));
    let place = Place::cluster(Kind::MutatingWebhookConfiguration, &cut);
    let cut = made(place, Called::Once("one")).metadata.name.unwrap();
    assert!(!cut.contains("..") && cut.len() <= 253, "{cut}");
}
