//! Who the operator is, as an expression that every layer can state. Pure.

use thiserror::Error;

/// What the API server says of a token that is bound to a pod: the one pod's name.
const POD_NAME: &str = "authentication.kubernetes.io/pod-name";

/// The operator's ServiceAccount, and how much of it a request must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorIdentity {
    /// `system:serviceaccount:<namespace>:<name>`.
    pub username: String,
    /// Demand a token bound to one pod. A token minted by hand then does not pass; leave it on unless
    /// the cluster's tokens carry no pod.
    pub require_pod_bound_token: bool,
}

/// Why a user name cannot be the operator's.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "operator user name {username:?} is not system:serviceaccount:<namespace>:<name>; give the controller's ServiceAccount"
)]
pub struct IdentityError {
    username: String,
}

impl OperatorIdentity {
    /// The CEL expression, over `request`, that is true for the operator and for nobody else (W-018,
    /// P-004). Each read is guarded: an absent field would be an error and an ugly refusal.
    ///
    /// # Errors
    /// When the user name is not a ServiceAccount's; a quote in it would end the CEL string.
    pub fn expression(&self) -> Result<String, IdentityError> {
        let refuse = || IdentityError {
            username: self.username.clone(),
        };
        let account = self
            .username
            .strip_prefix("system:serviceaccount:")
            .ok_or_else(refuse)?;
        let (namespace, name) = account.split_once(':').ok_or_else(refuse)?;
        let plain = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b))
        };
        if !plain(namespace) || !plain(name) {
            return Err(refuse());
        }
        let mut terms = vec![
            "has(request.userInfo.username)".to_owned(),
            format!("request.userInfo.username == '{}'", self.username),
            "has(request.userInfo.uid) && request.userInfo.uid != ''".to_owned(),
            "has(request.userInfo.groups)".to_owned(),
            "'system:serviceaccounts' in request.userInfo.groups".to_owned(),
            format!("'system:serviceaccounts:{namespace}' in request.userInfo.groups"),
        ];
        if self.require_pod_bound_token {
            let pods = format!("request.userInfo.extra['{POD_NAME}']");
            terms.push("has(request.userInfo.extra)".to_owned());
            terms.push(format!("'{POD_NAME}' in request.userInfo.extra"));
            terms.push(format!("{pods}.size() == 1"));
            terms.push(format!("{pods}.all(pod, pod != '')"));
        }
        Ok(terms.join(" && "))
    }
}
