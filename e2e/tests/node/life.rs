//! A claim's life with a kubelet that runs what it names.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use sandgate_e2e::real_node::EVERYDAY;
use sandgate_e2e::scene::manifests::claim;
use sandgate_e2e::scene::{Scene, addresses, condition, phase, ready};
use sandgate_e2e::{Cluster, Outcome};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use serde_json::{Value, json};

use crate::workload::{
    READY, SERVES_WHILE_READY, answering, bring_caller, class, container, inside, pod_of, script,
    until_called,
};

// Proves: C-018, C-019, C-020, C-021, C-027, O-014, O-015
#[tokio::test]
async fn a_sandbox_has_addresses_that_answer_exactly_while_its_probe_does() -> Outcome {
    let scene = Scene::on(&Cluster::node().await?, "life").await?;
    bring_caller(&scene).await?;
    scene
        .claims_class("box", &script("box", SERVES_WHILE_READY))
        .await?;
    let bound = scene
        .becomes("box", "is Bound", |claim: &SandboxClaim| {
            let bound = phase(claim) == Some(ClaimPhase::Bound);
            assert_eq!(bound, !addresses(claim).is_empty());
            bound
        })
        .await?;
    let host = format!("box-sandbox.{}.svc.cluster.local", scene.name());
    assert_eq!(addresses(&bound), [format!("http={host}:8080")]);
    until_called(&scene, &bound, true).await?;

    inside(&scene, "box", &["rm", READY]).await?;
    let lost = scene.pending("box", "SandboxNotReady").await?;
    assert_eq!(addresses(&lost), Vec::<String>::new());
    assert!(
        ready(&lost)
            .1
            .contains("does not answer its readiness probe")
    );
    assert_eq!(condition(&lost, "Bound"), condition(&bound, "Bound"));
    until_called(&scene, &bound, false).await?;

    inside(&scene, "box", &["touch", READY]).await?;
    let again = scene.bound("box").await?;
    assert_eq!(addresses(&again), addresses(&bound));
    until_called(&scene, &again, true).await?;
    let used = |claim: &SandboxClaim| claim.status.clone().unwrap().last_used_at.unwrap().0;
    assert!(used(&lost) > used(&bound) && used(&again) > used(&lost));
    let restarts = container(&pod_of(&scene, "box").await?).map(|it| it.restart_count);
    assert_eq!(restarts, Some(0));
    Ok(())
}

/// No registry, and it says so at once: a name that nobody resolves holds up every other pull.
const ABSENT: &str = "127.0.0.1:1/absent:1";

/// Class, reason and words of claims that do not get ready.
fn causes() -> [(Value, &'static str, &'static str); 6] {
    let never = json!({ "imagePullPolicy": "Never" });
    let no_program = json!({ "args": ["/absent"] });
    [
        (
            class("absent", ABSENT, &json!({})),
            "ImagePullFailed",
            "image \"127.0.0.1:1/absent:1\" cannot be pulled",
        ),
        (
            class("never-pulled", ABSENT, &never),
            "ImagePullFailed",
            "image \"127.0.0.1:1/absent:1\" is not on the node",
        ),
        // What answers for DNS on the node: its image names no user.
        (
            class("root", "sandgate.local/coredns:1", &json!({})),
            "CreateContainerConfigError",
            "a sandbox never runs as root",
        ),
        (
            class("no-program", EVERYDAY, &no_program),
            "CreateContainerConfigError",
            "no such file",
        ),
        (
            script("hungry", "exec tail /dev/zero"),
            "OOMKilled",
            "resources.limits.memory",
        ),
        (
            script("crashing", "exit 3"),
            "CrashLoopBackOff",
            "(Error, exit code 3)",
        ),
    ]
}

// Proves: C-018, C-019, C-029, O-036
#[tokio::test]
async fn a_sandbox_that_does_not_start_keeps_its_claim_pending_with_the_cause_and_loops_cost_nothing()
-> Outcome {
    let scene = Scene::on(&Cluster::node().await?, "causes").await?;
    let mut told = Vec::new();
    for (class, reason, words) in causes() {
        let name = class["metadata"]["name"].as_str().unwrap().to_owned();
        scene.claims_class(&name, &class).await?;
        told.push((name, reason, words));
    }
    let mut stuck = Vec::new();
    for (name, reason, words) in told {
        let claim = scene
            .becomes(&name, reason, |claim: &SandboxClaim| {
                ready(claim).0 == reason && ready(claim).1.contains(words)
            })
            .await?;
        assert_eq!(phase(&claim), Some(ClaimPhase::Pending));
        assert_eq!(addresses(&claim), Vec::<String>::new());
        assert_eq!(condition(&claim, "Bound"), None);
        stuck.push(claim);
    }

    // Two more ends, and the back-off between them.
    let crashing = pod_of(&scene, "crashing").await?.name_any();
    scene
        .becomes(&crashing, "ended again and again", |pod: &Pod| {
            container(pod).is_some_and(|it| it.restart_count >= 2)
        })
        .await?;
    // A claim made after all that is served, so those before it have been looked at.
    scene.accepts(&answering("after")).await?;
    scene.user().accepts(&claim("after", "after")).await?;
    scene.bound("after").await?;
    for before in stuck {
        let now: SandboxClaim = scene.api().get(&before.name_any()).await?;
        assert_eq!(ready(&now), ready(&before));
        assert_eq!(
            now.resource_version(),
            before.resource_version(),
            "{}",
            before.name_any()
        );
    }
    Ok(())
}
