//! Where the content of a workspace is: how its volume claim is called, and which directory of the
//! volume that all workspaces share is its own (Q66). Pure.

use std::str::FromStr;

use thiserror::Error;

use super::sub_path::SubPath;
use crate::net::label::is_name;

/// What stands for the name of the workspace.
const WORKSPACE: &str = "{workspace}";
/// What stands for the namespace that it owns.
const NAMESPACE: &str = "{namespace}";

/// A text is no name for the content of workspaces.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContentError {
    /// No object could be called so.
    #[error(
        "must be the name of a PersistentVolumeClaim in lower case, in which {WORKSPACE} and {NAMESPACE} stand for names, such as workspace-{WORKSPACE}-content"
    )]
    ClaimName,
    /// No directory of a workspace's own.
    #[error(
        "must be a path relative to the content of all workspaces, in which {WORKSPACE} or {NAMESPACE} stands for a name, such as {NAMESPACE}: without one of them workspaces would share a directory"
    )]
    Layout,
}

/// How the PersistentVolumeClaim of a workspace's content is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentClaimName(String);

impl ContentClaimName {
    /// The name in a namespace, for the workspace that owns it. One that is longer than a name can be is
    /// left to the API server to refuse.
    pub fn of(&self, workspace: &str, namespace: &str) -> String {
        filled(&self.0, workspace, namespace)
    }
}

impl Default for ContentClaimName {
    fn default() -> Self {
        Self(format!("workspace-{WORKSPACE}-content"))
    }
}

impl FromStr for ContentClaimName {
    type Err = ContentError;

    fn from_str(text: &str) -> Result<Self, ContentError> {
        let sound = is_name(&filled(text, "a", "a"));
        sound
            .then(|| Self(text.to_owned()))
            .ok_or(ContentError::ClaimName)
    }
}

/// Which directory of the volume that holds the content of all workspaces is one workspace's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentLayout(String);

impl ContentLayout {
    /// The directory, for the workspace that owns a namespace; none if the names make no path.
    pub fn of(&self, workspace: &str, namespace: &str) -> Option<SubPath> {
        filled(&self.0, workspace, namespace).parse().ok()
    }
}

impl Default for ContentLayout {
    fn default() -> Self {
        Self(NAMESPACE.to_owned())
    }
}

impl FromStr for ContentLayout {
    type Err = ContentError;

    fn from_str(text: &str) -> Result<Self, ContentError> {
        let layout = Self(text.to_owned());
        let own = [WORKSPACE, NAMESPACE]
            .iter()
            .any(|name| text.contains(name));
        let filled = filled(text, "a", "a");
        let sound = own && !filled.contains(['{', '}']) && filled.parse::<SubPath>().is_ok();
        sound.then_some(layout).ok_or(ContentError::Layout)
    }
}

fn filled(text: &str, workspace: &str, namespace: &str) -> String {
    text.replace(WORKSPACE, workspace)
        .replace(NAMESPACE, namespace)
}
