//! What keeps the content of a claim's namespace, and what the claim does without it.

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;
use serde_json::{Value, json};

use super::super::{ContentOutcome, Refusal, Verdict, status};
use super::world::{World, at, content, start};
use crate::claim::observed::{Content, Memory, ObjectKind, Storage};

fn with(storage: Storage) -> World {
    let mut world = World::codegen();
    world.observed.storage = storage;
    world
}

fn absent() -> Content {
    Content {
        stands: false,
        ..content()
    }
}

fn pod(world: &World) -> Value {
    world.store[&ObjectKind::Deployment]["spec"]["template"]["spec"].clone()
}

// Proves: C-024
#[rstest]
#[case::nobodys(Storage::Unowned, "no Workspace owns namespace my-agents")]
#[case::of_two(
    Storage::Contested(vec!["a".to_owned(), "b".to_owned()]),
    "Workspaces a, b all name namespace my-agents"
)]
#[case::without_storage(
    Storage::Disabled { workspace: "shop".to_owned() },
    "Workspace shop has no storage: set its spec.storage.enabled to true"
)]
fn a_namespace_that_keeps_no_content_fails_a_claim_of_a_class_with_a_workspace(
    #[case] storage: Storage,
    #[case] told: &str,
) {
    let mut world = with(storage);
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    let (reason, message) = world.ready();
    assert_eq!(reason, "NoWorkspaceStorage");
    assert!(message.contains(told), "{message}");
    assert!(world.store.is_empty());
    assert_eq!(world.condition("Admitted"), None, "it never held a place");
}

// Proves: C-024
#[rstest]
fn an_installation_that_makes_no_volume_claims_uses_one_that_stands_and_fails_without() {
    for stands in [true, false] {
        let mut world = with(Storage::Content(Content {
            stands,
            ..content()
        }));
        world.settings.content.provision = false;
        world.settle(start());
        let phase = if stands {
            ClaimPhase::Pending
        } else {
            ClaimPhase::Failed
        };
        assert_eq!(world.phase(), Some(phase));
        let (reason, message) = world.ready();
        assert_eq!(reason == "NoWorkspaceStorage", !stands, "{message}");
    }
}

// Proves: C-023, C-025
#[rstest]
fn a_claim_waits_for_the_volume_claim_that_is_made_and_is_built_once_it_stands() {
    let mut world = with(Storage::Content(absent()));
    world.reconcile(start());
    assert!(world.condition("Admitted").is_some());
    let (plan, decision) = world.reconcile(start());
    let made = serde_json::to_value(plan.content_claim.unwrap()).unwrap();
    assert_eq!(
        made,
        json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": "workspace-my-workspace-content",
                "namespace": "my-agents",
                "labels": {"app.kubernetes.io/managed-by": "sandgate"},
            },
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": {"storage": "10Gi"}},
            },
        }),
        "nobody owns it"
    );
    assert!(decision.requeue.is_some());
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.ready().0, "WaitingForStorage");
    assert!(world.store.is_empty());
    assert_eq!(world.events, ["SandboxStarting", "WaitingForStorage"]);

    world.observed.storage = Storage::Content(content());
    world.settle(start());
    assert_eq!(world.ready().0, "SandboxStarting");
    let path = world.status().volume_sub_path.unwrap();
    assert_eq!(
        pod(&world)["containers"][0]["volumeMounts"][0]["subPath"],
        json!(path)
    );
}

// Proves: C-023
#[rstest]
fn what_a_workspace_says_of_its_storage_goes_into_the_volume_claim() {
    let asked = json!({
        "enabled": true, "size": "1Gi", "storageClass": "fast", "accessModes": ["ReadWriteOnce"],
    });
    let mut world = with(Storage::Content(Content {
        asked: serde_json::from_value(asked).unwrap(),
        ..absent()
    }));
    world.reconcile(start());
    let claim = world.plan(start()).content_claim.unwrap();
    let spec = serde_json::to_value(claim.spec).unwrap();
    assert_eq!(
        spec,
        json!({
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
        })
    );
}

// Proves: C-023
#[rstest]
fn a_workspace_that_does_not_say_how_much_is_told_to() {
    let asked = serde_json::from_value(json!({"enabled": true})).unwrap();
    let mut world = with(Storage::Content(Content { asked, ..absent() }));
    world.settle(start());
    assert_eq!(world.plan(start()).content_claim, None);
    let (reason, message) = world.ready();
    assert_eq!(reason, "WaitingForStorage");
    assert!(
        message.contains("set the Workspace's spec.storage.size"),
        "{message}"
    );
}

// Proves: C-023
#[rstest]
fn a_volume_claim_that_the_api_server_refuses_is_told_in_its_words() {
    let mut world = with(Storage::Content(absent()));
    world.reconcile(start());
    let plan = world.plan(start());
    let mut applied = world.apply(&plan);
    applied.content = Some(ContentOutcome::Refused(Refusal {
        code: 403,
        message: "exceeded quota: storage".to_owned(),
        ..Refusal::default()
    }));
    let told = status(&world.observed, &plan, &applied, &world.settings, start());
    let conditions = told.status.unwrap().conditions.unwrap();
    let ready = conditions
        .iter()
        .find(|found| found.type_ == "Ready")
        .unwrap();
    assert_eq!(ready.reason, "WaitingForStorage");
    assert!(
        ready.message.contains("exceeded quota: storage"),
        "{}",
        ready.message
    );
}

// Proves: C-023, C-034
#[rstest]
fn a_bound_claim_keeps_its_addresses_whatever_becomes_of_its_storage() {
    for storage in [Storage::Unowned, Storage::Content(absent())] {
        let mut world = World::bound();
        world.observed.storage = storage;
        world.settle(at(60));
        assert_eq!(world.phase(), Some(ClaimPhase::Bound));
        assert!(world.status().addresses.is_some());
    }
}

// Proves: O-018
#[rstest]
fn a_class_without_a_workspace_never_looks_at_storage() {
    let mut world = with(Storage::Unowned);
    world.class_mut().filesystem = None;
    world.settle(start());
    assert_eq!(world.ready().0, "SandboxStarting");
    assert_eq!(world.status().volume_sub_path, None);
    assert_eq!(pod(&world).get("volumes"), None);
}

// Proves: C-034
#[rstest]
fn a_claim_of_an_earlier_version_keeps_its_empty_directory() {
    let mut world = World::bound();
    let mut status = world.status();
    status.volume_sub_path = None;
    world.observed.claim.status = Some(status);
    world.observed.storage = Storage::Unowned;
    world.observed.memory = Memory::default();
    world.store.remove(&ObjectKind::Deployment);
    world.look();
    world.settle(at(60));
    let volumes = &pod(&world)["volumes"];
    assert_eq!(
        volumes[0],
        json!({"name": "sandgate-workspace", "emptyDir": {}})
    );
    assert_eq!(world.status().volume_sub_path, None);
    assert!(matches!(world.plan(at(60)).verdict, Verdict::Build(_)));
}

// Proves: O-018
#[rstest]
fn the_sandboxes_user_is_in_the_group_that_may_write_and_the_volume_is_not_changed_for_it() {
    let mut world = World::codegen();
    world.settings.sandbox_fs_group = Some(65_532);
    world.settle(start());
    let context = &pod(&world)["securityContext"];
    assert_eq!(context["supplementalGroups"], json!([65_532]));
    assert_eq!(context.get("fsGroup"), None);
}
