use k8s_openapi::api::events::v1::Event;
use k8s_openapi::jiff::Timestamp;
use sandgate_shared::api::SandboxClaim;
use serde_json::json;

use super::{EventDraft, event};

#[test]
fn an_event_is_about_the_claim_and_its_name_fits() {
    let claim: SandboxClaim = serde_json::from_value(json!({
        "metadata": {"namespace": "ns", "name": "a".repeat(55), "uid": "u"},
        "spec": {"classRef": {"name": "py"}, "sessionID": "s"},
    }))
    .unwrap();
    let draft = EventDraft {
        warning: true,
        reason: "ClassNotFound",
        action: "Reconcile",
        note: "no class".to_owned(),
    };
    let made = event(
        &claim,
        &draft,
        "pod-1",
        Timestamp::from_second(1_800_000_000).unwrap(),
    );
    let made: Event = serde_json::from_value(serde_json::to_value(made).unwrap()).unwrap();
    assert!(made.metadata.name.unwrap().len() <= 253);
    assert_eq!(made.metadata.namespace.as_deref(), Some("ns"));
    assert_eq!(made.type_.as_deref(), Some("Warning"));
    assert_eq!(made.reason.as_deref(), Some("ClassNotFound"));
    assert_eq!(made.reporting_instance.as_deref(), Some("pod-1"));
    let regarding = made.regarding.unwrap();
    assert_eq!(regarding.kind.as_deref(), Some("SandboxClaim"));
    assert_eq!(regarding.uid.as_deref(), Some("u"));
}
