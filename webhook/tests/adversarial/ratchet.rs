//! What a class may never change, and what an old object may keep though it breaks a rule today.

use sandgate_shared::rules::Subject;
use serde_json::{Value, json};

use crate::objects::{cut, set};
use crate::tables::changed;

const CLAIM: Subject = Subject::SandboxClaim;
const CLASS: Subject = Subject::ClusterSandboxClass;

// Proves: W-022, T-042, T-044, T-078
#[test]
fn a_classs_ports_and_workspace_are_frozen_and_the_rest_is_not() {
    let ports = |value: Value| vec![set("/spec/ports", value)];
    let two = json!([{"name": "mcp", "port": 8080}, {"name": "web", "port": 8081}]);
    let workspace = |path: &str| vec![set("/spec/filesystem/workspace/mountPath", json!(path))];
    changed(
        CLASS,
        vec![
            (
                "reordered",
                ports(two.clone()),
                ports(json!([two[1], two[0]])),
                "class-ports-immutable",
            ),
            (
                "renamed",
                vec![],
                ports(json!([{"name": "web", "port": 8080}])),
                "class-ports-immutable",
            ),
            (
                "another number",
                vec![],
                ports(json!([{"name": "mcp", "port": 8081}])),
                "class-ports-immutable",
            ),
            ("added", vec![], ports(two.clone()), "class-ports-immutable"),
            ("removed", ports(two), vec![], "class-ports-immutable"),
            ("all of them", vec![], ports(json!([])), "schema-min-items"),
            (
                "a workspace added",
                vec![],
                workspace("/workspace"),
                "class-workspace-immutable",
            ),
            (
                "a workspace removed",
                workspace("/workspace"),
                vec![],
                "class-workspace-immutable",
            ),
            (
                "a workspace taken out of a filesystem that stays",
                workspace("/workspace"),
                vec![set("/spec/filesystem", json!({"readOnlyRoot": true}))],
                "class-workspace-immutable",
            ),
            (
                "a filesystem without workspace added",
                vec![],
                vec![set("/spec/filesystem", json!({"readOnlyRoot": true}))],
                "",
            ),
            (
                "another image",
                vec![],
                vec![set("/spec/image", json!("registry.example.org/codegen:2"))],
                "",
            ),
            (
                "another limit",
                vec![],
                vec![set("/spec/resources/limits/cpu", json!("1000m"))],
                "",
            ),
        ],
    );
}

// Proves: W-011, W-021
#[test]
fn what_broke_a_rule_before_is_let_through_until_it_is_touched() {
    let broken = vec![
        set("/spec/handle", json!("UPPER")),
        set("/spec/targetPath", json!("../up")),
    ];
    let mut labelled = broken.clone();
    labelled.push(set("/metadata/labels/team", json!("a")));
    let mut requested = broken.clone();
    requested.push(set("/spec/requestedBy", json!({"agent": "a"})));
    changed(
        CLAIM,
        vec![(
            "labels of a claim that breaks today's rules",
            broken.clone(),
            labelled,
            "",
        )],
    );
    // Rules that stand on the spec are asked again as soon as the spec changes, as in the API server.
    changed(
        CLAIM,
        vec![(
            "the spec of such a claim",
            broken,
            requested,
            "422 claim-handle claim-target-path",
        )],
    );
    let unlimited = || vec![cut("/spec/resources")];
    let mut annotated = unlimited();
    annotated.push(set("/metadata/annotations/a", json!("b")));
    let mut other = unlimited();
    other.push(set("/spec/image", json!("other")));
    changed(
        CLASS,
        vec![
            (
                "annotations of a class without limits",
                unlimited(),
                annotated,
                "",
            ),
            (
                "the image of a class without limits",
                unlimited(),
                other,
                "422 class-limits",
            ),
            ("limits put right", unlimited(), vec![], ""),
            ("limits taken out", vec![], unlimited(), "422 class-limits"),
        ],
    );
}

// Proves: W-017, P-031
#[test]
fn metadata_alone_may_change_and_a_status_rides_along_with_nothing() {
    changed(
        CLAIM,
        vec![
            (
                "labels",
                vec![],
                vec![set("/metadata/labels/a", json!("b"))],
                "",
            ),
            (
                "annotations",
                vec![],
                vec![set("/metadata/annotations/example.org~1a", json!("b"))],
                "",
            ),
            (
                "an old object without the field that has a default today",
                vec![cut("/spec/classRef/kind")],
                vec![],
                "",
            ),
            (
                "a status, through the main endpoint",
                vec![],
                vec![set("/status/phase", json!("Bound"))],
                "",
            ),
        ],
    );
}
