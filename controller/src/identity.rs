//! Whom the API server takes us for. Does I/O.
//!
//! Admission lets the operator's identity alone write a claim's status. A controller that runs as
//! somebody else would work up to its first status write and then puzzle people; it says so at start.

use std::collections::BTreeMap;

use kube::core::DynamicObject;
use serde_json::json;

use crate::api_server::{ApiServer, CallError};
use crate::cause::Chain;
use crate::kind::Kind;

/// What admission looks for in the operator's user.
const POD_NAME: &str = "authentication.kubernetes.io/pod-name";

/// Logs an error if admission will not take this process for the operator. A server that does not
/// tell is no reason for alarm.
pub async fn check(api: &ApiServer, expected: &str, pod_bound: bool) {
    match user(api).await {
        Ok(user) => {
            if let Some(mismatch) = mismatch(&user, expected, pod_bound) {
                tracing::error!("{mismatch}");
            }
        }
        Err(error) => {
            let error = Chain(&error);
            tracing::info!(%error, "could not ask the API server who we are");
        }
    }
}

/// A user, as far as admission is concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct User {
    name: String,
    pod: Option<String>,
}

async fn user(api: &ApiServer) -> Result<User, CallError> {
    let kind = Kind::SelfSubjectReview;
    let review = DynamicObject::new("", &kind.resource()).data(json!({}));
    let answer = api.create(kind, None, &review).await?;
    let info = answer
        .data
        .pointer("/status/userInfo")
        .cloned()
        .unwrap_or_default();
    let extra: BTreeMap<String, Vec<String>> =
        serde_json::from_value(info.get("extra").cloned().unwrap_or_default()).unwrap_or_default();
    let name = info
        .get("username")
        .and_then(|name| name.as_str())
        .unwrap_or_default();
    Ok(User {
        name: name.to_owned(),
        pod: extra.get(POD_NAME).and_then(|pods| pods.first().cloned()),
    })
}

fn mismatch(user: &User, expected: &str, pod_bound: bool) -> Option<String> {
    if user.name != expected {
        return Some(format!(
            "running as {:?}, but --namespace and --service-account name {expected:?}: admission \
             will refuse what the operator alone may write",
            user.name
        ));
    }
    (pod_bound && user.pod.is_none()).then(|| {
        "the token is not bound to a pod, but --require-pod-bound-token is true: admission will \
         refuse what the operator alone may write; use a projected token, or set the flag to false \
         here and in the webhook"
            .to_owned()
    })
}

#[cfg(test)]
mod tests;
