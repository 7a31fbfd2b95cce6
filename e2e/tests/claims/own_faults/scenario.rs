//! What is done around the claim [`CLAIM`], and what a controller writes of it.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::DeleteParams;
use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::{Connection, SandboxClaim, SandboxClass};
use serde_json::json;

use super::content::Content;
use crate::manifests::{self, claim_with, class_with, with_workspace};
use crate::queue::{self, limited};
use crate::scene::{Scene, condition};

/// Whose fate is looked at.
pub const CLAIM: &str = "plain";

/// One of them; each is of a namespace of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// The first claim of a namespace is made.
    Built,
    /// A claim is made beyond a limit.
    Held,
    /// A place is left: of two that wait, the older one is let in.
    LetIn,
    /// A claim is made that mounts a directory of its workspace.
    Mounted,
    /// A claim is made that gets a variable and a file from a Connection.
    Connected,
    /// The same is bound, and what its credential comes from goes.
    Revoked(Gone),
    /// The class of a claim goes before its first bind.
    Failed,
}

/// What goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    Connection,
    Secret,
    Key,
}

impl Scenario {
    /// What a controller writes of it, in order.
    pub fn writes(self) -> &'static [&'static str] {
        match self {
            Self::Built => &[
                "PATCH sandboxclaims/status",
                "POST events",
                "POST networkpolicies",
                "POST networkpolicies",
                "POST services",
                "POST deployments",
                "PATCH sandboxclaims/status",
                "POST events",
            ],
            Self::Held => &["PATCH sandboxclaims/status", "POST events"],
            // The baseline stands: another claim was there.
            Self::LetIn => &[
                "PATCH sandboxclaims/status",
                "POST events",
                "POST networkpolicies",
                "POST services",
                "POST deployments",
                "PATCH sandboxclaims/status",
                "POST events",
            ],
            // The volume claim first, which the watch has to show then.
            Self::Mounted => &[
                "PATCH sandboxclaims/status",
                "POST events",
                "POST persistentvolumeclaims",
                "PATCH sandboxclaims/status",
                "POST events",
                "POST networkpolicies",
                "POST networkpolicies",
                "POST services",
                "POST deployments",
                "PATCH sandboxclaims/status",
                "POST events",
            ],
            // The egress proxy first, which the sandbox is told of.
            Self::Connected => &[
                "PATCH sandboxclaims/status",
                "POST events",
                "POST secrets",
                "POST networkpolicies",
                "POST networkpolicies",
                "POST configmaps",
                "POST services",
                "POST deployments",
                "POST networkpolicies",
                "POST services",
                "POST deployments",
                "PATCH sandboxclaims/status",
                "POST events",
            ],
            // And then the rest of its egress proxy, and what becomes of pods, whose number is nobody's to
            // know.
            Self::Revoked(_) => &[
                "PUT deployments",
                "DELETE secrets",
                "PUT networkpolicies",
                "PATCH sandboxclaims/status",
                "POST events",
                "DELETE deployments",
            ],
            Self::Failed => &[
                "PATCH sandboxclaims/status",
                "POST events",
                "DELETE deployments",
                "DELETE services",
                "DELETE networkpolicies",
            ],
        }
    }

    /// Whether it needs the controller to know who wrote a claim.
    pub fn needs_proof(self) -> bool {
        matches!(self, Self::Mounted | Self::Connected | Self::Revoked(_))
    }

    /// Puts in place what stands before.
    pub async fn stage(self, scene: Scene, content: &Content) -> Outcome<Scene> {
        match self {
            Self::Built => {
                scene
                    .accepts(&manifests::class("box", Stage::Ready))
                    .await?;
                Ok(scene)
            }
            Self::Held => {
                let scene = limited(scene, json!({ "maxConcurrent": 1 })).await?;
                queue::claims(&scene, &["first"]).await?;
                scene.told("first", "SandboxReady").await?;
                Ok(scene)
            }
            Self::LetIn => {
                let scene = Box::pin(Self::Held.stage(scene, content)).await?;
                queue::claims(&scene, &[CLAIM, "plain-younger"]).await?;
                scene.queued(CLAIM, "CeilingReached").await?;
                scene.queued("plain-younger", "CeilingReached").await?;
                for waits in [CLAIM, "plain-younger"] {
                    scene.told(waits, "CeilingReached").await?;
                }
                Ok(scene)
            }
            Self::Mounted => {
                scene.with_content().await?;
                content.of_workspace(&scene)?;
                let class = with_workspace(manifests::class("box", Stage::Ready));
                scene.accepts(&class).await?;
                Ok(scene)
            }
            Self::Connected => {
                let class = json!({
                    "env": [{ "name": "HOME", "value": "/home/agent" }],
                    "connections": [{ "role": "vcs" }],
                });
                scene
                    .accepts(&class_with("box", Stage::Ready, &class))
                    .await?;
                let placement = json!({
                    "env": [{ "name": "GH_TOKEN", "key": "token" }],
                    "files": [{ "path": ".token", "template": "token: {{ .token }}\n" }],
                });
                scene
                    .accepts(&manifests::secret("github", "of-the-forge"))
                    .await?;
                scene
                    .accepts(&manifests::connection("github", &placement))
                    .await?;
                Ok(scene)
            }
            Self::Revoked(_) => {
                let scene = Box::pin(Self::Connected.stage(scene, content)).await?;
                Self::Connected.begin(&scene).await?;
                scene.told(CLAIM, "SandboxReady").await?;
                Ok(scene)
            }
            Self::Failed => {
                scene
                    .accepts(&manifests::class("never", Stage::NeverReady))
                    .await?;
                let claim = claim_with(CLAIM, "never", &json!({}));
                scene.user().accepts(&claim).await?;
                scene
                    .becomes("plain-sandbox", "has its pod", |it: &Deployment| {
                        it.status.as_ref().and_then(|status| status.replicas) == Some(1)
                    })
                    .await?;
                Ok(scene)
            }
        }
    }

    /// Does what a controller has to answer.
    pub async fn begin(self, scene: &Scene) -> Outcome {
        let how = DeleteParams::default();
        match self {
            Self::Built => {
                let claim = manifests::claim(CLAIM, "box");
                scene.user().accepts(&claim).await?;
            }
            Self::Held => queue::claims(scene, &[CLAIM]).await?,
            Self::LetIn => queue::delete(scene, "first").await?,
            Self::Mounted => {
                let session = json!({ "mounts": [{ "role": "session" }], "handle": "box/default" });
                let claim = claim_with(CLAIM, "box", &session);
                scene.operator().await?.accepts(&claim).await?;
            }
            Self::Connected => {
                let binds = json!({ "connections": [{ "role": "vcs", "connection": "github" }] });
                let claim = claim_with(CLAIM, "box", &binds);
                scene.operator().await?.accepts(&claim).await?;
            }
            Self::Revoked(Gone::Connection) => {
                scene.api::<Connection>().delete("github", &how).await?;
            }
            Self::Revoked(Gone::Secret) => {
                scene.api::<Secret>().delete("github-secret", &how).await?;
            }
            Self::Revoked(Gone::Key) => {
                let without = json!({ "data": { "token": null } });
                scene.merge::<Secret>("github-secret", without).await?;
            }
            Self::Failed => {
                scene.api::<SandboxClass>().delete("never", &how).await?;
            }
        }
        Ok(())
    }

    /// Waits for its end.
    pub async fn ends(self, scene: &Scene) -> Outcome {
        match self {
            Self::Built | Self::LetIn | Self::Mounted | Self::Connected => {
                scene.bound(CLAIM).await?;
            }
            Self::Held => {
                scene.queued(CLAIM, "CeilingReached").await?;
            }
            Self::Revoked(_) => {
                scene
                    .becomes(CLAIM, "says that a credential is gone", |claim| {
                        let current = condition(claim, "ConnectionsCurrent");
                        current.is_some_and(|(status, ..)| status == "False")
                    })
                    .await
                    .map(drop::<SandboxClaim>)?;
                scene
                    .vanishes::<Secret>("plain-sandbox-connections")
                    .await?;
                scene
                    .becomes("plain-sandbox", "has rolled", has_rolled)
                    .await?;
                scene.bound(CLAIM).await?;
            }
            Self::Failed => {
                scene.failed(CLAIM, "ClassNotFound").await?;
                scene.vanishes::<Service>("plain-sandbox").await?;
                scene.vanishes::<NetworkPolicy>("plain-sandbox").await?;
            }
        }
        Ok(())
    }
}

/// Whether its one pod is of the template that stands, and ready.
fn has_rolled(deployment: &Deployment) -> bool {
    let status = deployment.status.clone().unwrap_or_default();
    status.observed_generation == deployment.metadata.generation
        && [
            status.replicas,
            status.updated_replicas,
            status.ready_replicas,
        ] == [Some(1); 3]
}
