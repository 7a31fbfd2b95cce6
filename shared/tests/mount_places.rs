//! Which directory a claim mounts, and how directories of claims lie to one another.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing test stops where it stands"
)]

use rstest::rstest;
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::mounts::{MountFault, Place, Relation, SubPath, SubPathError, sub_path};
use serde_json::{Value, json};

const UID: &str = "7a8e7a66-7a1e-4a8e-9d0f-1f1f0c5c2c11";

fn claim(spec: &Value) -> SandboxClaim {
    let mut whole = json!({
        "classRef": {"name": "shell"},
        "agentRuntimeRef": {"name": "agent"},
        "sessionID": "session-7",
        "handle": "shop/default",
    });
    whole
        .as_object_mut()
        .unwrap()
        .extend(spec.as_object().unwrap().clone());
    serde_json::from_value(json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": "SandboxClaim",
        "metadata": {"name": "shop", "namespace": "team", "uid": UID},
        "spec": whole,
    }))
    .unwrap()
}

fn placed(spec: &Value) -> Result<String, MountFault> {
    sub_path(&claim(spec)).map(|path| path.to_string())
}

fn dir(path: &str) -> SubPath {
    path.parse().unwrap()
}

#[rstest]
#[case::nothing_said(json!({}))]
#[case::an_empty_list(json!({"mounts": []}))]
#[case::said(json!({"mounts": [{"role": "scratch"}]}))]
#[case::an_empty_role(json!({"mounts": [{"role": ""}]}))]
#[case::in_the_older_form(json!({"mount": {"role": "scratch"}}))]
fn a_scratch_claim_mounts_a_directory_of_its_uid(#[case] spec: Value) {
    assert_eq!(placed(&spec).unwrap(), format!("sandboxes/{UID}"));
}

#[test]
fn a_claim_that_is_made_again_under_its_name_mounts_another_directory() {
    let mut again = claim(&json!({}));
    let first = sub_path(&again).unwrap();
    again.metadata.uid = Some("another".to_owned());
    assert_eq!(sub_path(&again).unwrap().relation(&first), Relation::Apart);
}

#[rstest]
#[case::in_a_list(json!({"mounts": [{"role": "session"}]}))]
#[case::in_the_older_form(json!({"mount": {"role": "session"}}))]
fn a_session_claim_mounts_a_directory_of_runtime_session_and_handle(#[case] spec: Value) {
    let mut replacement = claim(&spec);
    replacement.metadata.uid = Some("another".to_owned());
    replacement.metadata.name = Some("another".to_owned());
    replacement.spec.class_ref.name = "other".to_owned();
    assert_eq!(
        sub_path(&replacement).unwrap().as_str(),
        "sessions/agent/session-7/shop/default"
    );
}

#[rstest]
#[case::another_runtime(json!({"agentRuntimeRef": {"name": "other"}}))]
#[case::another_session(json!({"sessionID": "session-8"}))]
#[case::another_sandbox(json!({"handle": "cart/default"}))]
#[case::another_instance(json!({"handle": "shop/second"}))]
fn sessions_directories_are_apart_if_one_of_the_three_differs(#[case] mut other: Value) {
    let mounts = json!([{"role": "session"}]);
    let ours = sub_path(&claim(&json!({"mounts": mounts}))).unwrap();
    other["mounts"] = mounts;
    let theirs = sub_path(&claim(&other)).unwrap();
    assert_eq!(ours.relation(&theirs), Relation::Apart);
}

#[rstest]
#[case::no_handle(json!({"handle": null}))]
#[case::no_runtime(json!({"agentRuntimeRef": null}))]
#[case::half_a_handle(json!({"handle": "shop"}))]
#[case::a_handle_that_goes_up(json!({"handle": "../default"}))]
#[case::a_handle_of_three(json!({"handle": "shop/default/more"}))]
#[case::a_session_of_two_segments(json!({"sessionID": "a/b"}))]
#[case::a_session_that_goes_up(json!({"sessionID": ".."}))]
#[case::a_runtime_of_two_segments(json!({"agentRuntimeRef": {"name": "a/b"}}))]
fn a_session_mount_without_its_three_names_has_no_place(#[case] mut spec: Value) {
    spec["mounts"] = json!([{"role": "session"}]);
    assert_eq!(placed(&spec), Err(MountFault::Session));
}

#[test]
fn a_configured_mount_is_where_the_claim_says_whatever_its_role_is_configured_to() {
    let mounts = json!([{"role": "project", "id": "shop", "path": "arena/workspaces/shop/3f2a", "mustExist": true}]);
    let claim = claim(&json!({"mounts": mounts}));
    assert_eq!(
        Place::of(&claim.spec),
        Place::Configured {
            role: "project",
            path: "arena/workspaces/shop/3f2a",
            must_exist: true,
        }
    );
    assert_eq!(
        sub_path(&claim).unwrap().as_str(),
        "arena/workspaces/shop/3f2a"
    );
}

#[rstest]
#[case::none(Value::Null, MountFault::Path(SubPathError::Empty))]
#[case::empty(json!(""), MountFault::Path(SubPathError::Empty))]
#[case::absolute(json!("/etc"), MountFault::Path(SubPathError::Absolute))]
#[case::going_up(json!("arena/../../etc"), MountFault::Path(SubPathError::Dots))]
#[case::anothers_scratch(json!("sandboxes/someone"), MountFault::Reserved("sandboxes"))]
#[case::all_sessions(json!("sessions"), MountFault::Reserved("sessions"))]
#[case::around_reserved_ones(json!("arena"), MountFault::Reserved("arena/sources"))]
fn a_recorded_path_that_is_none_of_a_roles_is_refused(
    #[case] path: Value,
    #[case] fault: MountFault,
) {
    let mounts = json!([{"role": "project", "id": "shop", "path": path}]);
    assert_eq!(placed(&json!({"mounts": mounts})), Err(fault));
}

#[rstest]
#[case::scratch(json!({}), "scratch")]
#[case::session(json!({"mounts": [{"role": "session"}]}), "scratch")]
#[case::configured(json!({"mounts": [{"role": "project", "path": "p/x"}]}), "project")]
fn a_session_mount_needs_what_a_scratch_mount_needs(#[case] spec: Value, #[case] role: &str) {
    assert_eq!(Place::of(&claim(&spec).spec).class_role(), role);
}

#[rstest]
#[case::one_and_the_same("a/b", "a/b", Relation::Same, Relation::Same)]
#[case::one_deeper("a/b/c", "a/b", Relation::Inside, Relation::Around)]
#[case::much_deeper("a/b/c/d", "a", Relation::Inside, Relation::Around)]
#[case::a_longer_name_beside("a/bc", "a/b", Relation::Apart, Relation::Apart)]
#[case::another_case("a/B", "a/b", Relation::Apart, Relation::Apart)]
fn directories_are_compared_by_whole_segments(
    #[case] ours: &str,
    #[case] theirs: &str,
    #[case] there: Relation,
    #[case] back: Relation,
) {
    assert_eq!(dir(ours).relation(&dir(theirs)), there);
    assert_eq!(dir(theirs).relation(&dir(ours)), back);
}
