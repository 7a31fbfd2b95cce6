//! Which directory a claim mounts, and what keeps it from that.

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;
use serde_json::{Value, json};

use super::world::{CLAIM_UID, World, at, proven};
use crate::claim::observed::{Directory, ObjectKind};

const SHOP: &str = "arena/workspaces/shop/3f2a";

/// A claim of the operator that mounts this, in an installation that sees the content.
fn mounting(mounts: &Value, directory: Directory) -> World {
    let mut world = World::codegen();
    let mut claim = serde_json::to_value(&world.observed.claim).unwrap();
    claim["spec"]["mounts"] = mounts.clone();
    claim["metadata"]["creationTimestamp"] = json!(at(3600).to_string());
    world.observed.claim = serde_json::from_value(claim).unwrap();
    let roles = json!([{"role": "scratch"}, {"role": "project", "access": "ReadOnly"}]);
    world.class_mut().mounts = serde_json::from_value(roles).unwrap();
    world.settings.content.reachable = true;
    world.observed.directory = Some(directory);
    world.observed.trust = proven();
    world
}

fn project(must_exist: bool) -> Value {
    json!([{"role": "project", "id": "shop", "path": SHOP, "mustExist": must_exist}])
}

fn session() -> Value {
    json!([{"role": "session"}])
}

fn mounted(world: &World) -> Value {
    let spec = &world.store[&ObjectKind::Deployment]["spec"]["template"]["spec"];
    spec["containers"][0]["volumeMounts"][0].clone()
}

// Proves: M-010, M-011, M-012, M-013, M-014, O-018, O-019, C-025
#[rstest]
#[case::scratch(&json!([]), &format!("sandboxes/{CLAIM_UID}"), None)]
#[case::session(&session(), "sessions/my-agent/session-7/codegen/default", None)]
#[case::configured(&project(true), SHOP, Some(true))]
fn a_claim_mounts_its_directory_and_that_is_on_record_before_anything_is_made(
    #[case] mounts: &Value,
    #[case] path: &str,
    #[case] read_only: Option<bool>,
) {
    let mut world = mounting(mounts, Directory::Stands);
    world.reconcile(at(3661));
    assert_eq!(world.status().volume_sub_path.as_deref(), Some(path));
    assert!(world.store.is_empty());
    world.settle(at(3661));
    let mounted = mounted(&world);
    assert_eq!(mounted["subPath"], path);
    assert_eq!(mounted["mountPath"], "/workspace");
    assert_eq!(mounted["readOnly"], json!(read_only));
}

fn failed(mut world: World) -> (String, String) {
    world.settle(at(3661));
    assert_eq!(
        world.phase(),
        Some(ClaimPhase::Failed),
        "{:?}",
        world.ready()
    );
    assert!(world.store.is_empty());
    world.ready()
}

// Proves: M-015, C-031
#[rstest]
#[case::a_configured_role(&project(true), json!([{"role": "scratch"}]), "does not list role project")]
#[case::a_configured_role_where_none_is_listed(&project(true), json!([]), "does not list role project")]
#[case::scratch(&json!([]), json!([{"role": "project"}]), "does not list role scratch")]
#[case::session(&session(), json!([{"role": "project"}]), "does not list role scratch")]
fn a_role_that_the_class_does_not_list_is_refused(
    #[case] mounts: &Value,
    #[case] listed: Value,
    #[case] told: &str,
) {
    let mut world = mounting(mounts, Directory::Stands);
    world.class_mut().mounts = serde_json::from_value(listed).unwrap();
    let (reason, message) = failed(world);
    assert_eq!(reason, "MountNotPermitted");
    assert!(message.contains(told), "{message}");
    assert!(message.ends_with("make the claim again"), "{message}");
}

// Proves: M-016, C-031
#[rstest]
fn a_directory_that_has_to_exist_and_does_not_fails_the_claim() {
    let (reason, message) = failed(mounting(&project(true), Directory::Missing));
    assert_eq!(reason, "MountNotFound");
    assert!(message.contains(SHOP), "{message}");
}

// Proves: M-017
#[rstest]
#[case::configured(&project(false))]
#[case::session(&session())]
#[case::scratch(&json!([]))]
fn any_other_directory_is_made_before_the_sandbox(#[case] mounts: &Value) {
    let mut world = mounting(mounts, Directory::Missing);
    world.reconcile(at(3661));
    let plan = world.plan(at(3661));
    assert!(plan.makes_directory);
    world.observed.directory = Some(Directory::Stands);
    let plan = world.plan(at(3661));
    assert!(!plan.makes_directory && !plan.ensure.is_empty());
}

// Proves: M-018
#[rstest]
fn a_session_mount_fails_where_the_operator_does_not_see_the_content() {
    let mut world = mounting(&session(), Directory::Stands);
    world.settings.content.reachable = false;
    world.observed.directory = None;
    let (reason, message) = failed(world);
    assert_eq!(reason, "SessionWorkspaceUnavailable");
    assert!(message.contains("--workspace-content-path"), "{message}");
}

// Proves: M-019
#[rstest]
fn a_configured_mount_fails_where_the_operator_does_not_see_the_content() {
    let mut world = mounting(&project(true), Directory::Stands);
    world.settings.content.reachable = false;
    world.observed.directory = None;
    assert_eq!(failed(world).0, "InvalidMount");
}

// Proves: M-019
#[rstest]
#[case::going_up("arena/../../etc")]
#[case::anothers_scratch("sandboxes/somebody")]
fn a_path_that_is_none_of_a_roles_fails_the_claim(#[case] path: &str) {
    let mounts = json!([{"role": "project", "id": "shop", "path": path}]);
    assert_eq!(
        failed(mounting(&mounts, Directory::Stands)).0,
        "InvalidMount"
    );
}

// Proves: M-019, M-020, C-031
#[rstest]
#[case::a_link(Directory::Symlink { at: "arena".to_owned() }, "arena on the workspace's volume is a symbolic link")]
#[case::a_file(Directory::NotDirectory { at: "arena".to_owned() }, "is no directory")]
fn what_is_no_directory_is_never_mounted(#[case] there: Directory, #[case] told: &str) {
    let (reason, message) = failed(mounting(&project(false), there));
    assert_eq!(reason, "InvalidMount");
    assert!(message.contains(told), "{message}");
}

fn bound(mounts: &Value) -> World {
    let mut world = mounting(mounts, Directory::Stands);
    world.settle(at(3661));
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(3661));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    world
}

// Proves: M-021
#[rstest]
fn a_running_claim_whose_directory_becomes_a_link_fails_and_its_sandbox_is_stopped() {
    let mut world = bound(&project(true));
    let (_, decision) = world.reconcile(at(3700));
    let again = decision.requeue.unwrap();
    assert!(again <= world.settings.content.recheck, "{again:?}");
    let at_link = "arena/workspaces".to_owned();
    world.observed.directory = Some(Directory::Symlink { at: at_link });
    world.reconcile(at(3701));
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    assert_eq!(world.ready().0, "InvalidMount");
    assert_eq!(world.status().addresses, None);
    world.reconcile(at(3702));
    assert!(!world.store.contains_key(&ObjectKind::Deployment));
}

// Proves: M-012, M-021
#[rstest]
#[case::gone(Directory::Missing)]
#[case::a_file(Directory::NotDirectory { at: "arena".to_owned() })]
#[case::not_to_be_seen(Directory::Unseen("it is silent".to_owned()))]
fn nothing_else_at_its_directory_ends_a_running_claim(#[case] there: Directory) {
    let mut world = bound(&project(true));
    world.observed.directory = Some(there);
    world.settle(at(3700));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
}

// Proves: C-025, M-019
#[rstest]
fn a_record_that_the_claim_cannot_have_been_given_fails_it_even_when_it_runs() {
    let mut world = bound(&project(true));
    let mut status = world.status();
    status.volume_sub_path = Some("sandboxes/somebody".to_owned());
    world.observed.claim.status = Some(status);
    world.reconcile(at(3700));
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    let (reason, message) = world.ready();
    assert_eq!(reason, "InvalidMount");
    assert!(message.contains("status.volumeSubPath"), "{message}");
}

// Proves: M-022
#[rstest]
fn a_directory_inside_another_claims_is_refused_before_anything_is_made() {
    let mut world = mounting(&project(true), Directory::Stands);
    world.reconcile(at(3661));
    world.observed.nested = Some("other".to_owned());
    let (reason, message) = failed(world);
    assert_eq!(reason, "InvalidMount");
    assert!(message.contains("claim other mounts"), "{message}");
}

// Proves: C-023
#[rstest]
fn a_volume_that_cannot_be_looked_at_is_waited_for() {
    let mut world = mounting(&session(), Directory::Unseen("it is silent".to_owned()));
    world.settle(at(3661));
    let (reason, message) = world.ready();
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(reason, "WaitingForStorage");
    assert!(message.contains("it is silent"), "{message}");
    world.observed.directory = Some(Directory::Stands);
    world.settle(at(3662));
    assert_eq!(world.ready().0, "SandboxStarting");
}
