//! `Workspace`: the namespace it owns and whether it has storage. Data only.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lenient;

/// What we read of a workspace.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "omnia.altairalabs.ai",
    version = "v1alpha1",
    kind = "Workspace",
    plural = "workspaces",
    doc = "Workspace, as far as sandboxes are concerned. The platform owns this kind."
)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceSpec {
    /// The namespace this workspace owns.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub namespace: Option<WorkspaceNamespace>,
}

/// The namespace a workspace owns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceNamespace {
    /// Name of the namespace.
    pub name: String,
}
