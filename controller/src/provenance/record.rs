//! The record of the policy's first refusal: a `ConfigMap` of its own for each pair of policy and
//! binding, made once and never changed (P-029). Pure.

use k8s_openapi::jiff::Timestamp;
use kube::core::DynamicObject;
use sandgate_shared::names;
use sandgate_shared::trust::Stood;
use serde_json::json;

use crate::kind::Kind;

/// A record that is not what the operator writes.
#[derive(Debug, thiserror::Error)]
#[error(
    "ConfigMap {name} in namespace {namespace} is not the operator's record of policy and binding: delete it, and it is made anew"
)]
pub(super) struct NotOurs {
    name: String,
    namespace: String,
}

/// The record of a pair called `policy`. It goes with the policy, which owns it.
pub(super) fn object(release: &str, namespace: &str, policy: &str, stood: &Stood) -> DynamicObject {
    let name = stood.record_name(release);
    let mut object = DynamicObject::new(&name, &Kind::ConfigMap.resource())
        .within(namespace)
        .data(json!({"immutable": true, "data": stood.record()}));
    let labels = [
        (names::LABEL_INSTANCE, release),
        (names::LABEL_MANAGED_BY, names::MANAGED_BY),
    ];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    object.metadata.labels = Some(labels.into_iter().collect());
    let owner = json!([{
        "apiVersion": Kind::ValidatingAdmissionPolicy.api_version(),
        "kind": Kind::ValidatingAdmissionPolicy.as_str(),
        "name": policy,
        "uid": stood.policy,
    }]);
    object.metadata.owner_references = serde_json::from_value(owner).ok();
    object
}

/// When the first refusal was recorded, by the API server's clock.
///
/// # Errors
/// The object is no record of this pair, or could still be changed.
pub(super) fn read(object: &DynamicObject, stood: &Stood) -> Result<Timestamp, NotOurs> {
    let holds = object.data.get("data") == Some(&json!(stood.record()))
        && object.data.get("immutable") == Some(&json!(true));
    let created = object.metadata.creation_timestamp.as_ref();
    created.filter(|_| holds).map_or_else(
        || {
            Err(NotOurs {
                name: object.metadata.name.clone().unwrap_or_default(),
                namespace: object.metadata.namespace.clone().unwrap_or_default(),
            })
        },
        |created| Ok(created.0),
    )
}
