//! Test hosts, which in-cluster Services stand for.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use kube::api::PostParams;
use sandgate_e2e::scene::manifests::hosts;
use sandgate_e2e::scene::{Scene, condition};
use sandgate_e2e::{Cluster, Outcome};
use sandgate_shared::api::{Connection, SandboxClaim};
use serde_json::{Value, json};

use super::{bind, lets_through, scene, variable};
use crate::options;

const SPKI: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
/// Where the fixture is; a namespace that is there from the beginning.
const NAMESPACE: &str = "default";

async fn says(scene: &Scene, reason: &str) -> Outcome<String> {
    let sentence = format!("says InsecureEgressTestHosts / {reason}");
    let claim = scene
        .becomes("agent", &sentence, |claim: &SandboxClaim| {
            condition(claim, "InsecureEgressTestHosts")
                .is_some_and(|(holds, told, _)| holds == "True" && told == reason)
        })
        .await?;
    Ok(condition(&claim, "InsecureEgressTestHosts")
        .unwrap()
        .2
        .to_owned())
}

fn pins(deployment: &Deployment) -> Vec<String> {
    let deployment = serde_json::to_value(deployment).unwrap();
    let args = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    let args: Vec<String> = serde_json::from_value(args.clone()).unwrap();
    args.into_iter()
        .filter(|arg| arg.contains("insecure"))
        .collect()
}

fn trusts(deployment: &Deployment) -> bool {
    let deployment: Value = serde_json::to_value(deployment).unwrap();
    variable(&deployment, "OMNIA_INSECURE_TEST_SPKI") == Some(SPKI)
}

// Proves: E-028, E-029, E-030, E-032, E-033, E-034, E-035, E-036, O-034
#[tokio::test]
async fn a_test_host_is_waited_for_pinned_and_trusted_only_where_nothing_else_is_reached() -> Outcome
{
    let mut options = options();
    let flags = [
        format!(
            "--sandbox-egress-insecure-test-hosts=login.fixture.test={NAMESPACE}/login-fixture"
        ),
        format!("--sandbox-egress-insecure-test-spki={SPKI}"),
        "--sandbox-egress-acknowledge-insecure-test-only".to_owned(),
    ];
    options.installation.controller_arguments.extend(flags);
    let cluster = Cluster::own(options).await?;
    let scene = scene(&cluster, "fixtures").await?;
    scene
        .accepts(&hosts("site", &["login.fixture.test"]))
        .await?;
    bind(&scene.operator().await?, "agent", &["site"]).await?;
    let message = says(&scene, "InsecureEgressTestFixtureUnresolved").await?;
    assert!(message.contains("login.fixture.test"), "{message}");
    lets_through(&scene, &[]).await?;

    let service = serde_json::from_value(json!({
        "metadata": { "name": "login-fixture" },
        "spec": {
            "selector": { "app": "login" },
            "ports": [{ "name": "https", "port": 443, "targetPort": 8443 }],
        },
    }))?;
    let services: Api<Service> = Api::namespaced(cluster.client(), NAMESPACE);
    let made = services.create(&PostParams::default(), &service).await?;
    let address = made.spec.and_then(|spec| spec.cluster_ip).unwrap();
    let pinned = format!("-insecure-test-hosts=login.fixture.test={address}");
    scene
        .becomes("agent-egress", "dials the test host", |it: &Deployment| {
            pins(it) == [pinned.clone(), "-acknowledge-insecure-test-only".to_owned()]
        })
        .await?;
    lets_through(&scene, &["login.fixture.test"]).await?;
    says(&scene, "InsecureEgressTestHostsEnabled").await?;
    let policy = scene.get::<NetworkPolicy>("agent-egress").await?;
    let rules = policy["spec"]["egress"].as_array().unwrap();
    assert_eq!(
        rules.last().unwrap(),
        &json!({
            "to": [{
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": NAMESPACE } },
                "podSelector": { "matchLabels": { "app": "login" } },
            }],
            "ports": [{ "port": 8443, "protocol": "TCP" }],
        })
    );
    assert!(
        !policy.to_string().contains(&address),
        "no rule for the cluster IP"
    );
    scene.bound("agent").await?;
    scene
        .becomes("agent-sandbox", "trusts the fixtures' key", trusts)
        .await?;

    // A real host comes: the switch stays, the trust goes.
    let edit = json!({ "spec": { "hosts": ["login.fixture.test", "api.github.com"] } });
    scene.merge::<Connection>("site", edit).await?;
    let message = says(&scene, "InsecureEgressTestSPKIWithheld").await?;
    assert!(message.contains("api.github.com"), "{message}");
    scene
        .becomes("agent-sandbox", "trusts no key", |it: &Deployment| {
            !trusts(it)
        })
        .await?;
    lets_through(&scene, &["api.github.com", "login.fixture.test"]).await?;

    // The test host goes, and with it what is said of it.
    let edit = json!({ "spec": { "hosts": ["api.github.com"] } });
    scene.merge::<Connection>("site", edit).await?;
    scene
        .becomes("agent", "says that it has none", |claim: &SandboxClaim| {
            let told = condition(claim, "InsecureEgressTestHosts");
            told.is_some_and(|it| (it.0, it.1) == ("False", "NoInsecureEgressTestHosts"))
        })
        .await?;
    Ok(())
}
