//! Who asks: administrators, ordinary users, and the operator with the token a kubelet would give
//! it. Does I/O.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::background;
use crate::fake_node::NODE;
use crate::folders::{self, FolderError};
use crate::kubeconfig::{self, KubeconfigError};

/// What the API server is asked for; it may grant less, never more.
const LIFETIME: Duration = Duration::from_hours(1);

/// As a kubelet does it: well before the token ends.
const RENEW_EVERY: Duration = Duration::from_mins(20);

/// Group of [`Identity::User`], which may write all of Sandgate's kinds.
pub const EDITORS: &str = "sandgate.dev/editors";

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// `system:masters`, by certificate: has every right, but is not the operator.
    Administrator,
    /// The controller's ServiceAccount with a token bound to a pod.
    Operator,
    /// The controller's ServiceAccount with a token bound to nothing, as `kubectl create token` gives.
    OperatorWithoutPod,
    /// The controller's ServiceAccount in every particular, by an administrator who may impersonate
    /// anybody. For where a token bound to a pod ends with it, or no fake node keeps one for it.
    ImpersonatedOperator,
    /// Another ServiceAccount of the operator's namespace, with a token bound to nothing.
    ServiceAccount(String),
    /// Somebody with this name who may write all of Sandgate's kinds.
    User(String),
}

/// Why an identity could not be had.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The placeholder pod could not be made.
    #[error("failed to make the pod {pod} that a token is bound to")]
    Pod {
        /// Its name.
        pod: String,
        /// What the API server said.
        #[source]
        source: kube::Error,
    },
    /// No token was given.
    #[error("failed to get a token for the ServiceAccount {0}")]
    Token(String, #[source] kube::Error),
    /// The API server answered without a token.
    #[error("the API server gave no token for the ServiceAccount {0}")]
    Empty(String),
    /// The token could not be written.
    #[error("failed to keep a token")]
    File(#[from] FolderError),
    /// A client could not be made.
    #[error(transparent)]
    Client(#[from] KubeconfigError),
    /// The thread that renews tokens could not start.
    #[error("failed to start renewing a token")]
    Background(#[source] std::io::Error),
}

/// Makes the pod as whose process somebody will act, on the fake node; an existing one is used.
pub async fn placeholder(
    client: &Client,
    namespace: &str,
    account: &str,
    pod: &str,
) -> Result<Pod, IdentityError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let manifest = serde_json::from_value(json!({
        "metadata": { "name": pod, "labels": { "sandgate.dev/placeholder": "true" } },
        "spec": {
            "serviceAccountName": account,
            "automountServiceAccountToken": false,
            // Bound at once: no scheduler is needed for a process that runs elsewhere.
            "nodeName": NODE,
            "containers": [{ "name": "placeholder", "image": "sandgate.dev/placeholder:1" }],
        },
    }))
    .unwrap_or_default();
    let failed = |source| IdentityError::Pod {
        pod: pod.to_owned(),
        source,
    };
    match pods.create(&PostParams::default(), &manifest).await {
        Ok(pod) => Ok(pod),
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            pods.get(pod).await.map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

/// A token of `account`, bound to `pod` if there is one.
pub async fn token(
    client: &Client,
    namespace: &str,
    account: &str,
    pod: Option<&Pod>,
) -> Result<String, IdentityError> {
    let request = TokenRequest {
        spec: TokenRequestSpec {
            expiration_seconds: i64::try_from(LIFETIME.as_secs()).ok(),
            bound_object_ref: pod.map(|pod| BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                name: Some(pod.name_any()),
                uid: pod.uid(),
            }),
            ..TokenRequestSpec::default()
        },
        ..TokenRequest::default()
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let answer: TokenRequest = accounts
        .create_subresource("token", account, &PostParams::default(), &request)
        .await
        .map_err(|source| IdentityError::Token(account.to_owned(), source))?;
    answer
        .status
        .map(|status| status.token)
        .filter(|token| !token.is_empty())
        .ok_or_else(|| IdentityError::Empty(account.to_owned()))
}

/// A file with a pod-bound token that stays valid while this value lives.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    renewal: JoinHandle<()>,
}

impl TokenFile {
    /// Makes the pod, writes its first token to `path`, and renews it in the background as the
    /// administrator of `kubeconfig`.
    pub async fn keep(
        client: &Client,
        kubeconfig: &Path,
        (namespace, account, pod): (&str, &str, &str),
        path: &Path,
    ) -> Result<Self, IdentityError> {
        let pod = placeholder(client, namespace, account, pod).await?;
        folders::write_private(path, &token(client, namespace, account, Some(&pod)).await?)?;
        let (namespace, account) = (namespace.to_owned(), account.to_owned());
        let (kubeconfig, file) = (kubeconfig.to_owned(), path.to_owned());
        let renewal = background::handle()
            .map_err(IdentityError::Background)?
            .spawn(async move {
                let mut turn = tokio::time::interval(RENEW_EVERY);
                turn.tick().await;
                loop {
                    turn.tick().await;
                    // One failure leaves the old token good for two more turns.
                    if let Ok(client) = kubeconfig::client(&kubeconfig).await
                        && let Ok(token) = token(&client, &namespace, &account, Some(&pod)).await
                    {
                        drop(folders::write_private(&file, &token));
                    }
                }
            });
        Ok(Self {
            path: path.to_owned(),
            renewal,
        })
    }

    /// Where the token is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}
