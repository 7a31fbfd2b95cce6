//! `AgentRuntime`: whether sandboxes are enabled, ceilings and grace times. Data only.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ceiling, lenient};

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
    /// Most admitted claims of the runtime (C-008).
    #[serde(default, skip_serializing_if = "Ceiling::is_none")]
    #[schemars(with = "Option<u32>")]
    pub max_concurrent: Ceiling,
    /// Most live claims of one session (C-009).
    #[serde(default, skip_serializing_if = "Ceiling::is_none")]
    #[schemars(with = "Option<u32>")]
    pub max_per_session: Ceiling,
    /// Go duration after which an unused sandbox goes.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub idle_timeout: Option<String>,
}
