//! Odd objects of other people, beside claims that go on.

use sandgate_e2e::{Outcome, Stage};
use serde_json::json;

use crate::manifests::{self, claim_with, odd_runtime};
use crate::scene::{Scene, ready};

// Proves: C-002
#[tokio::test]
async fn an_odd_agent_runtime_fails_its_own_claims_and_stalls_no_other() -> Outcome {
    let scene = Scene::shared("odd").await?;
    scene
        .accepts(&manifests::class("box", Stage::Ready))
        .await?;
    let odd = [
        ("words", json!({ "sandbox": "yes, please" })),
        ("letters", json!({ "sandbox": { "enabled": "true" } })),
        ("lists", json!({ "sandbox": [{ "enabled": true }] })),
        ("empty", json!({})),
    ];
    for (name, spec) in &odd {
        scene.accepts(&odd_runtime(name, spec)).await?;
        let on = json!({ "agentRuntimeRef": { "name": name } });
        scene.user().accepts(&claim_with(name, "box", &on)).await?;
    }
    // What it does not understand takes nothing from what it does.
    let partly = json!({ "sandbox": { "enabled": true, "idleTimeout": 5 }, "new": [1] });
    scene.accepts(&odd_runtime("partly", &partly)).await?;
    let on = json!({ "agentRuntimeRef": { "name": "partly" } });
    scene
        .user()
        .accepts(&claim_with("partly", "box", &on))
        .await?;
    for (name, _) in &odd {
        let failed = scene.failed(name, "SandboxesDisabled").await?;
        assert!(ready(&failed).1.contains("spec.sandbox.enabled"));
    }
    scene.bound("partly").await?;
    scene
        .user()
        .accepts(&manifests::claim("plain", "box"))
        .await?;
    scene.bound("plain").await?;
    Ok(())
}
