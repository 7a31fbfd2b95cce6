//! Policies that open a sandbox's pod beyond its class are named on the claim while they stand.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams};
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::reason;
use serde_json::{Value, json};

use crate::scene::{Scene, condition};

const NAME: &str = "NetworkPolicyWidened";

fn policy(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": { "name": name },
        "spec": spec,
    })
}

/// Waits until the condition of the claim has this status and its message these words; the message.
async fn widened(scene: &Scene, claim: &str, status: &str, words: &str) -> Outcome<String> {
    let sentence = format!("says {NAME}={status} with {words:?}");
    let told = scene
        .becomes(claim, &sentence, |claim: &SandboxClaim| {
            condition(claim, NAME)
                .is_some_and(|(found, _, said)| found == status && said.contains(words))
        })
        .await?;
    Ok(condition(&told, NAME).unwrap().2.to_owned())
}

async fn events_of(scene: &Scene, claim: &str) -> Vec<String> {
    let mut said = scene.events_about(claim).await;
    said.retain(|event| event.starts_with("NetworkPolicy"));
    said
}

#[tokio::test]
async fn a_policy_that_opens_the_pod_is_named_while_it_stands_with_an_event_a_change() -> Outcome {
    let scene = Scene::shared("widened").await?;
    scene.claims("opened", Stage::Ready).await?;
    scene.bound("opened").await?;
    let everything = json!({ "podSelector": {}, "egress": [{}] });
    scene.accepts(&policy("debug", &everything)).await?;
    let said = widened(&scene, "opened", "True", "debug").await?;
    insta::assert_snapshot!(said, @"the sandbox's pod is open beyond its class, by NetworkPolicy debug (egress). Unless that is meant, delete what is not the operator's, or have its podSelector leave the pod out");
    let described = scene
        .kubectl(&["describe", "sandboxclaim", "opened"], None)
        .await?;
    assert!(described.stdout.contains(&said), "{}", described.stdout);
    // It selects something else now, as nothing of the sandbox's does.
    let another = json!({ "spec": { "podSelector": { "matchLabels": { "app": "web" } } } });
    scene.merge::<NetworkPolicy>("debug", another).await?;
    widened(&scene, "opened", "False", "").await?;
    // The sandbox goes on as if nothing had been.
    scene.bound("opened").await?;
    let events = events_of(&scene, "opened").await;
    assert_eq!(events.len(), 2, "{events:?}");
    let over = format!("{}: ", reason::NETWORK_POLICY_NOT_WIDENED);
    assert!(
        events.iter().any(|event| event.starts_with(&over)),
        "{events:?}"
    );
    assert!(
        events.iter().any(|event| event.contains(&said)),
        "{events:?}"
    );
    Ok(())
}

/// A selector, and the same as a question to the API server.
fn selectors() -> Vec<(Value, &'static str)> {
    let marked = "omnia.altairalabs.ai/sandbox-pod";
    let one = |operator: &str, key: &str, values: &[&str]| {
        let mut requirement = json!({ "key": key, "operator": operator });
        if !values.is_empty() {
            requirement["values"] = json!(values);
        }
        json!({ "matchExpressions": [requirement] })
    };
    vec![
        (json!({}), ""),
        (
            json!({ "matchLabels": { marked: "true" } }),
            "omnia.altairalabs.ai/sandbox-pod=true",
        ),
        (
            json!({ "matchLabels": { marked: "false" } }),
            "omnia.altairalabs.ai/sandbox-pod=false",
        ),
        (json!({ "matchLabels": { "none": "" } }), "none="),
        (
            one("In", marked, &["false", "true"]),
            "omnia.altairalabs.ai/sandbox-pod in (false,true)",
        ),
        (one("In", "none", &["true"]), "none in (true)"),
        (
            one("NotIn", marked, &["true"]),
            "omnia.altairalabs.ai/sandbox-pod notin (true)",
        ),
        (one("NotIn", "none", &["true"]), "none notin (true)"),
        (one("Exists", "pod-template-hash", &[]), "pod-template-hash"),
        (one("Exists", "none", &[]), "none"),
        (
            one("DoesNotExist", marked, &[]),
            "!omnia.altairalabs.ai/sandbox-pod",
        ),
        (one("DoesNotExist", "none", &[]), "!none"),
        (
            json!({
                "matchLabels": { marked: "true" },
                "matchExpressions": [{ "key": "pod-template-hash", "operator": "DoesNotExist" }],
            }),
            "omnia.altairalabs.ai/sandbox-pod=true,!pod-template-hash",
        ),
    ]
}

#[tokio::test]
async fn a_selector_selects_the_pods_that_the_api_server_finds_by_it() -> Outcome {
    let scene = Scene::shared("selected").await?;
    scene.claims("opened", Stage::Ready).await?;
    scene.bound("opened").await?;
    let pods = scene.api::<Pod>();
    let mut selecting = Vec::new();
    for (number, (selector, question)) in selectors().iter().enumerate() {
        let name = format!("p{number:02}");
        let found = pods.list(&ListParams::default().labels(question)).await?;
        if !found.items.is_empty() {
            selecting.push(format!("{name} (ingress)"));
        }
        let spec = json!({ "podSelector": selector, "ingress": [{}] });
        scene.accepts(&policy(&name, &spec)).await?;
    }
    assert!((4..9).contains(&selecting.len()), "{selecting:?}");
    // Policies that open nothing, for what the API server fills in counts.
    for (name, spec) in [
        (
            "shut",
            json!({ "podSelector": {}, "policyTypes": ["Ingress", "Egress"] }),
        ),
        (
            "unnamed",
            json!({ "podSelector": {}, "policyTypes": ["Egress"], "ingress": [{}] }),
        ),
    ] {
        scene.accepts(&policy(name, &spec)).await?;
    }
    // What comes last is known last.
    let last = json!({ "podSelector": {}, "ingress": [{}], "egress": [{}] });
    scene.accepts(&policy("z-last", &last)).await?;
    selecting.push("z-last (ingress and egress)".to_owned());
    let said = widened(&scene, "opened", "True", "z-last").await?;
    let expected = format!("by NetworkPolicy {}. Unless", selecting.join(", "));
    assert!(said.contains(&expected), "{said}\nis not {expected}");
    Ok(())
}

// Proves: O-040
#[tokio::test]
async fn an_edited_policy_of_ours_is_named_on_each_claim_whose_pod_it_opens_while_it_is_left()
-> Outcome {
    let scene = Scene::shared("ours").await?;
    for claim in ["one", "two"] {
        scene.claims(claim, Stage::Ready).await?;
        scene.bound(claim).await?;
    }
    let before = scene.api::<NetworkPolicy>().get("two-sandbox").await?;
    let selector = &serde_json::to_value(&before)?["spec"]["podSelector"];
    let mut labels = selector["matchLabels"].as_object().unwrap().clone();
    for label in labels.values_mut() {
        *label = Value::Null;
    }
    let open = json!({ "spec": { "podSelector": { "matchLabels": labels }, "egress": [{}] } });
    for _ in 0..2 {
        scene
            .merge::<NetworkPolicy>("two-sandbox", open.clone())
            .await?;
        scene
            .becomes("two-sandbox", "is as it was", |policy: &NetworkPolicy| {
                policy.spec == before.spec
            })
            .await?;
    }
    scene.merge::<NetworkPolicy>("two-sandbox", open).await?;
    let both = "two-sandbox (ingress and egress)";
    let theirs = widened(&scene, "one", "True", both).await?;
    let own = widened(&scene, "two", "True", "two-sandbox (the claim's own").await?;
    assert!(!theirs.contains("one-sandbox"), "{theirs}");
    assert!(!own.contains("one-sandbox"), "{own}");
    // Deleted, it is made again as it should be.
    let policies = scene.api::<NetworkPolicy>();
    policies
        .delete("two-sandbox", &DeleteParams::default())
        .await?;
    widened(&scene, "one", "False", "").await?;
    widened(&scene, "two", "False", "").await?;
    Ok(())
}

#[tokio::test]
async fn an_opened_baseline_is_shut_again_and_a_label_that_a_policy_selects_by_is_seen() -> Outcome
{
    let scene = Scene::shared("labelled").await?;
    scene.claims("opened", Stage::Ready).await?;
    scene.bound("opened").await?;
    let spec = json!({ "podSelector": { "matchLabels": { "debug": "yes" } }, "egress": [{}] });
    scene.accepts(&policy("debugged", &spec)).await?;
    let pods = scene.api::<Pod>().list(&ListParams::default()).await?;
    let pod = pods.items[0].name_any();
    scene
        .merge::<Pod>(
            &pod,
            json!({ "metadata": { "labels": { "debug": "yes" } } }),
        )
        .await?;
    widened(&scene, "opened", "True", "debugged").await?;
    scene
        .merge::<Pod>(&pod, json!({ "metadata": { "labels": { "debug": null } } }))
        .await?;
    widened(&scene, "opened", "False", "").await?;
    let open = json!({ "spec": { "ingress": [{}] } });
    scene
        .merge::<NetworkPolicy>("sandgate-baseline", open)
        .await?;
    scene
        .becomes(
            "sandgate-baseline",
            "is shut again",
            |policy: &NetworkPolicy| {
                policy
                    .spec
                    .as_ref()
                    .is_some_and(|spec| spec.ingress.is_none())
            },
        )
        .await?;
    Ok(())
}
