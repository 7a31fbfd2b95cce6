//! The webhook configurations while others write them, too.

use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::wait::await_condition;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, ResourceExt};
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::service::{self, Service};
use sandgate_e2e::{Cluster, Failure, Options, Outcome, OwnCluster, manifests as applied};
use sandgate_shared::render::{Installation as Names, WebhookEndpoint, webhook_configurations};
use sandgate_shared::{names, reason};
use serde_json::{Value, json};

use crate::audit;
use crate::scene::Scene;

/// The API server tells nobody when it knows an edited configuration; it is asked this often.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// One of the two configurations.
struct Configuration {
    api: Api<DynamicObject>,
    name: String,
    /// As the chart renders it.
    rendered: Value,
}

impl Configuration {
    /// The mutating one and the validating one of this cluster.
    fn both(cluster: &OwnCluster) -> Outcome<[Self; 2]> {
        let names = Names {
            webhook: WebhookEndpoint::Url(cluster.installation.webhook_url()),
            ..Names::default()
        };
        let [mutating, validating] = webhook_configurations(&names);
        let one = |rendered: Value| -> Outcome<Self> {
            let resource = applied::resource_of(&rendered)?;
            Ok(Self {
                api: Api::all_with(cluster.client(), &resource),
                name: names::webhook_configuration(&names.release),
                rendered,
            })
        };
        Ok([one(mutating)?, one(validating)?])
    }

    /// Lays a JSON merge patch over the one webhook in it, as `kubectl edit` does.
    async fn edit(&self, fields: &Value) -> Outcome {
        let stands = self.api.get(&self.name).await?;
        let mut webhook = stands.data["webhooks"][0].clone();
        json_patch::merge(&mut webhook, fields);
        let patch = Patch::Merge(json!({ "webhooks": [webhook] }));
        let how = PatchParams {
            field_manager: Some("kubectl-edit".to_owned()),
            ..PatchParams::default()
        };
        self.api.patch(&self.name, &how, &patch).await?;
        Ok(())
    }

    /// Whether it says what was rendered, and nothing more.
    fn is_as_rendered(&self, stands: &DynamicObject) -> bool {
        let mut wanted = self.rendered["webhooks"].clone();
        let mut stands = stands.data["webhooks"].clone();
        for selector in ["namespaceSelector", "objectSelector"] {
            wanted[0][selector] = json!({});
        }
        let client = stands[0]["clientConfig"].as_object_mut();
        client.is_some_and(|client| client.remove("caBundle").is_some()) && stands == wanted
    }

    async fn stands_as_rendered(&self) -> Outcome<DynamicObject> {
        let stands = |object: Option<&DynamicObject>| {
            object.is_some_and(|object| self.is_as_rendered(object))
        };
        let stands = await_condition(self.api.clone(), &self.name, stands);
        let object = tokio::time::timeout(DEADLINE, stands).await??;
        Ok(object.expect("it stands"))
    }
}

/// Waits for the Event about what is called `name` whose note holds `word`.
pub async fn told(cluster: &Cluster, name: &str, reason: &str, word: &str) -> Outcome<Event> {
    let events: Api<Event> = Api::namespaced(cluster.client(), "default");
    let mut seen = std::pin::pin!(watcher(events, watcher::Config::default()).applied_objects());
    let wanted = |event: &Event| {
        let about = event.regarding.as_ref().and_then(|it| it.name.as_deref());
        let note = event.note.as_deref().unwrap_or_default();
        about == Some(name) && event.reason.as_deref() == Some(reason) && note.contains(word)
    };
    let found = async {
        while let Some(event) = seen.try_next().await? {
            if wanted(&event) {
                return Ok(event);
            }
        }
        Err(Failure::saying("the watch of Events ended"))
    };
    match tokio::time::timeout(DEADLINE, found).await {
        Ok(found) => found,
        Err(_) => Err(Failure::saying(format!(
            "nobody was told {reason} of {name} with {word:?}"
        ))),
    }
}

/// How many Events with this reason there are about what is called `name`.
async fn times_told(cluster: &Cluster, name: &str, reason: &str) -> Outcome<usize> {
    let events: Api<Event> = Api::namespaced(cluster.client(), "default");
    let all = events.list(&ListParams::default()).await?;
    let counted = all.iter().filter(|event| {
        let about = event.regarding.as_ref().and_then(|it| it.name.as_deref());
        about == Some(name) && event.reason.as_deref() == Some(reason)
    });
    Ok(counted.count())
}

/// Whether the controller's metrics hold this line.
async fn counts(controller: &Service, line: &str) -> Outcome {
    let (_, page) = service::get(&controller.health_address(), "/metrics").await?;
    assert!(page.lines().any(|it| it == line), "no {line:?} in:\n{page}");
    Ok(())
}

// Proves: X-012, X-013
#[tokio::test]
async fn what_others_edit_in_our_configurations_is_told_and_put_right_until_they_insist() -> Outcome
{
    let cluster = Cluster::own(Options::default()).await?;
    let scene = Scene::on(&cluster, "edited").await?;
    let controller = &cluster.installation.controller.as_ref().unwrap().service;
    let [mutating, validating] = Configuration::both(&cluster)?;
    let name = validating.name.as_str();
    let before = validating.stands_as_rendered().await?;
    mutating.stands_as_rendered().await?;
    assert_eq!(times_told(&cluster, name, reason::HEALED).await?, 0);

    // Weakened in every way there is, what is added beside ours included.
    let mut conditions = before.data["webhooks"][0]["matchConditions"].clone();
    let never = json!({ "name": "never", "expression": "false" });
    conditions.as_array_mut().unwrap().push(never);
    let weaker = json!({
        "failurePolicy": "Ignore",
        "matchConditions": conditions,
        "namespaceSelector": { "matchLabels": { "no": "such" } },
        "objectSelector": { "matchLabels": { "no": "such" } },
        "timeoutSeconds": 1,
    });
    validating.edit(&weaker).await?;
    let event = told(&cluster, name, reason::HEALED, "failurePolicy").await?;
    let note = event.note.unwrap();
    for field in weaker.as_object().unwrap().keys() {
        assert!(note.contains(&format!("].{field}")), "{field} in {note}");
    }
    assert!(note.contains("\"kubectl-edit\""), "{note}");
    validating.stands_as_rendered().await?;
    let elsewhere = json!({
        "clientConfig": { "url": "https://127.0.0.1:1/mutate" },
        "reinvocationPolicy": "Never",
        "rules": [{
            "apiGroups": [names::GROUP],
            "apiVersions": [names::VERSION],
            "operations": ["CREATE"],
            "resources": ["connections"],
            "scope": "*",
        }],
    });
    mutating.edit(&elsewhere).await?;
    told(&cluster, name, reason::HEALED, "reinvocationPolicy").await?;
    mutating.stands_as_rendered().await?;
    let nobody = json!({ "clientConfig": { "caBundle": "bm8gUEVN" } });
    mutating.edit(&nobody).await?;
    told(&cluster, name, reason::HEALED, "caBundle").await?;
    mutating.stands_as_rendered().await?;
    // Claims are judged as before, as soon as API servers know it.
    let bad = json!({ "agentRuntimeRef": { "name": "" } });
    let bad = crate::manifests::claim_with("bad", "none", &bad);
    let mut turn = tokio::time::interval(ASK_EVERY);
    let judged = async {
        loop {
            turn.tick().await;
            let refused = scene.user().would_reject(&bad).await?;
            if !refused.message.contains("failed calling webhook") {
                return Outcome::Ok(());
            }
        }
    };
    tokio::time::timeout(DEADLINE, judged).await??;
    let line = r#"sandgate_controller_heals_total{kind="ValidatingWebhookConfiguration"} 1"#;
    counts(controller, line).await?;

    // A heal leaves nothing that the next upgrade would have to take by force.
    let mut next = validating.rendered.clone();
    next["webhooks"][0]["timeoutSeconds"] = json!(7);
    next["webhooks"][0]["failurePolicy"] = json!("Ignore");
    next["metadata"]["annotations"][names::ANNOTATION_WEBHOOK_RULES] = json!("0123456789");
    let how = PatchParams::apply("sandgate-install");
    validating
        .api
        .patch(name, &how, &Patch::Apply(&next))
        .await?;
    told(
        &cluster,
        name,
        reason::WEBHOOK_CONFIGURATION_REPLACED,
        "0123456789",
    )
    .await?;
    let stands = validating.api.get(name).await?;
    assert_eq!(stands.data["webhooks"][0]["timeoutSeconds"], 7);
    applied::apply(
        &cluster.client(),
        std::slice::from_ref(&validating.rendered),
    )
    .await?;
    validating.stands_as_rendered().await?;

    // Whoever changes it back each time is let have it for a while.
    let ignore = json!({ "failurePolicy": "Ignore" });
    for _ in 0..2 {
        validating.edit(&ignore).await?;
        validating.stands_as_rendered().await?;
    }
    validating.edit(&ignore).await?;
    told(&cluster, name, reason::HEAL_BACKED_OFF, "failurePolicy").await?;
    let stands = validating.api.get(name).await?;
    assert_eq!(stands.data["webhooks"][0]["failurePolicy"], "Ignore");
    let line = r#"sandgate_controller_webhook_configuration_sound{kind="ValidatingWebhookConfiguration"} 0"#;
    counts(controller, line).await?;
    let ours = audit::up_to_now(&scene, audit::CONTROLLER).await?;
    audit::assert_nothing_was_forbidden(&ours);
    Ok(())
}

/// A webhook of somebody else for these resources of ours, which lets pass what it does not answer.
fn foreign(name: &str, resources: &[&str]) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": { "name": name },
        "webhooks": [{
            "name": "sidecar.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Ignore",
            "timeoutSeconds": 1,
            "clientConfig": { "url": "https://127.0.0.1:1/" },
            "rules": [{
                "apiGroups": ["*"],
                "apiVersions": ["*"],
                "operations": ["CREATE"],
                "resources": resources,
            }],
        }],
    })
}

/// A policy of somebody else that rewrites connections, and what puts it in force.
fn foreign_policy() -> [Value; 2] {
    let api = "admissionregistration.k8s.io/v1";
    let policy = json!({
        "apiVersion": api,
        "kind": "MutatingAdmissionPolicy",
        "metadata": { "name": "labels.example.com" },
        "spec": {
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [names::GROUP],
                "apiVersions": ["*"],
                "operations": ["CREATE"],
                "resources": ["connections"],
            }] },
            "failurePolicy": "Ignore",
            "reinvocationPolicy": "Never",
            "mutations": [{
                "patchType": "ApplyConfiguration",
                "applyConfiguration": { "expression":
                    "Object{metadata: Object.metadata{labels: {\"seen\": \"yes\"}}}" },
            }],
        },
    });
    let binding = json!({
        "apiVersion": api,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": { "name": "labels.example.com" },
        "spec": { "policyName": "labels.example.com" },
    });
    [policy, binding]
}

#[tokio::test]
async fn others_who_may_rewrite_our_kinds_are_told_of_once_and_left_alone() -> Outcome {
    let mut cluster = Cluster::own(Options::default()).await?;
    let scene = Scene::on(&cluster, "others").await?;
    let mine = foreign("sidecars", &["sandboxclaims", "pods"]);
    let harmless = foreign("harmless", &["pods"]);
    applied::apply(&cluster.client(), &[harmless, mine]).await?;
    applied::apply(&cluster.client(), &foreign_policy()).await?;
    let why = reason::FOREIGN_MUTATOR;
    let event = told(&cluster, "sidecars", why, "sidecar.example.com").await?;
    let note = event.note.unwrap();
    assert!(
        note.contains("may rewrite sandboxclaims on the way in"),
        "{note}"
    );
    told(
        &cluster,
        "labels.example.com",
        why,
        "may rewrite connections",
    )
    .await?;

    // Another leader does not repeat it.
    let controller = &mut cluster.installation.controller.as_mut().unwrap().service;
    controller.kill();
    controller.start()?;
    controller.answers("/readyz", DEADLINE).await?;
    let anew = foreign("anew", &["connections"]);
    applied::apply(&cluster.client(), &[anew]).await?;
    told(&cluster, "anew", why, "may rewrite connections").await?;
    for (name, times) in [("sidecars", 1), ("labels.example.com", 1), ("harmless", 0)] {
        assert_eq!(times_told(&cluster, name, why).await?, times, "{name}");
    }
    let controller = &cluster.installation.controller.as_ref().unwrap().service;
    let line = r#"sandgate_controller_foreign_mutators{kind="MutatingWebhookConfiguration"} 2"#;
    counts(controller, line).await?;
    let line = r#"sandgate_controller_foreign_mutators{kind="MutatingAdmissionPolicy"} 1"#;
    counts(controller, line).await?;
    let all: Api<MutatingWebhookConfiguration> = Api::all(cluster.client());
    let stands = all.get("sidecars").await?;
    assert_eq!(stands.metadata.generation, Some(1), "{}", stands.name_any());
    let ours = audit::up_to_now(&scene, audit::CONTROLLER).await?;
    audit::assert_nothing_was_forbidden(&ours);
    Ok(())
}
