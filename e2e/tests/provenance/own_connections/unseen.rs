//! Values of Secrets are where they are placed and nowhere else, whatever is logged; and Secrets that no
//! Connection names cost nothing.

use std::fs;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::ByteString;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Event, Pod, Secret, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, ListParams};
use kube::core::NamespaceResourceScope;
use sandgate_e2e::scene::Scene;
use sandgate_e2e::scene::manifests::claim_with;
use sandgate_e2e::{Cluster, Outcome, OwnCluster, Writer, service};
use sandgate_shared::api::{Connection, SandboxClaim};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{CANARY, bind, connected, connection, says_current, secret};
use crate::options;

/// Secrets that no Connection names.
const STRANGERS: usize = 300;
/// How many are made at once.
const AT_ONCE: usize = 16;

/// The canary as it is, and as it is within a Secret, wherever it begins there.
fn shapes() -> Vec<String> {
    let encoded = (0..3).map(|before| {
        let text = format!("{}{CANARY}", "x".repeat(before));
        let bytes = serde_json::to_value(ByteString(text.into_bytes())).unwrap();
        let text = bytes.as_str().unwrap().trim_end_matches('=').to_owned();
        // What the bytes beside it have a part in is not the canary's.
        text[4..text.len() - 4].to_owned()
    });
    encoded.chain([CANARY.to_owned()]).collect()
}

/// Everything that could tell a value, by where it was found.
async fn told(cluster: &OwnCluster, scene: &Scene) -> Outcome<Vec<(String, String)>> {
    let mut told = vec![
        ("claims".to_owned(), all::<SandboxClaim>(scene).await?),
        ("Connections".to_owned(), all::<Connection>(scene).await?),
        ("Deployments".to_owned(), all::<Deployment>(scene).await?),
        ("ReplicaSets".to_owned(), all::<ReplicaSet>(scene).await?),
        ("pods".to_owned(), all::<Pod>(scene).await?),
        ("Services".to_owned(), all::<Service>(scene).await?),
        (
            "NetworkPolicies".to_owned(),
            all::<NetworkPolicy>(scene).await?,
        ),
        ("Events".to_owned(), all::<Event>(scene).await?),
    ];
    let controller = &cluster.installation.controller.as_ref().unwrap().service;
    let webhook = cluster.installation.webhook.as_ref().unwrap();
    for process in [controller, webhook] {
        let address = process.health_address();
        let (_, page) = service::get(&address, "/metrics").await?;
        told.push((format!("metrics at {address}"), page));
    }
    for entry in fs::read_dir(&cluster.access().folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "log") {
            let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
            told.push((path.display().to_string(), text));
        }
    }
    Ok(told)
}

async fn all<K>(scene: &Scene) -> Outcome<String>
where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    K: Clone + DeserializeOwned + Serialize + std::fmt::Debug,
{
    let list = scene.api::<K>().list(&ListParams::default()).await?;
    Ok(serde_json::to_string(&list)?)
}

/// How many reconciles the controller has counted.
async fn reconciles(cluster: &OwnCluster) -> Outcome<usize> {
    let controller = &cluster.installation.controller.as_ref().unwrap().service;
    let (_, page) = service::get(&controller.health_address(), "/metrics").await?;
    let counted = "sandgate_controller_reconciles_total{outcome=\"done\"} ";
    let mut counts = page.lines().filter_map(|line| line.strip_prefix(counted));
    // One that has just started has counted none.
    Ok(counts.next().unwrap_or("0").parse()?)
}

/// Makes, changes and deletes Secrets that nobody names.
async fn strangers(scene: &Scene) -> Outcome {
    let names: Vec<_> = (0..STRANGERS)
        .map(|nth| format!("stranger-{nth}"))
        .collect();
    let names = stream::iter(names).map(|name| async move {
        scene.accepts(&secret(&name)).await?;
        let name = format!("{name}-secret");
        let changed = json!({ "stringData": { "token": format!("{CANARY}-changed") } });
        scene.merge::<Secret>(&name, changed).await?;
        let how = DeleteParams::default();
        scene.api::<Secret>().delete(&name, &how).await?;
        Outcome::Ok(())
    });
    names.buffer_unordered(AT_ONCE).try_collect::<()>().await
}

// Proves: K-029, K-032
#[tokio::test]
async fn no_value_of_a_secret_is_told_by_anything_but_secrets_though_all_is_logged() -> Outcome {
    let mut options = options();
    options.installation.controller_log = Some("trace".to_owned());
    let cluster = Cluster::own(options).await?;
    let scene = connected(&cluster, "unseen").await?;
    let operator = scene.operator().await?;
    bind(&scene, &operator, "agent").await?;
    scene.bound("agent").await?;

    let before = reconciles(&cluster).await?;
    strangers(&scene).await?;
    // A claim that has just become Bound may be looked at a last time.
    let more = reconciles(&cluster).await? - before;
    assert!(more < 5, "{more} reconciles for {STRANGERS} Secrets");

    // What fails is told most of: a file whose template ends in the middle of its value, and a class that
    // has the same variable.
    let broken = json!({ "files": [
        { "path": "a", "template": "{{ .token }}{{ index .token 99 }}{{ .absent }}" },
    ] });
    scene.accepts(&secret("broken")).await?;
    scene.accepts(&connection("broken", &broken)).await?;
    let binds = json!({ "connections": [{ "role": "vcs", "connection": "broken" }] });
    operator
        .accepts(&claim_with("broken", "agent", &binds))
        .await?;
    scene.failed("broken", "ConnectionTemplateInvalid").await?;

    // Hand edits, a rotation, a revocation.
    let hand = json!({ "stringData": { "more": format!("{CANARY}-by-hand") } });
    scene
        .merge::<Secret>("agent-sandbox-connections", hand)
        .await?;
    let rotated = json!({ "stringData": { "token": format!("{CANARY}-rotated") } });
    scene.merge::<Secret>("github-secret", rotated).await?;
    let how = DeleteParams::default();
    scene.api::<Secret>().delete("jira-secret", &how).await?;
    says_current(&scene, "agent", "False").await?;
    scene.bound("agent").await?;

    let told = told(&cluster, &scene).await?;
    let logged = |what: &str| told.iter().any(|(_, text)| text.contains(what));
    assert!(logged("TRACE"), "nothing was logged at the finest");
    assert!(
        logged("agent-sandbox-connections"),
        "no Secret was heard of"
    );
    let shapes = shapes();
    let secrets = all::<Secret>(&scene).await?;
    let found = shapes.iter().any(|shape| secrets.contains(shape.as_str()));
    assert!(found, "the canary is not even found in Secrets");
    let leaks: Vec<_> = told
        .iter()
        .filter(|(_, text)| shapes.iter().any(|shape| text.contains(shape.as_str())))
        .map(|(place, text)| {
            let shape = shapes.iter().find(|shape| text.contains(shape.as_str()));
            let shape = shape.map(String::as_str).unwrap_or_default();
            let line = text.lines().find(|line| line.contains(shape));
            format!("{place}: {:.400}", line.unwrap_or_default())
        })
        .collect();
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
    Ok(())
}

mod slow {
    use super::*;
    use k8s_openapi::api::core::v1::Secret;
    use kube::api::PostParams;

    /// Secrets that no Connection names, in one namespace.
    const MANY: usize = 10_000;
    /// How much more memory a controller may have for them: nothing of them is kept, and they are listed a page
    /// at a time.
    const ROOM_KIB: u64 = 8 * 1024;

    /// What the controller's process has resident, in KiB.
    fn resident(cluster: &OwnCluster) -> Outcome<u64> {
        let controller = &cluster.installation.controller.as_ref().unwrap().service;
        let status = fs::read_to_string(format!("/proc/{}/status", controller.id().unwrap()))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        Ok(resident.unwrap().trim().trim_end_matches(" kB").parse()?)
    }

    /// Starts the controller anew, and waits until it has bound a claim of this name.
    async fn started_again(
        cluster: &mut OwnCluster,
        (scene, operator): (&Scene, &Writer),
        claim: &str,
    ) -> Outcome {
        let controller = &mut cluster.installation.controller.as_mut().unwrap().service;
        controller.stop()?;
        controller.start()?;
        let binds = json!({ "connections": [{ "role": "vcs", "connection": "github" }] });
        operator
            .accepts(&claim_with(claim, "agent", &binds))
            .await?;
        scene.bound(claim).await?;
        Ok(())
    }

    async fn many(scene: &Scene) -> Outcome {
        let secrets = scene.api::<Secret>();
        let made = stream::iter(0..MANY).map(|nth| {
            let secrets = &secrets;
            async move {
                let secret = serde_json::from_value(secret(&format!("stranger-{nth}")))?;
                secrets.create(&PostParams::default(), &secret).await?;
                Outcome::Ok(())
            }
        });
        made.buffer_unordered(AT_ONCE).try_collect::<()>().await
    }

    // Proves: K-029
    #[tokio::test]
    async fn ten_thousand_secrets_that_nobody_names_take_no_look_and_no_memory() -> Outcome {
        let mut cluster = Cluster::own(options()).await?;
        let scene = connected(&cluster, "many").await?;
        let operator = scene.operator().await?;
        bind(&scene, &operator, "first").await?;
        scene.bound("first").await?;
        started_again(&mut cluster, (&scene, &operator), "before").await?;
        let alone = resident(&cluster)?;

        let before = reconciles(&cluster).await?;
        many(&scene).await?;
        let more = reconciles(&cluster).await? - before;
        assert!(more < 5, "{more} reconciles for {MANY} Secrets");

        started_again(&mut cluster, (&scene, &operator), "after").await?;
        let among_many = resident(&cluster)?;
        println!("{alone} KiB resident, {among_many} KiB beside {MANY} Secrets");
        assert!(
            among_many <= alone + ROOM_KIB,
            "{alone} KiB resident became {among_many} KiB"
        );
        Ok(())
    }
}
