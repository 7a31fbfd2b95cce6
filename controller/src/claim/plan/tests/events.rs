//! Which Events a reason is worth.

use std::collections::BTreeSet;

use sandgate_shared::{api::SandboxClaimStatus, reason};
use serde_json::json;

use super::super::events::events;

// Proves: C-029
#[test]
fn every_reason_of_a_claim_is_told_by_an_event_once() {
    let ready = |reason: &str| -> SandboxClaimStatus {
        let ready = json!({
            "type": "Ready", "status": "False", "reason": reason, "message": "why",
            "lastTransitionTime": "2026-11-20T10:00:00Z",
        });
        serde_json::from_value(json!({"phase": "Pending", "conditions": [ready]})).unwrap()
    };
    let mut seen = BTreeSet::new();
    for reason in reason::CLAIM {
        assert!(seen.insert(*reason), "{reason} stands twice");
        let told = events(&SandboxClaimStatus::default(), &ready(reason));
        let told: Vec<&str> = told.iter().map(|event| event.reason).collect();
        assert_eq!(told, [*reason]);
        assert_eq!(events(&ready(reason), &ready(reason)), []);
    }
    let of_nobody = ready("Whatever");
    assert_eq!(events(&SandboxClaimStatus::default(), &of_nobody), []);
}
