//! A class that is edited while a claim of it is being built, by a controller that does not live to tell, or
//! does not hear what became of its write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::ResourceExt as _;
use kube::api::ListParams;
use sandgate_e2e::fake_node::STAGE_LABEL;
use sandgate_e2e::fault_proxy::{Asked, Fate, Fault, Proxy, Question};
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::{Cluster, Options, Outcome, Stage};
use sandgate_shared::api::SandboxClass;
use serde_json::json;

use crate::controllers;
use crate::scene::{Scene, condition, manifests};

/// How long a silent leader keeps the Lease.
const LEASE: Duration = Duration::from_secs(4);
/// Longer than any test.
const NEVER: Duration = Duration::from_hours(1);

// Proves: C-034, O-040
#[tokio::test]
async fn a_class_edited_between_the_deployment_and_the_bind_rolls_nothing_after_a_kill() -> Outcome
{
    let mut options = Options::default();
    let lease = format!("--lease-duration={}s", LEASE.as_secs());
    options.installation.controller_arguments = vec![lease];
    let mut cluster = Cluster::own(options).await?;
    let scene = Scene::on(&cluster, "edited").await?;
    scene.claims("edited", Stage::NeverReady).await?;
    scene
        .becomes("edited-sandbox", "runs its pod", |it: &Deployment| {
            let status = it.status.as_ref();
            status.and_then(|status| status.unavailable_replicas) == Some(1)
        })
        .await?;
    let pending = scene.pending("edited", "SandboxStarting").await?;
    let before = pending.status.unwrap();
    assert!(before.applied.is_none(), "nothing of it was recorded yet");
    let stood = scene.get::<Deployment>("edited-sandbox").await?;

    let first = &mut cluster.installation.controller.as_mut().unwrap().service;
    first.kill();
    let edit = json!({ "spec": { "env": [{ "name": "EDITED", "value": "since" }] } });
    scene.merge::<SandboxClass>("edited", edit).await?;
    let mut second = cluster.second_controller().await?;
    second.service.answers("/readyz", DEADLINE).await?;
    let pods = scene.api::<Pod>().list(&ListParams::default()).await?;
    let recover = json!({ "metadata": { "labels": { STAGE_LABEL: Stage::Ready.label() } } });
    scene
        .merge::<Pod>(&pods.items[0].name_any(), recover)
        .await?;

    let bound = scene.bound("edited").await?;
    assert_eq!(condition(&bound, "SandboxModified"), None);
    let after = bound.status.unwrap();
    assert_eq!(after.template_hash, before.template_hash);
    assert_eq!(after.applied.map(|applied| applied.len()), Some(3));
    let stands = scene.get::<Deployment>("edited-sandbox").await?;
    assert_eq!(stands["metadata"]["generation"], json!(1));
    assert_eq!(stands["spec"], stood["spec"]);
    Ok(())
}

/// Loses the answer to the first Deployment that is made, tells of none, and lets nobody ask for another until
/// [`Forgetful::let_go`].
#[derive(Default)]
struct Forgetful {
    asked: AtomicUsize,
    lets_go: AtomicBool,
}

impl Forgetful {
    fn let_go(&self) {
        self.lets_go.store(true, Ordering::SeqCst);
    }
}

impl Fate for Forgetful {
    fn fault(&self, asked: &Asked) -> Fault {
        if !asked.path.ends_with("/deployments") {
            return Fault::None;
        }
        match asked.question() {
            Question::Watch => Fault::Lagging(NEVER),
            Question::Write if self.asked.fetch_add(1, Ordering::SeqCst) == 0 => Fault::AnswerLost,
            Question::Write if !self.lets_go.load(Ordering::SeqCst) => {
                Fault::Refused(StatusCode::SERVICE_UNAVAILABLE)
            }
            _ => Fault::None,
        }
    }
}

// Proves: C-034
#[tokio::test]
async fn a_class_edited_while_the_making_of_a_deployment_is_unanswered_rolls_nothing() -> Outcome {
    let mut cluster = Cluster::own(Options::default()).await?;
    let fate = Arc::new(Forgetful::default());
    let proxy = Proxy::start(&cluster, Arc::clone(&fate) as Arc<dyn Fate>).await?;
    let _controller = controllers::replace_first(&mut cluster, &proxy.server, &[]).await?;
    let scene = Scene::on(&cluster, "unanswered").await?;
    scene.claims("edited", Stage::Ready).await?;
    let any = |_: &Deployment| true;
    scene.becomes("edited-sandbox", "was made", any).await?;
    let stood = scene.get::<Deployment>("edited-sandbox").await?;

    let ports = json!([{ "port": 443 }]);
    scene.accepts(&manifests::service("mirror", &ports)).await?;
    let edit = json!({ "spec": {
        "env": [{ "name": "EDITED", "value": "since" }],
        "egress": { "allowedServices": [{ "name": "mirror", "ports": [443] }] },
    } });
    let rules = |it: &NetworkPolicy| {
        let rules = it.spec.as_ref().and_then(|spec| spec.egress.as_ref());
        rules.map_or(0, Vec::len)
    };
    let policy = scene.api::<NetworkPolicy>().get("edited-sandbox").await?;
    let before = rules(&policy);
    scene.merge::<SandboxClass>("edited", edit).await?;
    // Its policy follows the class at once: so the controller knows of the edit.
    scene
        .becomes("edited-sandbox", "lets it reach the Service", |it| {
            rules(it) > before
        })
        .await?;
    fate.let_go();

    let bound = scene.bound("edited").await?;
    assert_eq!(condition(&bound, "SandboxModified"), None);
    let asked = fate.asked.load(Ordering::SeqCst);
    assert!(asked > 1, "the making was not asked for again");
    let stands = scene.get::<Deployment>("edited-sandbox").await?;
    assert_eq!(stands["metadata"]["generation"], json!(1));
    assert_eq!(stands["spec"], stood["spec"]);
    Ok(())
}
