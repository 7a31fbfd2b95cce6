//! Ceilings: who waits for what, whose turn it is, and what a claim that waits is told.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::DeleteParams;
use rstest::rstest;
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::outside::AgentRuntime;
use sandgate_shared::api::{ClaimPhase, SandboxClaim, SandboxClass};
use serde_json::{Value, json};

use crate::audit;
use crate::manifests::{self, claim_with, class_with, odd_runtime};
use crate::scene::{Scene, condition, phase, ready};

/// The runtime that has limits.
const LIMITED: &str = "limited";

/// A scene with a runtime of these limits, and a class `box` whose pods are ready at once.
pub async fn limited(scene: Scene, limits: Value) -> Outcome<Scene> {
    let mut sandbox = json!({ "enabled": true });
    json_patch::merge(&mut sandbox, &limits);
    let runtime = odd_runtime(LIMITED, &json!({ "sandbox": sandbox }));
    scene.accepts(&runtime).await?;
    scene
        .accepts(&manifests::class("box", Stage::Ready))
        .await?;
    Ok(scene)
}

/// A claim of the limited runtime, with `fields` laid over its spec.
pub fn claim(name: &str, fields: &Value) -> Value {
    let mut all = json!({ "agentRuntimeRef": { "name": LIMITED } });
    json_patch::merge(&mut all, fields);
    claim_with(name, "box", &all)
}

/// Makes claims, one after the other.
pub async fn claims(scene: &Scene, names: &[&str]) -> Outcome {
    for name in names {
        scene.user().accepts(&claim(name, &json!({}))).await?;
    }
    Ok(())
}

pub async fn delete(scene: &Scene, name: &str) -> Outcome {
    let claims = scene.api::<SandboxClaim>();
    claims.delete(name, &DeleteParams::default()).await?;
    Ok(())
}

/// The claims of the scene in the order in which they were admitted, and how often the status of each was
/// written.
pub async fn admissions(scene: &Scene) -> Outcome<(Vec<String>, BTreeMap<String, usize>)> {
    let asked = audit::of_controller(scene).await?;
    let mut written: BTreeMap<u64, SandboxClaim> = BTreeMap::new();
    for write in asked.iter().filter(|it| it.wrote()) {
        let claim = write.returned::<SandboxClaim>();
        let claim = claim.filter(|_| write.resource() == "sandboxclaims/status");
        written.extend(claim.map(|claim| (write.version().parse().unwrap_or(0), claim)));
    }
    let (mut admitted, mut writes) = (Vec::new(), BTreeMap::new());
    for claim in written.values() {
        let name = claim.metadata.name.clone().unwrap_or_default();
        if condition(claim, "Admitted").is_some() && !admitted.contains(&name) {
            admitted.push(name.clone());
        }
        *writes.entry(name).or_insert(0) += 1;
    }
    Ok((admitted, writes))
}

/// Sets the runtime's limits anew.
async fn limit(scene: &Scene, limits: Value) -> Outcome {
    let patch = json!({ "spec": { "sandbox": limits } });
    scene.merge::<AgentRuntime>(LIMITED, patch).await
}

// Proves: C-008, C-009, C-010, C-011, C-013, C-014, C-029
#[rstest]
#[case::of_the_runtime(
    json!({ "maxConcurrent": 1 }),
    json!({ "maxInstances": 7 }),
    ("CeilingReached", "spec.sandbox.maxConcurrent of AgentRuntime \"limited\" is 1."),
    false
)]
#[case::of_the_session(
    json!({ "maxPerSession": 1 }),
    json!({}),
    ("SessionLimitReached", "spec.sandbox.maxPerSession of AgentRuntime \"limited\" is 1."),
    true
)]
#[case::of_the_sandbox(
    json!({ "maxConcurrent": 7, "maxPerSession": 7 }),
    json!({ "maxInstances": 1 }),
    ("InstanceLimitReached", "the claim's spec.maxInstances is 1."),
    true
)]
#[tokio::test]
async fn a_claim_beyond_a_limit_waits_without_an_object_and_is_bound_when_a_place_is_left(
    #[case] limits: Value,
    #[case] fields: Value,
    #[case] (reason, says): (&str, &str),
    #[case] other_session_binds: bool,
) -> Outcome {
    let scene = limited(Scene::shared("limit").await?, limits).await?;
    let operator = scene.operator().await?;
    let of = |name: &str, session: &str| {
        let mut all = json!({ "sessionID": session, "handle": format!("python/{name}") });
        json_patch::merge(&mut all, &fields);
        claim(name, &all)
    };
    operator.accepts(&of("first", "one")).await?;
    scene.bound("first").await?;
    operator.accepts(&of("second", "one")).await?;
    let waits = scene.queued("second", reason).await?;
    assert!(ready(&waits).1.contains(says), "{}", ready(&waits).1);
    assert_eq!(condition(&waits, "Admitted"), None);
    operator.accepts(&of("third", "two")).await?;
    if other_session_binds {
        scene.bound("third").await?;
    } else {
        scene.queued("third", reason).await?;
    }
    let made = scene.names::<Deployment>().await?;
    assert!(!made.contains(&"second-sandbox".to_owned()), "{made:?}");
    let get = ["get", "sbclaim", "second", "--no-headers"];
    let line = scene.kubectl(&get, None).await?.stdout;
    let columns: Vec<&str> = line.split_whitespace().take(3).collect();
    assert_eq!(columns, ["second", "Queued", reason]);

    delete(&scene, "first").await?;
    let bound = scene.bound("second").await?;
    assert_eq!(condition(&bound, "Admitted").unwrap().0, "True");
    Ok(())
}

/// Makes a claim that is of a later second than another one.
async fn made_later(scene: &Scene, name: &str, than: &SandboxClaim) -> Outcome {
    let before = than.metadata.creation_timestamp.clone();
    loop {
        scene.user().accepts(&claim(name, &json!({}))).await?;
        let made: SandboxClaim = scene.api().get(name).await?;
        if made.metadata.creation_timestamp > before {
            return Ok(());
        }
        delete(scene, name).await?;
        scene.vanishes::<SandboxClaim>(name).await?;
    }
}

// Proves: C-011
#[tokio::test]
async fn the_oldest_is_next_whatever_its_name() -> Outcome {
    let scene = limited(Scene::shared("order").await?, json!({ "maxConcurrent": 1 })).await?;
    claims(&scene, &["first"]).await?;
    scene.bound("first").await?;
    claims(&scene, &["z-older"]).await?;
    let older = scene.queued("z-older", "CeilingReached").await?;
    made_later(&scene, "a-younger", &older).await?;
    scene.queued("a-younger", "CeilingReached").await?;
    delete(&scene, "first").await?;
    scene.bound("z-older").await?;
    let waits: SandboxClaim = scene.api().get("a-younger").await?;
    assert_eq!(phase(&waits), Some(ClaimPhase::Queued));
    delete(&scene, "z-older").await?;
    scene.bound("a-younger").await?;
    let (admitted, _) = admissions(&scene).await?;
    assert_eq!(admitted, ["first", "z-older", "a-younger"]);
    Ok(())
}

// Proves: C-014, C-016
#[tokio::test]
async fn as_many_are_admitted_as_places_are_left_by_deletion_or_failure_and_the_rest_is_not_touched()
-> Outcome {
    let scene = limited(Scene::shared("left").await?, json!({ "maxConcurrent": 2 })).await?;
    let never = manifests::class("never", Stage::NeverReady);
    scene.accepts(&never).await?;
    let mut fails = claim("fails", &json!({}));
    fails["spec"]["classRef"]["name"] = json!("never");
    scene.user().accepts(&fails).await?;
    scene.pending("fails", "SandboxStarting").await?;
    claims(&scene, &["goes"]).await?;
    scene.bound("goes").await?;
    let names = ["w1", "w2", "w3", "w4"];
    claims(&scene, &names).await?;
    for name in names {
        scene.queued(name, "CeilingReached").await?;
    }

    // Its class gone before the first bind, a claim fails at once.
    let began = Instant::now();
    let classes = scene.api::<SandboxClass>();
    classes.delete("never", &DeleteParams::default()).await?;
    scene.bound("w1").await?;
    let took = began.elapsed();
    assert!(
        took < Duration::from_secs(8),
        "woken, not found at a look every ten seconds: {took:?}"
    );
    let waits: SandboxClaim = scene.api().get("w2").await?;
    assert_eq!(phase(&waits), Some(ClaimPhase::Queued));

    let began = Instant::now();
    delete(&scene, "goes").await?;
    scene.bound("w2").await?;
    let took = began.elapsed();
    assert!(
        took < Duration::from_secs(8),
        "woken, not found at a look every ten seconds: {took:?}"
    );
    let (admitted, writes) = admissions(&scene).await?;
    assert_eq!(admitted, ["fails", "goes", "w1", "w2"]);
    assert_eq!((writes["w3"], writes["w4"]), (1, 1), "{writes:?}");
    Ok(())
}

// Proves: C-008, C-012, C-014, C-015
#[tokio::test]
async fn a_limit_that_is_raised_lets_in_and_one_that_is_lowered_puts_nobody_out() -> Outcome {
    let scene = limited(
        Scene::shared("edited").await?,
        json!({ "maxConcurrent": 1 }),
    )
    .await?;
    claims(&scene, &["a"]).await?;
    scene.bound("a").await?;
    claims(&scene, &["b", "c"]).await?;
    scene.queued("b", "CeilingReached").await?;
    scene.queued("c", "CeilingReached").await?;
    limit(&scene, json!({ "maxConcurrent": 2 })).await?;
    scene.bound("b").await?;

    limit(&scene, json!({ "maxConcurrent": 0 })).await?;
    // It is looked at again by itself, and then says what holds it now.
    scene
        .becomes("c", "knows the new limit", |claim: &SandboxClaim| {
            assert_eq!(phase(claim), Some(ClaimPhase::Queued));
            ready(claim).1.contains("is 0, so nothing is admitted")
        })
        .await?;
    for name in ["a", "b"] {
        let stays: SandboxClaim = scene.api().get(name).await?;
        assert_eq!(phase(&stays), Some(ClaimPhase::Bound));
    }
    limit(&scene, json!({ "maxConcurrent": null })).await?;
    scene.bound("c").await?;
    Ok(())
}

// Proves: C-008
#[tokio::test]
async fn a_limit_that_cannot_be_read_lets_nobody_in_and_says_so() -> Outcome {
    let scene = limited(
        Scene::shared("unread").await?,
        json!({ "maxConcurrent": "5" }),
    )
    .await?;
    claims(&scene, &["a"]).await?;
    let waits = scene.queued("a", "CeilingReached").await?;
    assert!(
        ready(&waits).1.contains("is not a whole number"),
        "{}",
        ready(&waits).1
    );
    limit(&scene, json!({ "maxConcurrent": 5 })).await?;
    scene.bound("a").await?;
    Ok(())
}

// Proves: C-016, C-022
#[tokio::test]
async fn a_claim_that_no_node_takes_keeps_its_place() -> Outcome {
    let scene = limited(Scene::shared("room").await?, json!({ "maxConcurrent": 1 })).await?;
    let nowhere = json!({ "nodeSelector": { "sandgate.dev/no-such-node": "true" } });
    scene
        .accepts(&class_with("nowhere", Stage::Ready, &nowhere))
        .await?;
    let mut stuck = claim("stuck", &json!({}));
    stuck["spec"]["classRef"]["name"] = json!("nowhere");
    scene.user().accepts(&stuck).await?;
    let waits = scene.pending("stuck", "Unschedulable").await?;
    let keeps = condition(&waits, "Admitted").unwrap().2;
    assert!(
        keeps.contains("also while its pod finds no room"),
        "{keeps}"
    );
    claims(&scene, &["next"]).await?;
    let waits = scene.queued("next", "CeilingReached").await?;
    assert!(
        ready(&waits).1.contains("want of room"),
        "{}",
        ready(&waits).1
    );
    delete(&scene, "stuck").await?;
    scene.bound("next").await?;
    Ok(())
}

// Proves: C-002
#[tokio::test]
async fn a_claim_that_waits_fails_when_its_runtime_has_no_sandboxes_any_more() -> Outcome {
    let scene = limited(Scene::shared("off").await?, json!({ "maxConcurrent": 0 })).await?;
    claims(&scene, &["a"]).await?;
    scene.queued("a", "CeilingReached").await?;
    limit(&scene, json!({ "enabled": false })).await?;
    scene.failed("a", "SandboxesDisabled").await?;
    Ok(())
}
