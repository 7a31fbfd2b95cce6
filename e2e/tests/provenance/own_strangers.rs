//! Somebody else's policy or webhook answers the dry run that ours has to refuse.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject};
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::pair::{Pair, is_verified};
use sandgate_e2e::scene::manifests::{self, claim_with};
use sandgate_e2e::scene::{Scene, ready};
use sandgate_e2e::{Cluster, Identity, Outcome, Stage, manifests as applied};
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::render::Installation as Names;
use sandgate_shared::trust::{Answer, Call, Expected, probe_claim};
use serde_json::{Value, json};

use crate::foreign_webhook::ForeignWebhook;
use crate::options;

/// An API server tells nobody when it has loaded a policy or webhook; it is asked this often.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Asks as the probe does, until the answer is this one.
async fn until_answered(cluster: &Cluster, wanted: &Answer) -> Outcome {
    let namespace = Names::default().namespace;
    let probe = Identity::ServiceAccount("sandgate-policy-probe".to_owned());
    let claims: Api<SandboxClaim> = Api::namespaced(cluster.client_as(&probe).await?, &namespace);
    let claim: SandboxClaim = serde_json::from_value(probe_claim(&namespace))?;
    let expected = Expected::of(&Names::default());
    let how = kube::api::PostParams {
        dry_run: true,
        ..kube::api::PostParams::default()
    };
    let mut turn = tokio::time::interval(ASK_EVERY);
    let mut last = None;
    let asked = async {
        loop {
            turn.tick().await;
            let answer = match claims.create(&how, &claim).await {
                Ok(_) => Answer::Admitted,
                Err(kube::Error::Api(status)) => Answer::of(&status.message, &expected),
                Err(error) => return Outcome::Err(error.into()),
            };
            if answer == *wanted {
                return Ok(());
            }
            last = Some(answer);
        }
    };
    match tokio::time::timeout(DEADLINE, asked).await {
        Ok(done) => done,
        Err(late) => panic!("{late}: wanted {wanted:?}, was answered by {last:?}"),
    }
}

/// Where the probe asks.
fn operators_namespace() -> Value {
    json!({ "matchLabels": { "kubernetes.io/metadata.name": "sandgate-system" } })
}

/// A policy of somebody else that refuses every claim in the operator's namespace.
fn foreign_policy() -> [Value; 2] {
    let api = "admissionregistration.k8s.io/v1";
    let metadata = json!({ "name": "theirs" });
    [
        json!({
            "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": metadata,
            "spec": {
                "matchConstraints": {
                    "namespaceSelector": operators_namespace(),
                    "resourceRules": [{
                        "apiGroups": ["omnia.altairalabs.ai"], "apiVersions": ["*"],
                        "operations": ["CREATE"], "resources": ["sandboxclaims"],
                    }],
                },
                "validations": [{ "expression": "false", "message": "not on our cluster" }],
            },
        }),
        json!({
            "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata,
            "spec": { "policyName": "theirs", "validationActions": ["Deny"] },
        }),
    ]
}

/// A webhook of somebody else, called before or after policies.
fn foreign_configuration(kind: &str, webhook: &ForeignWebhook) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": { "name": "theirs" },
        "webhooks": [{
            "name": "theirs.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {
                "url": webhook.url,
                "caBundle": STANDARD.encode(&webhook.authority),
            },
            "namespaceSelector": operators_namespace(),
            "rules": [{
                "apiGroups": ["omnia.altairalabs.ai"], "apiVersions": ["*"],
                "operations": ["CREATE"], "resources": ["sandboxclaims"],
            }],
        }],
    })
}

fn theirs(call: Call) -> Answer {
    Answer::Webhook {
        name: "theirs.example.com".to_owned(),
        call,
    }
}

fn target(name: &str) -> Value {
    claim_with(name, "box", &json!({ "targetPath": "projects/shop" }))
}

// Proves: P-029
#[tokio::test]
async fn a_foreign_mutating_webhook_that_answers_first_is_named_and_no_proof() -> Outcome {
    let cluster = Cluster::own(options()).await?;
    let scene = Scene::on(&cluster, "strangers").await?;
    scene.with_content().await?;
    scene
        .accepts(&manifests::with_workspace(manifests::class(
            "box",
            Stage::Ready,
        )))
        .await?;
    let pair = Pair::ours(&cluster);
    let first = pair.record().await?;
    let webhook = ForeignWebhook::start().await?;
    let configuration = foreign_configuration("MutatingWebhookConfiguration", &webhook);
    applied::apply(&cluster.client(), &[configuration]).await?;
    until_answered(&cluster, &theirs(Call::Unknown)).await?;

    // A pair made anew is tried anew; that of before is nothing to it.
    pair.delete().await?;
    pair.create().await?;
    let operator = scene.operator().await?;
    operator.accepts(&target("waits")).await?;
    let names_it = |claim: &SandboxClaim| {
        let (reason, message) = ready(claim);
        let told = "mutating webhook theirs.example.com answered first";
        reason == "ProvenanceUnproven" && message.contains(told)
    };
    scene
        .becomes("waits", "waits and says who answered", names_it)
        .await?;
    let records = pair.all_records().await?;
    assert!(
        records
            .iter()
            .all(|it| it.metadata.uid == first.metadata.uid)
    );

    let theirs: Api<MutatingWebhookConfiguration> = Api::all(cluster.client());
    theirs.delete("theirs", &DeleteParams::default()).await?;
    pair.in_force().await?;
    operator.accepts(&target("after")).await?;
    assert!(is_verified(&scene.bound("after").await?));
    Ok(())
}

/// A mutating policy of somebody else that fails on every claim in the operator's namespace.
fn foreign_mutating_policy() -> [Value; 2] {
    let api = "admissionregistration.k8s.io/v1";
    let metadata = json!({ "name": "theirs" });
    [
        json!({
            "apiVersion": api, "kind": "MutatingAdmissionPolicy", "metadata": metadata,
            "spec": {
                "failurePolicy": "Fail",
                "reinvocationPolicy": "Never",
                "matchConstraints": {
                    "namespaceSelector": operators_namespace(),
                    "resourceRules": [{
                        "apiGroups": ["omnia.altairalabs.ai"], "apiVersions": ["*"],
                        "operations": ["CREATE"], "resources": ["sandboxclaims"],
                    }],
                },
                "mutations": [{
                    "patchType": "JSONPatch",
                    "jsonPatch": {
                        "expression": "[JSONPatch{op: \"remove\", path: \"/spec/nothing\"}]",
                    },
                }],
            },
        }),
        json!({
            "apiVersion": api, "kind": "MutatingAdmissionPolicyBinding", "metadata": metadata,
            "spec": { "policyName": "theirs" },
        }),
    ]
}

async fn remove(cluster: &Cluster, manifests: &[Value]) -> Outcome {
    for manifest in manifests {
        let resource = applied::resource_of(manifest)?;
        let objects: Api<DynamicObject> = Api::all_with(cluster.client(), &resource);
        objects.delete("theirs", &DeleteParams::default()).await?;
    }
    Ok(())
}

// Proves: P-029
#[tokio::test]
async fn what_somebody_else_says_to_the_probe_is_told_apart_and_never_taken_for_ours() -> Outcome {
    let mut without_ours = options();
    without_ours.installation.layers.policy = false;
    without_ours.installation.layers.webhook = false;
    let cluster = Cluster::own(without_ours).await?;
    until_answered(&cluster, &Answer::Admitted).await?;

    let policy = foreign_policy();
    applied::apply(&cluster.client(), &policy).await?;
    until_answered(&cluster, &Answer::Policy("theirs".to_owned())).await?;
    remove(&cluster, &policy).await?;
    until_answered(&cluster, &Answer::Admitted).await?;

    let policy = foreign_mutating_policy();
    applied::apply(&cluster.client(), &policy).await?;
    until_answered(&cluster, &Answer::MutatingPolicy("theirs".to_owned())).await?;
    remove(&cluster, &policy).await?;
    until_answered(&cluster, &Answer::Admitted).await?;

    let webhook = ForeignWebhook::start().await?;
    let kind = "ValidatingWebhookConfiguration";
    let configuration = [foreign_configuration(kind, &webhook)];
    applied::apply(&cluster.client(), &configuration).await?;
    until_answered(&cluster, &theirs(Call::Unknown)).await?;
    // One that is down refuses too, in other words.
    drop(webhook);
    until_answered(&cluster, &theirs(Call::Unknown)).await?;
    remove(&cluster, &configuration).await?;

    let pair = Pair::ours(&cluster);
    pair.create().await?;
    until_answered(&cluster, &Answer::Ours).await
}
