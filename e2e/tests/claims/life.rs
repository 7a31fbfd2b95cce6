//! A plain claim's way from creation to its addresses.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use serde_json::json;

use crate::audit::{self, Request};
use crate::manifests::{self, claim_with, class_with, of_the_platform};
use crate::scene::{Scene, addresses, condition, phase, ready};

// Proves: C-018, C-019, C-020, C-026, C-027, C-029, C-033
#[tokio::test]
async fn a_plain_claim_waits_without_addresses_and_is_bound_with_one_for_each_port() -> Outcome {
    let scene = Scene::shared("life").await?;
    let ports = json!([{ "name": "http", "port": 8080 }, { "name": "tools", "port": 9229 }]);
    let class = class_with("box", Stage::Late, &json!({ "ports": ports }));
    scene.claims_class("late", &class).await?;

    let waits = scene.pending("late", "SandboxStarting").await?;
    assert_eq!(addresses(&waits), Vec::<String>::new());
    assert_eq!(condition(&waits, "Bound"), None);
    assert_eq!(condition(&waits, "Admitted").unwrap().0, "True");
    let status = waits.status.clone().unwrap();
    assert_eq!(status.sandbox_name.as_deref(), Some("late-sandbox"));
    assert_eq!(status.observed_generation, waits.metadata.generation);
    let first_used = status.last_used_at.unwrap().0;
    // Everything is made at once, and still there is nothing to dial.
    let name = "late-sandbox";
    scene
        .becomes(name, "stands", |_: &NetworkPolicy| true)
        .await?;
    scene.becomes(name, "stands", |_: &Service| true).await?;
    scene.becomes(name, "stands", |_: &Deployment| true).await?;

    // Whatever it says on its way, it has addresses exactly while its pod is ready.
    let bound = scene
        .becomes("late", "is Bound", |claim: &SandboxClaim| {
            let bound = phase(claim) == Some(ClaimPhase::Bound);
            assert_eq!(bound, !addresses(claim).is_empty());
            bound
        })
        .await?;
    let host = format!("late-sandbox.{}.svc.cluster.local", scene.name());
    assert_eq!(
        addresses(&bound),
        [format!("http={host}:8080"), format!("tools={host}:9229")]
    );
    assert_eq!(ready(&bound).0, "SandboxReady");
    assert_eq!(condition(&bound, "Bound").unwrap().0, "True");
    let status = bound.status.clone().unwrap();
    assert_eq!(status.observed_generation, bound.metadata.generation);
    // Three seconds lie between, and times are kept in whole ones.
    assert!(status.last_used_at.unwrap().0 > first_used);

    let wait = [
        "wait",
        "--for=condition=Ready",
        "sbclaim/late",
        "--timeout=0",
    ];
    let said = scene.kubectl(&wait, None).await?;
    assert_eq!(
        said.stdout,
        "sandboxclaim.omnia.altairalabs.ai/late condition met\n"
    );
    let get = ["get", "sbclaim", "late", "--no-headers"];
    let line = scene.kubectl(&get, None).await?.stdout;
    let columns: Vec<&str> = line.split_whitespace().take(5).collect();
    let expected = ["late", "Bound", "SandboxReady", "box", "session-of-late"];
    assert_eq!(columns, expected);
    Ok(())
}

// Proves: O-037, O-040
#[tokio::test]
async fn a_plain_claim_costs_five_writes_and_two_events_after_its_namespace_is_shut() -> Outcome {
    let scene = Scene::shared("writes").await?;
    scene.claims("plain", Stage::Ready).await?;
    scene.bound("plain").await?;
    two_events(&scene, "plain").await?;
    let asked = audit::of_controller(&scene).await?;
    let sentences: Vec<String> = asked.iter().map(Request::sentence).collect();
    assert_eq!(
        sentences,
        [
            // The runtime's ceiling, beside the watch: once, as its watch began with a list.
            "get agentruntimes agent",
            "patch sandboxclaims/status plain",
            "create events SandboxStarting",
            "create networkpolicies sandgate-baseline",
            "create networkpolicies plain-sandbox",
            "create services plain-sandbox",
            "create deployments plain-sandbox",
            "patch sandboxclaims/status plain",
            "create events SandboxReady",
        ]
    );
    assert!(asked.iter().skip(1).all(Request::wrote));

    // The next claim finds the namespace shut, and needs its three objects and two reports.
    scene
        .user()
        .accepts(&manifests::claim("next", "plain"))
        .await?;
    scene.bound("next").await?;
    two_events(&scene, "next").await?;
    let asked = audit::of_controller(&scene).await?;
    let next = asked.iter().skip(9).map(Request::sentence);
    let sentences: Vec<String> = next.filter(|it| !it.contains("events")).collect();
    assert_eq!(
        sentences,
        [
            "patch sandboxclaims/status next",
            "create networkpolicies next-sandbox",
            "create services next-sandbox",
            "create deployments next-sandbox",
            "patch sandboxclaims/status next",
        ]
    );
    Ok(())
}

/// The Event about the bind is the last thing that is written of a claim.
async fn two_events(scene: &Scene, claim: &str) -> Outcome {
    let seen = scene.told(claim, "SandboxReady").await?;
    let expected = ["SandboxReady", "SandboxStarting"].map(|it| (it.to_owned(), 1));
    assert_eq!(seen, BTreeMap::from(expected));
    Ok(())
}

// Proves: C-003, C-004
#[tokio::test]
async fn a_class_of_one_kind_never_stands_in_for_one_of_the_other() -> Outcome {
    let scene = Scene::shared("kinds").await?;
    // Cluster-wide, hence named after the namespace.
    let everywhere = format!("everywhere-{}", scene.name());
    let platform = of_the_platform(manifests::class(&everywhere, Stage::Ready));
    scene.accepts(&platform).await?;
    scene
        .accepts(&manifests::class("here", Stage::Ready))
        .await?;
    for (name, class, kind) in [
        ("one", everywhere.as_str(), "ClusterSandboxClass"),
        ("two", "here", "SandboxClass"),
        ("three", everywhere.as_str(), "SandboxClass"),
        ("four", "here", "ClusterSandboxClass"),
    ] {
        let class = json!({ "classRef": { "name": class, "kind": kind } });
        scene.user().accepts(&claim_with(name, "", &class)).await?;
    }
    scene.bound("one").await?;
    scene.bound("two").await?;
    for (name, class) in [("three", everywhere.as_str()), ("four", "here")] {
        let failed = scene.failed(name, "ClassNotFound").await?;
        assert!(ready(&failed).1.contains(class), "{}", ready(&failed).1);
    }
    let objects = scene.names::<Deployment>().await?;
    assert_eq!(objects, ["one-sandbox", "two-sandbox"]);
    let api = scene.api_of(&platform).await?;
    api.delete(&everywhere, &kube::api::DeleteParams::default())
        .await?;
    Ok(())
}

// Proves: C-002, C-028, C-029
#[tokio::test]
async fn a_failed_claim_stays_failed_when_what_it_lacked_appears() -> Outcome {
    let scene = Scene::shared("final").await?;
    scene
        .accepts(&manifests::class("box", Stage::Ready))
        .await?;
    let on = |name: &str| json!({ "agentRuntimeRef": { "name": name } });
    let disabled = json!({ "sandbox": { "maxConcurrent": 3 } });
    scene
        .accepts(&manifests::odd_runtime("disabled", &disabled))
        .await?;
    scene
        .user()
        .accepts(&claim_with("early", "box", &on("later")))
        .await?;
    scene
        .user()
        .accepts(&claim_with("refused", "box", &on("disabled")))
        .await?;
    let early = scene.failed("early", "AgentRuntimeNotFound").await?;
    assert!(ready(&early).1.contains("\"later\""), "{}", ready(&early).1);
    assert_eq!(condition(&early, "Stalled").unwrap().0, "True");
    let refused = scene.failed("refused", "SandboxesDisabled").await?;
    assert!(ready(&refused).1.contains("spec.sandbox.enabled"));

    scene.accepts(&manifests::runtime("later")).await?;
    scene
        .accepts_update(&manifests::runtime("disabled"))
        .await?;
    let touched = json!({ "metadata": { "labels": { "touched": "yes" } } });
    for name in ["early", "refused"] {
        scene.merge::<SandboxClaim>(name, touched.clone()).await?;
    }
    // A claim made after all that is served, so those before it have been looked at.
    scene
        .user()
        .accepts(&claim_with("after", "box", &on("later")))
        .await?;
    scene.bound("after").await?;
    for before in [early, refused] {
        let name = before.metadata.name.clone().unwrap();
        let now: SandboxClaim = scene.api().get(&name).await?;
        assert_eq!(now.status, before.status);
    }
    assert_eq!(scene.names::<Deployment>().await?, ["after-sandbox"]);
    assert_eq!(scene.names::<Pod>().await?.len(), 1);
    Ok(())
}
