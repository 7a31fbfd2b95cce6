//! Where the content of workspaces is. Pure.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use sandgate_shared::mounts::{ContentClaimName, ContentLayout};

use super::seconds;
use crate::claim::gather::ContentRoot;
use crate::claim::plan::ContentSettings;

/// Where the content of workspaces is, and whether its volume claims are made.
#[derive(Clone, Debug, Args)]
pub struct ContentFlags {
    /// Where the content of all workspaces is mounted. Without it only scratch directories can be
    /// mounted, which the kubelet makes.
    #[arg(
        long = "workspace-content-path",
        env = "SANDGATE_WORKSPACE_CONTENT_PATH",
        value_name = "DIR"
    )]
    pub path: Option<PathBuf>,
    /// Which directory of it is a workspace's: a relative path in which {namespace} or {workspace}
    /// stands for a name.
    #[arg(
        long = "workspace-content-layout",
        env = "SANDGATE_WORKSPACE_CONTENT_LAYOUT",
        default_value = "{namespace}",
        value_name = "PATH"
    )]
    pub layout: ContentLayout,
    /// What the PersistentVolumeClaim of a workspace's content is called, in the namespace it owns;
    /// {namespace} and {workspace} stand for names.
    #[arg(
        long = "workspace-content-claim",
        env = "SANDGATE_WORKSPACE_CONTENT_CLAIM",
        default_value = "workspace-{workspace}-content",
        value_name = "NAME"
    )]
    pub claim: ContentClaimName,
    /// Whether such a claim is made where it does not exist.
    #[arg(
        long = "workspace-content-provision",
        env = "SANDGATE_WORKSPACE_CONTENT_PROVISION",
        default_value_t = true,
        action = ArgAction::Set,
        value_name = "true|false"
    )]
    pub provision: bool,
    /// How often the directory of a running sandbox is looked at, in whole seconds such as 60s.
    #[arg(
        long = "workspace-recheck",
        env = "SANDGATE_WORKSPACE_RECHECK",
        default_value = "60s",
        value_parser = seconds,
        value_name = "DURATION"
    )]
    pub recheck: Duration,
}

impl ContentFlags {
    /// What a claim's plan needs to know.
    pub fn settings(&self) -> ContentSettings {
        ContentSettings {
            claim_name: self.claim.clone(),
            provision: self.provision,
            reachable: self.path.is_some(),
            recheck: self.recheck,
        }
    }

    /// Where the operator sees the content, if it does.
    pub fn root(&self) -> Option<ContentRoot> {
        Some(ContentRoot {
            path: self.path.clone()?,
            layout: self.layout.clone(),
        })
    }
}
