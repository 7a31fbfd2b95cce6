//! What an installation is called and how its webhook is reached. Data only.

use crate::{names, rules::OperatorIdentity};

/// The names that manifests carry.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Helm release, the beginning of every cluster-wide name.
    pub release: String,
    /// Namespace of the operator.
    pub namespace: String,
    /// The controller's ServiceAccount: the operator, as far as admission is concerned.
    pub service_account: String,
    /// Whether the operator must show a token that is bound to a pod.
    pub require_pod_bound_token: bool,
    /// How the API server reaches the webhook.
    pub webhook: WebhookEndpoint,
}

/// How the API server reaches the webhook.
#[derive(Clone, Debug)]
pub enum WebhookEndpoint {
    /// Through a Service of the operator's namespace.
    Service {
        /// Its name.
        name: String,
        /// Its port.
        port: u16,
    },
    /// By URL, `https://127.0.0.1:9443`; the path is appended.
    Url(String),
}

impl Default for Installation {
    fn default() -> Self {
        Self {
            release: "sandgate".to_owned(),
            namespace: "sandgate-system".to_owned(),
            service_account: "sandgate-controller".to_owned(),
            require_pod_bound_token: true,
            webhook: WebhookEndpoint::Service {
                name: "sandgate-webhook".to_owned(),
                port: 443,
            },
        }
    }
}

impl Installation {
    /// The operator as admission sees it.
    pub fn identity(&self) -> OperatorIdentity {
        OperatorIdentity {
            username: format!(
                "system:serviceaccount:{}:{}",
                self.namespace, self.service_account
            ),
            require_pod_bound_token: self.require_pod_bound_token,
        }
    }

    /// The ServiceAccount whose refused dry runs prove the policy (P-029), as admission sees it.
    pub fn probe_username(&self) -> String {
        names::probe_username(&self.release, &self.namespace)
    }

    /// Labels of every object of this installation.
    pub(super) fn labels(&self, component: &str) -> serde_json::Value {
        serde_json::json!({
            "app.kubernetes.io/name": "sandgate",
            names::LABEL_INSTANCE: self.release,
            names::LABEL_PART: component,
        })
    }
}

/// The CEL that recognises the operator. An identity that cannot be written as an expression exempts
/// nobody.
pub(super) fn operator_expression(identity: &OperatorIdentity) -> String {
    identity.expression().unwrap_or_else(|_| "false".to_owned())
}
