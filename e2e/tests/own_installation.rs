//! How Sandgate stands on a cluster of its own: as whom each process asks, and what a test may do to
//! it.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{SelfSubjectReview, UserInfo};
use kube::api::PostParams;
use kube::{Api, Client};
use sandgate_e2e::service::Service;
use sandgate_e2e::{Cluster, Identity, Options, Outcome, OwnCluster, kubeconfig};
use serde_json::{Value, json};

const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const OPERATOR: &str = "system:serviceaccount:sandgate-system:sandgate-controller";

/// How long a process may take to be ready again.
const SOON: Duration = Duration::from_secs(30);

async fn whoami(client: Client) -> Outcome<UserInfo> {
    let reviews: Api<SelfSubjectReview> = Api::all(client);
    let review = reviews
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await?;
    Ok(review
        .status
        .and_then(|status| status.user_info)
        .unwrap_or_default())
}

/// The names of the pods a token says it is bound to.
fn pods(user: &UserInfo) -> Vec<String> {
    user.extra
        .as_ref()
        .and_then(|extra| extra.get(POD_NAME))
        .cloned()
        .unwrap_or_default()
}

fn class(image: &str) -> Value {
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": "SandboxClass",
        "metadata": { "name": "python" },
        "spec": {
            "image": image,
            "ports": [{ "name": "mcp", "port": 8080 }],
            "resources": { "limits": { "cpu": "1", "memory": "64Mi" } },
        },
    })
}

/// The users whose requests the audit log holds.
fn users(cluster: &OwnCluster) -> Outcome<BTreeSet<String>> {
    let log = std::fs::read_to_string(cluster.control_plane.audit_log())?;
    let mut users = BTreeSet::new();
    for line in log.lines() {
        let event: Value = serde_json::from_str(line)?;
        let user = event.pointer("/user/username").and_then(Value::as_str);
        users.insert(user.unwrap_or_default().to_owned());
    }
    Ok(users)
}

/// The arguments and the environment a process was started with.
fn given_to(process: u32) -> Outcome<String> {
    let read = |file: &str| std::fs::read(format!("/proc/{process}/{file}"));
    let bytes = [read("cmdline")?, read("environ")?].concat();
    Ok(String::from_utf8_lossy(&bytes).replace('\0', "\n"))
}

// Proves: X-017
#[tokio::test]
async fn each_process_is_its_own_service_account_and_the_webhook_has_no_credential() -> Outcome {
    let cluster = Cluster::own(Options::default()).await?;

    let file = cluster
        .control_plane
        .folder()
        .join("sandgate-controller-0.kubeconfig");
    let controller = whoami(kubeconfig::client(&file).await?).await?;
    assert_eq!(controller.username.as_deref(), Some(OPERATOR));
    assert_eq!(pods(&controller), ["sandgate-controller-0"]);
    assert!(controller.uid.is_some_and(|uid| !uid.is_empty()));

    // A write that the webhook judged, and then everybody who ever asked the API server.
    let namespace = cluster.namespace("judged").await?;
    namespace
        .accepts(&class("registry.example/python:1"))
        .await?;
    let users = users(&cluster)?;
    assert!(users.contains(OPERATOR), "{users:?}");
    let ours: Vec<_> = users
        .iter()
        .filter(|user| user.contains("sandgate"))
        .collect();
    assert_eq!(ours, [OPERATOR], "the webhook has an account of its own");
    let webhook = cluster.installation.webhook.as_ref().and_then(Service::id);
    let given = given_to(webhook.unwrap_or_default())?;
    assert!(given.contains("sandgate-webhook"), "{given}");
    assert!(!given.to_lowercase().contains("kubeconfig"), "{given}");
    Ok(())
}

#[tokio::test]
async fn a_test_can_ask_as_the_operator_with_and_without_a_pod_and_as_anybody() -> Outcome {
    let cluster = Cluster::own(Options::default()).await?;
    let operator = whoami(cluster.client_as(&Identity::Operator).await?).await?;
    assert_eq!(operator.username.as_deref(), Some(OPERATOR));
    assert_eq!(pods(&operator), ["operator-of-a-test"]);

    let podless = whoami(cluster.client_as(&Identity::OperatorWithoutPod).await?).await?;
    assert_eq!(podless.username.as_deref(), Some(OPERATOR));
    assert!(pods(&podless).is_empty());

    let probe = Identity::ServiceAccount("sandgate-probe".to_owned());
    let probe = whoami(cluster.client_as(&probe).await?).await?;
    let name = "system:serviceaccount:sandgate-system:sandgate-probe";
    assert_eq!(probe.username.as_deref(), Some(name));

    let alice = Identity::User("alice".to_owned());
    let user = whoami(cluster.client_as(&alice).await?).await?;
    assert_eq!(user.username.as_deref(), Some("alice"));
    let namespace = cluster.namespace("alices").await?;
    let alices = namespace.acting_as(&alice).await?;
    alices.accepts(&class("registry.example/python:1")).await?;
    Ok(())
}

#[tokio::test]
async fn a_killed_webhook_fails_closed_and_a_started_one_judges_again() -> Outcome {
    let mut cluster = Cluster::own(Options::default()).await?;
    let namespace = cluster.namespace("webhook").await?;
    let good = class("registry.example/python:1");
    let Some(webhook) = cluster.installation.webhook.as_mut() else {
        return Err(sandgate_e2e::Failure::saying("there is no webhook"));
    };

    webhook.kill();
    assert!(!webhook.is_running());
    let refusal = namespace.would_reject(&good).await?;
    assert!(
        refusal.message.contains("failed calling webhook"),
        "{}",
        refusal.message
    );

    webhook.start()?;
    webhook.answers("/readyz", SOON).await?;
    namespace.accepts(&good).await?;
    Ok(())
}

#[tokio::test]
async fn a_second_controller_starts_beside_the_first_and_ends_when_asked() -> Outcome {
    let mut cluster = Cluster::own(Options::default()).await?;
    let mut second = cluster.second_controller().await?;
    second.service.answers("/readyz", SOON).await?;
    second.service.stop()?;
    assert!(!second.service.is_running());
    cluster.check()
}

#[tokio::test]
async fn a_cluster_without_the_policy_api_starts_all_the_same() -> Outcome {
    let mut options = Options::default();
    options.control_plane.policy_api = false;
    let cluster = Cluster::own(options).await?;
    let said = cluster
        .kubectl(&["api-resources", "-o", "name"], None)
        .await?;
    assert!(said.stdout.contains("sandboxclaims"), "{}", said.stdout);
    assert!(
        !said.stdout.contains("validatingadmissionpolicies"),
        "{}",
        said.stdout
    );
    Ok(())
}
