//! What `kubectl get` shows: each column finds its value in an object of its kind.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

use jsonpath_rust::JsonPath as _;
use rstest::rstest;
use sandgate_shared::render;
use serde_json::{Value, json};

// Proves: T-002, T-003, T-005, X-011
#[rstest]
#[case::claim(
    "SandboxClaim",
    json!({
        "metadata": {"creationTimestamp": "2026-12-01T00:00:00Z"},
        "spec": {"classRef": {"name": "codegen"}, "sessionID": "session-7"},
        "status": {"phase": "Pending", "conditions": [
            {"type": "Bound", "reason": "SandboxReady"},
            {"type": "Ready", "reason": "Unschedulable"},
        ]},
    }),
    &[("Phase", "Pending"), ("Reason", "Unschedulable"), ("Class", "codegen"), ("Session", "session-7"), ("Age", "2026-12-01T00:00:00Z")],
)]
#[case::class(
    "SandboxClass",
    json!({
        "metadata": {"creationTimestamp": "2026-12-01T00:00:00Z"},
        "spec": {"image": "example.com/a:1", "trusted": false},
    }),
    &[("Image", "example.com/a:1"), ("Trusted", "false"), ("Age", "2026-12-01T00:00:00Z")],
)]
#[case::connection(
    "Connection",
    json!({
        "metadata": {"creationTimestamp": "2026-12-01T00:00:00Z"},
        "spec": {"hosts": ["github.com"], "credential": {"kind": "secret"}},
    }),
    &[("Kind", "secret"), ("Hosts", "[\"github.com\"]"), ("Age", "2026-12-01T00:00:00Z")],
)]
fn every_column_finds_its_value(
    #[case] kind: &str,
    #[case] object: Value,
    #[case] expected: &[(&str, &str)],
) {
    let crds = render::crds();
    let crd = crds
        .iter()
        .find(|crd| crd["spec"]["names"]["kind"] == json!(kind))
        .unwrap();
    let columns = crd["spec"]["versions"][0]["additionalPrinterColumns"]
        .as_array()
        .unwrap();
    let shown: Vec<(String, String)> = columns
        .iter()
        .map(|column| {
            let path = format!("${}", column["jsonPath"].as_str().unwrap());
            let found = object.query(&path).unwrap();
            let value = found.first().map(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            });
            (
                column["name"].as_str().unwrap().to_owned(),
                value.unwrap_or_default(),
            )
        })
        .collect();
    let shown: Vec<_> = shown
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(shown, expected);
}
