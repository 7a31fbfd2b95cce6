//! What was read of the cluster. Pure.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::Value;

use super::rbac::Rbac;
use super::site::Site;

/// Everything that is judged.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Version of the API server.
    pub kubernetes: String,
    /// The installation.
    pub site: Site,
    /// The operator's Deployment.
    pub deployment: Deployment,
    /// The pods of its namespace.
    pub pods: Vec<Pod>,
    /// Who may do what.
    pub rbac: Rbac,
    /// CustomResourceDefinitions.
    pub kinds: Vec<Value>,
    /// ValidatingAdmissionPolicies; `None` where the API server does not serve them.
    pub policies: Option<Vec<Value>>,
    /// Their bindings.
    pub policy_bindings: Option<Vec<Value>>,
    /// MutatingWebhookConfigurations.
    pub mutating: Vec<Value>,
    /// ValidatingWebhookConfigurations.
    pub validating: Vec<Value>,
    /// MutatingAdmissionPolicies, where they are served.
    pub mutating_policies: Vec<Value>,
    /// Metadata of the Secrets that hold tokens of the operator's ServiceAccount.
    pub token_secrets: Vec<String>,
    /// The ConfigMaps of the operator's namespace.
    pub config_maps: Vec<ConfigMap>,
}

impl Facts {
    /// Name of the operator's Deployment.
    pub fn operator(&self) -> &str {
        self.deployment.metadata.name.as_deref().unwrap_or_default()
    }
}

/// Name of an object.
pub fn name(object: &Value) -> &str {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default()
}

/// The object of this name.
pub fn named<'a>(objects: &'a [Value], wanted: &str) -> Option<&'a Value> {
    objects.iter().find(|object| name(object) == wanted)
}

/// Value of a label.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    let labels = object.pointer("/metadata/labels")?;
    labels.get(key)?.as_str()
}

/// The items of a list at `pointer`; none if there is no list.
pub fn items<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    let found = object.pointer(pointer).and_then(Value::as_array);
    found.map(Vec::as_slice).unwrap_or_default()
}
