//! What Helm tells whoever installed the chart.

use sandgate_e2e::helm::Helm;
use sandgate_e2e::{Cluster, Failure, Outcome, manifests};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use serde_json::{Value, json};

use crate::rendered::{NAMESPACE, RELEASE, helm};

/// The notes of a release with these values, as a renderer that asks no API server has them.
async fn notes(values: &Value) -> Outcome<String> {
    let chart = Helm::chart().display().to_string();
    let arguments = [
        "install",
        RELEASE,
        &chart,
        "--namespace",
        NAMESPACE,
        "--dry-run=client",
    ];
    let told = helm().await?.run(&arguments, Some(values)).await?;
    let (_, notes) = told
        .split_once("\nNOTES:\n")
        .ok_or_else(|| Failure::saying("there are no notes"))?;
    Ok(notes.to_owned())
}

#[tokio::test]
async fn the_first_sandbox_that_the_notes_make_is_admitted_and_bound() -> Outcome {
    let notes = notes(&json!({"standalone": true})).await?;
    let (_, rest) = notes.split_once("<<'END'\n").unwrap();
    let (text, _) = rest.split_once("\nEND\n").unwrap();
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("first").await?;
    let objects = manifests::parse(text)?;
    assert_eq!(objects.len(), 3);
    for object in &objects {
        namespace.accepts(object).await?;
    }
    namespace
        .becomes("hello", "is Bound", |claim: &SandboxClaim| {
            let phase = claim
                .status
                .as_ref()
                .and_then(|status| status.phase.as_ref());
            phase == Some(&ClaimPhase::Bound)
        })
        .await?;
    Ok(())
}

#[tokio::test]
async fn the_notes_warn_of_what_is_missing_or_loosened_and_only_of_that() -> Outcome {
    let missing = "does not serve AgentRuntime";
    let loosened = "requirePodBoundToken is off";
    let whole = notes(&json!({"standalone": true})).await?;
    assert!(!whole.contains("WARNING"), "{whole}");
    assert!(whole.contains("network plugin"), "{whole}");
    let without = notes(&json!({})).await?;
    assert!(
        without.contains(missing) && !without.contains(loosened),
        "{without}"
    );
    let loose = notes(&json!({"standalone": true, "requirePodBoundToken": false})).await?;
    assert!(
        loose.contains(loosened) && !loose.contains(missing),
        "{loose}"
    );
    Ok(())
}

// Proves: E-027
#[tokio::test]
async fn the_notes_warn_of_test_hosts() -> Outcome {
    let values = json!({ "standalone": true, "sandbox": { "egressProxy": {
        "acknowledgeInsecureTestOnly": true,
        "insecureTestHosts": [
            { "host": "login.fixture.test", "namespace": "e2e", "service": "login-fixture" },
        ],
    } } });
    let told = notes(&values).await?;
    assert!(
        told.contains("WARNING: sandbox.egressProxy.insecureTestHosts is set"),
        "{told}"
    );
    assert!(
        told.contains("login.fixture.test is Service e2e/login-fixture"),
        "{told}"
    );
    Ok(())
}
