//! `AgentRuntime`: whether sandboxes are enabled, ceilings and grace times. Data only.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lenient;

/// What we read of an agent runtime.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "omnia.altairalabs.ai",
    version = "v1alpha1",
    kind = "AgentRuntime",
    plural = "agentruntimes",
    namespaced,
    doc = "AgentRuntime, as far as sandboxes are concerned. The platform owns this kind."
)]
#[serde(rename_all = "camelCase")]
pub struct AgentRuntimeSpec {
    /// What the runtime may do with sandboxes.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub sandbox: Option<RuntimeSandbox>,
}

/// What a runtime may do with sandboxes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeSandbox {
    /// Unset or false fails the runtime's claims (C-002).
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub enabled: Option<bool>,
    /// Most admitted claims of the runtime; unset is no limit.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_concurrent: Option<i32>,
    /// Most live claims of one session; unset is no limit.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_per_session: Option<i32>,
    /// Go duration after which an unused sandbox goes.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub idle_timeout: Option<String>,
}
