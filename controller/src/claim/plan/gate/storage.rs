//! Whether the workspace of the claim's namespace keeps content, and whether its volume claim is there
//! (C-023, C-024, Q64). Pure.

use sandgate_shared::reason;

use crate::claim::{
    observed::{Observed, Storage},
    plan::{Finding, Settings, workspace_volume::mounted},
};

/// Why the claim will never have a directory: it mounts one, and nothing keeps content here (C-024).
pub(super) fn never(observed: &Observed, settings: &Settings) -> Option<Finding> {
    mounted(observed)?;
    let provided = match observed.storage.content() {
        None => false,
        Some(content) => content.stands || settings.content.provision,
    };
    (!provided).then(|| none(observed))
}

/// What is said where nothing keeps the content of the claim's namespace.
pub(in crate::claim::plan) fn none(observed: &Observed) -> Finding {
    let namespace = observed.claim.metadata.namespace.as_deref();
    let namespace = namespace.unwrap_or_default();
    let why = match &observed.storage {
        Storage::Unowned => format!(
            "the class has a workspace, and no Workspace owns namespace {namespace}: make one whose spec.namespace.name it is"
        ),
        Storage::Contested(names) => format!(
            "the class has a workspace, and Workspaces {} all name namespace {namespace}, so none of them is taken: leave it to one",
            names.join(", ")
        ),
        Storage::Disabled { workspace } => format!(
            "the class has a workspace, and Workspace {workspace} has no storage: set its spec.storage.enabled to true"
        ),
        Storage::Content(content) => format!(
            "the class has a workspace, PersistentVolumeClaim {} does not exist, and this installation makes none: make it",
            content.claim
        ),
    };
    Finding {
        reason: reason::NO_WORKSPACE_STORAGE,
        message: format!(
            "{why}, or name a class without filesystem.workspace; then make the claim again"
        ),
    }
}

/// What the claim waits for until its directory can be mounted (C-023).
pub(super) fn awaited(observed: &Observed) -> Option<Finding> {
    mounted(observed)?;
    let content = observed
        .storage
        .content()
        .filter(|content| !content.stands)?;
    let message = match content.asked.size {
        Some(_) => format!(
            "PersistentVolumeClaim {} of Workspace {} is not there yet; it is made, and the sandbox once it stands",
            content.claim, content.workspace
        ),
        None => format!(
            "PersistentVolumeClaim {} of Workspace {} does not exist and cannot be made: set the Workspace's spec.storage.size, such as 10Gi",
            content.claim, content.workspace
        ),
    };
    Some(waiting(message))
}

/// Said of whatever is awaited of a volume.
pub(super) fn waiting(message: String) -> Finding {
    Finding {
        reason: reason::WAITING_FOR_STORAGE,
        message,
    }
}
