//! `ToolRegistry`: which sandboxes a runtime's handles may name. Data only.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lenient;
use crate::api::sandbox_claim::ClassRef;

/// What we read of a tool registry.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "omnia.altairalabs.ai",
    version = "v1alpha1",
    kind = "ToolRegistry",
    plural = "toolregistries",
    namespaced,
    doc = "ToolRegistry, as far as sandboxes are concerned. The platform owns this kind."
)]
#[serde(rename_all = "camelCase")]
pub struct ToolRegistrySpec {
    /// The sandboxes handles may name.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub sandboxes: Option<Vec<RegistrySandbox>>,
}

/// One sandbox a handle may name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistrySandbox {
    /// First segment of a handle.
    pub name: String,
    /// The class its claims name.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub class: Option<ClassRef>,
}
