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
    /// What the workspace keeps its content on.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub storage: Option<WorkspaceStorage>,
}

/// What a workspace keeps its content on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceStorage {
    /// Unset or false: the workspace has no content (C-024).
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub enabled: Option<bool>,
    /// The StorageClass of the volume; the cluster's default if unset.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub storage_class: Option<String>,
    /// How much is asked for, such as 10Gi.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub size: Option<String>,
    /// How the volume is shared; ReadWriteMany if unset.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub access_modes: Option<Vec<String>>,
}

/// The namespace a workspace owns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceNamespace {
    /// Name of the namespace.
    pub name: String,
}
