//! What holds the content of a claim's namespace, and what is at the claim's directory of it. Data.

use sandgate_shared::api::outside::{WorkspaceSpec, WorkspaceStorage};

/// Who keeps the content of a namespace (C-023, C-024).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Storage {
    /// No workspace owns the namespace.
    #[default]
    Unowned,
    /// More than one workspace names the namespace: whose the content is nobody can say.
    Contested(Vec<String>),
    /// Its workspace has no storage.
    Disabled {
        /// Name of the workspace.
        workspace: String,
    },
    /// Its workspace keeps content on a volume.
    Content(Content),
}

/// The content of the workspace that owns a namespace.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    /// Name of the workspace.
    pub workspace: String,
    /// Name of the PersistentVolumeClaim, in the namespace.
    pub claim: String,
    /// Whether it stands, and is not being deleted.
    pub stands: bool,
    /// What the workspace asks of it.
    pub asked: WorkspaceStorage,
}

impl Storage {
    /// What follows from the workspaces that name the namespace. `name` says how a workspace's claim is
    /// called, and `stands` whether that one does.
    pub fn of(
        owners: Vec<(String, WorkspaceSpec)>,
        name: impl FnOnce(&str) -> String,
        stands: impl FnOnce(&str) -> bool,
    ) -> Self {
        let mut owners = owners.into_iter();
        let Some((workspace, spec)) = owners.next() else {
            return Self::Unowned;
        };
        let others: Vec<String> = owners.map(|(name, _)| name).collect();
        if !others.is_empty() {
            let mut all = [vec![workspace], others].concat();
            all.sort();
            return Self::Contested(all);
        }
        match spec.storage.filter(|storage| storage.enabled == Some(true)) {
            None => Self::Disabled { workspace },
            Some(asked) => {
                let claim = name(&workspace);
                Self::Content(Content {
                    stands: stands(&claim),
                    workspace,
                    claim,
                    asked,
                })
            }
        }
    }

    /// The content, if there is any.
    pub fn content(&self) -> Option<&Content> {
        match self {
            Self::Content(content) => Some(content),
            Self::Unowned | Self::Contested(_) | Self::Disabled { .. } => None,
        }
    }
}

/// What is at a claim's directory, as the operator sees the content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directory {
    /// A directory, which no symbolic link leads to.
    Stands,
    /// Nothing.
    Missing,
    /// A symbolic link, at it or above (M-020).
    Symlink {
        /// The path up to the link, below the workspace's content.
        at: String,
    },
    /// Something that is no directory, at it or above.
    NotDirectory {
        /// The path up to it, below the workspace's content.
        at: String,
    },
    /// The workspace's own directory is not where the layout says, or cannot be looked at now.
    Unseen(String),
}
