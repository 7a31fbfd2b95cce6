//! What is taken from a bound sandbox when a Connection, Secret or key goes, whatever stands in the way.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::pair::Pair;
use sandgate_e2e::scene::manifests::{claim_with, class_with};
use sandgate_e2e::scene::{Scene, addresses, condition, ready};
use sandgate_e2e::{Cluster, Outcome, Stage, Writer, service};
use sandgate_shared::api::{Connection, SandboxClaim, SandboxClass};
use sandgate_shared::names::{COMPONENT_SANDBOX, LABEL_CLAIM, LABEL_COMPONENT};
use sandgate_shared::reason;
use serde_json::{Value, json};

use super::{connection, placed, says_current, secret};
use crate::options;

/// The API server tells nobody when it begins to ask a policy; it is asked this often.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// What happens to the Connection that is bound beside one that stays.
#[derive(Clone, Copy, Debug)]
enum Gone {
    Connection,
    Secret,
    Key,
}

/// A claim, what it loses, and the reason that is told.
const CASES: &[(&str, Gone, &str)] = &[
    ("unconnected", Gone::Connection, "ConnectionNotFound"),
    ("unready", Gone::Secret, "ConnectionSecretNotFound"),
    ("keyless", Gone::Key, "ConnectionSecretKeyMissing"),
    ("refused", Gone::Secret, "ConnectionSecretNotFound"),
];

/// One whose Deployment can neither be changed nor be made again.
const UNMADE: &str = "unmade";

/// A sandbox before something of its went.
struct Before {
    deployment: Value,
    pods: Vec<String>,
}

/// A class of its own, a Connection called as the claim, and a claim that binds it beside the one that
/// stays.
async fn bind(scene: &Scene, operator: &Writer, claim: &str) -> Outcome {
    let class = json!({
        "env": [{ "name": "HOME", "value": "/home/agent" }],
        "connections": [{ "role": "going" }, { "role": "staying" }],
    });
    scene
        .accepts(&class_with(claim, Stage::Ready, &class))
        .await?;
    let going = json!({
        "env": [{ "name": "GOING", "key": "token" }],
        "files": [{ "path": "going", "key": "git-credentials" }],
    });
    scene.accepts(&secret(claim)).await?;
    scene.accepts(&connection(claim, &going)).await?;
    let bindings = json!({ "connections": [
        { "role": "going", "connection": claim }, { "role": "staying", "connection": "staying" },
    ] });
    operator
        .accepts(&claim_with(claim, claim, &bindings))
        .await?;
    Ok(())
}

async fn before(scene: &Scene, claim: &str) -> Outcome<Before> {
    scene.bound(claim).await?;
    let deployment = scene.get::<Deployment>(&format!("{claim}-sandbox")).await?;
    assert_eq!(placed(&deployment), ["GOING", "STAYING"], "{claim}");
    let of_sandbox = format!("{LABEL_CLAIM}={claim},{LABEL_COMPONENT}={COMPONENT_SANDBOX}");
    let of_claim = ListParams::default().labels(&of_sandbox);
    let pods = scene.api::<Pod>().list(&of_claim).await?;
    let pods: Vec<_> = pods.items.iter().map(ResourceExt::name_any).collect();
    assert_eq!(pods.len(), 1, "{claim} has one pod: {pods:?}");
    Ok(Before { deployment, pods })
}

async fn take(scene: &Scene, claim: &str, gone: Gone) -> Outcome {
    let how = DeleteParams::default();
    let secret = format!("{claim}-secret");
    match gone {
        Gone::Connection => drop(scene.api::<Connection>().delete(claim, &how).await?),
        Gone::Secret => drop(scene.api::<Secret>().delete(&secret, &how).await?),
        Gone::Key => {
            let without = json!({ "data": { "token": null } });
            scene.merge::<Secret>(&secret, without).await?;
        }
    }
    Ok(())
}

/// Refuses every change of what the pods of a Deployment of this name are made from; and that it is made,
/// unless `may_be_made`. The name of what refuses.
async fn refuses_templates(scene: &Scene, named: &str, may_be_made: bool) -> Outcome<String> {
    let name = format!("no-templates-{}-{named}", scene.name());
    let operations = if may_be_made {
        &["UPDATE"][..]
    } else {
        &["CREATE", "UPDATE"][..]
    };
    let api = "admissionregistration.k8s.io/v1";
    let rule = json!({
        "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": operations,
        "resources": ["deployments"],
    });
    let there = json!({ "matchLabels": { "kubernetes.io/metadata.name": scene.name() } });
    let policy = json!({
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": name },
        "spec": {
            "matchConstraints": { "resourceRules": [rule], "namespaceSelector": there },
            "validations": [{
                "expression": format!(
                    "object.metadata.name != '{named}' || oldObject != null && \
                     object.spec.template == oldObject.spec.template"
                ),
                "message": "no changes on a Friday",
            }],
        },
    });
    let binding = json!({
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": name },
        "spec": { "policyName": name, "validationActions": ["Deny"] },
    });
    scene.accepts(&policy).await?;
    scene.accepts(&binding).await?;
    let mut changed = scene.get::<Deployment>(named).await?;
    changed["spec"]["template"]["metadata"]["annotations"] = json!({ "changed": "yes" });
    // Read anew each time: the Deployment's status moves on.
    let metadata = changed["metadata"].as_object_mut().unwrap();
    metadata.remove("resourceVersion");
    let mut turn = tokio::time::interval(ASK_EVERY);
    let refused = async {
        loop {
            turn.tick().await;
            let answer = scene.would_reject_update(&changed).await;
            if answer.is_ok_and(|status| status.message.contains("Friday")) {
                return;
            }
        }
    };
    tokio::time::timeout(DEADLINE, refused).await?;
    Ok(name)
}

/// The sandbox runs on without what went, and nothing is left that had it.
async fn is_revoked(scene: &Scene, claim: &str, before: &Before, reason: &str) -> Outcome {
    for pod in &before.pods {
        scene.vanishes::<Pod>(pod).await?;
    }
    let said = says_current(scene, claim, "False").await?;
    let (_, told, message) = condition(&said, "ConnectionsCurrent").unwrap();
    assert_eq!(told, reason, "{claim}: {message}");
    for words in ["\"going\"", &format!("{claim:?}")] {
        assert!(message.contains(words), "{claim}: {message}");
    }
    let sandbox = format!("{claim}-sandbox");
    scene
        .becomes(&sandbox, "places what stays alone", |it: &Deployment| {
            placed(&serde_json::to_value(it).unwrap()) == ["STAYING"]
        })
        .await?;
    scene
        .becomes(
            &format!("{claim}-sandbox-connections"),
            "has the one file that stays",
            |secret: &Secret| secret.data.as_ref().is_some_and(|data| data.len() == 1),
        )
        .await?;
    Ok(())
}

// Proves: C-034, K-030, K-031, K-032
#[tokio::test]
async fn what_a_connection_gave_is_gone_with_the_old_pod_whatever_becomes_of_the_new_one() -> Outcome
{
    let cluster = Cluster::own(options()).await?;
    let scene = Scene::on(&cluster, "revoked").await?;
    let staying = json!({
        "env": [{ "name": "STAYING", "key": "token" }],
        "files": [{ "path": "staying", "key": "git-credentials" }],
    });
    scene.accepts(&secret("staying")).await?;
    scene.accepts(&connection("staying", &staying)).await?;
    Pair::ours(&cluster).in_force().await?;
    let operator = scene.operator().await?;
    let mut all = Vec::new();
    for (claim, ..) in CASES {
        bind(&scene, &operator, claim).await?;
    }
    for (claim, ..) in CASES {
        all.push(before(&scene, claim).await?);
    }

    // Of one, what comes after will never be ready; of another, the API server refuses to change it.
    let image = json!({ "spec": { "image": Stage::NeverReady.image() } });
    scene.merge::<SandboxClass>("unready", image).await?;
    refuses_templates(&scene, "refused-sandbox", true).await?;

    for (claim, gone, _) in CASES {
        take(&scene, claim, *gone).await?;
    }
    for ((claim, _, reason), before) in CASES.iter().zip(&all) {
        is_revoked(&scene, claim, before, reason).await?;
    }
    scene
        .becomes("unready", "has no address", |claim: &SandboxClaim| {
            addresses(claim).is_empty()
        })
        .await?;
    for ((claim, ..), before) in CASES.iter().zip(&all) {
        let after = scene.get::<Deployment>(&format!("{claim}-sandbox")).await?;
        let uid = |deployment: &Value| deployment["metadata"]["uid"].clone();
        let made_anew = uid(&after) != uid(&before.deployment);
        assert_eq!(made_anew, *claim == "refused", "{claim}");
    }
    // Of the last pod's end the controller hears when the test does, and counts it a moment later.
    let controller = cluster.installation.controller.as_ref().unwrap();
    let address = controller.service.health_address();
    let counted = "sandgate_controller_credential_revocation_seconds_count 4";
    service::counts(&address, counted, DEADLINE).await?;

    // The key comes back, and with it what was placed.
    scene.accepts_update(&secret("keyless")).await?;
    let current = says_current(&scene, "keyless", "True").await?;
    let (_, told, _) = condition(&current, "ConnectionsCurrent").unwrap();
    assert_eq!(told, reason::CONNECTIONS_PLACED);
    let again = scene.get::<Deployment>("keyless-sandbox").await?;
    assert_eq!(placed(&again), ["GOING", "STAYING"]);
    scene.bound("keyless").await?;
    Ok(())
}

// Proves: C-032, C-034, K-031
#[tokio::test]
async fn a_credential_goes_though_its_deployment_can_be_neither_changed_nor_made_again() -> Outcome
{
    let cluster = Cluster::own(options()).await?;
    let scene = Scene::on(&cluster, UNMADE).await?;
    let staying = json!({
        "env": [{ "name": "STAYING", "key": "token" }],
        "files": [{ "path": "staying", "key": "git-credentials" }],
    });
    scene.accepts(&secret("staying")).await?;
    scene.accepts(&connection("staying", &staying)).await?;
    Pair::ours(&cluster).in_force().await?;
    bind(&scene, &scene.operator().await?, UNMADE).await?;
    let before = before(&scene, UNMADE).await?;
    let sandbox = format!("{UNMADE}-sandbox");
    let refuses = refuses_templates(&scene, &sandbox, false).await?;

    take(&scene, UNMADE, Gone::Secret).await?;
    for pod in &before.pods {
        scene.vanishes::<Pod>(pod).await?;
    }
    scene.vanishes::<Deployment>(&sandbox).await?;
    // It was bound once, so it has not failed: it says what it waits for.
    let waits = scene.pending(UNMADE, reason::SANDBOX_REJECTED).await?;
    let (_, message) = ready(&waits);
    assert!(message.contains("no changes on a Friday"), "{message}");
    assert_eq!(addresses(&waits), Vec::<String>::new());
    let lost = says_current(&scene, UNMADE, "False").await?;
    let (_, told, message) = condition(&lost, "ConnectionsCurrent").unwrap();
    assert_eq!(told, "ConnectionSecretNotFound", "{message}");
    scene
        .becomes(
            &format!("{sandbox}-connections"),
            "has the one file that stays",
            |secret: &Secret| secret.data.as_ref().is_some_and(|data| data.len() == 1),
        )
        .await?;

    // Allowed again, it comes without what went.
    for kind in [
        "ValidatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
    ] {
        let api = "admissionregistration.k8s.io/v1";
        let objects = scene
            .api_of(&json!({ "apiVersion": api, "kind": kind }))
            .await?;
        objects.delete(&refuses, &DeleteParams::default()).await?;
    }
    scene
        .merge::<SandboxClass>(
            UNMADE,
            json!({ "metadata": { "labels": { "looked": "at" } } }),
        )
        .await?;
    scene.bound(UNMADE).await?;
    let after = scene.get::<Deployment>(&sandbox).await?;
    assert_eq!(placed(&after), ["STAYING"]);
    Ok(())
}
