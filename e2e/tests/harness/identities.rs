//! Who the harness's identities are to the API server.

use k8s_openapi::api::authentication::v1::{SelfSubjectReview, UserInfo};
use kube::api::PostParams;
use kube::{Api, Client};
use sandgate_e2e::{Cluster, Identity, Outcome};
use serde_json::{Value, json};

const POD_NAME: &str = "authentication.kubernetes.io/pod-name";

/// The operator's user name.
pub const OPERATOR: &str = "system:serviceaccount:sandgate-system:sandgate-controller";

/// Whom the API server takes the bearer of `client` for.
pub async fn whoami(client: Client) -> Outcome<UserInfo> {
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
pub fn pods(user: &UserInfo) -> Vec<String> {
    user.extra
        .as_ref()
        .and_then(|extra| extra.get(POD_NAME))
        .cloned()
        .unwrap_or_default()
}

/// A class that is admitted, written by whoever may write classes.
pub fn class() -> Value {
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": "SandboxClass",
        "metadata": { "name": "python" },
        "spec": {
            "image": "registry.example/python:1",
            "ports": [{ "name": "mcp", "port": 8080 }],
            "resources": { "limits": { "cpu": "1", "memory": "64Mi" } },
        },
    })
}

#[tokio::test]
async fn a_test_can_ask_as_the_operator_with_and_without_a_pod_and_as_anybody() -> Outcome {
    let cluster = Cluster::shared().await?;
    let operator = whoami(cluster.client_as(&Identity::Operator).await?).await?;
    assert_eq!(operator.username.as_deref(), Some(OPERATOR));
    assert_eq!(pods(&operator), ["operator-of-a-test"]);

    let podless = whoami(cluster.client_as(&Identity::OperatorWithoutPod).await?).await?;
    assert_eq!(podless.username.as_deref(), Some(OPERATOR));
    assert!(pods(&podless).is_empty());

    let probe = Identity::ServiceAccount("sandgate-policy-probe".to_owned());
    let probe = whoami(cluster.client_as(&probe).await?).await?;
    let name = "system:serviceaccount:sandgate-system:sandgate-policy-probe";
    assert_eq!(probe.username.as_deref(), Some(name));

    let alice = Identity::User("alice".to_owned());
    let user = whoami(cluster.client_as(&alice).await?).await?;
    assert_eq!(user.username.as_deref(), Some("alice"));
    let namespace = cluster.namespace("alices").await?;
    let alices = namespace.acting_as(&alice).await?;
    alices.accepts(&class()).await?;
    Ok(())
}
