//! Carries out deeds. Does I/O.

mod furniture;
mod hands;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use sandgate_shared::names::{self, BASELINE_POLICY};
use serde_json::json;
use tokio::task::JoinSet;

use super::deeds::{Blow, DOOMED, Deed, Harm, MISSING_CLASS, WIRED, Wanted};
use super::history::{Kind, Place};
use crate::controllers::Controller;
use crate::failure::{Failure, Outcome};
use crate::fake_node::{STAGE_LABEL, Stage};
use crate::fault_proxy::Proxy;
use crate::namespace::Writer;
use crate::process;
use crate::scene::{Scene, manifests};
use furniture::{FORGE, SITE, edit, furnish, give};
use hands::{api, client, delete, harmed, obstacle, patch_it, relabelled};

pub use furniture::CANARY;

/// The first half of every claim's handle: its instances are all claims of its session.
const SANDBOX: &str = "box";

/// Everybody there is.
pub struct Actors {
    /// Where claims live.
    pub scenes: Vec<Scene>,
    /// The operator in each of them.
    operators: Vec<Writer>,
    /// Who looks after them.
    pub controllers: Vec<Controller>,
    /// The way between these and the API server.
    pub proxy: Proxy,
    /// Every claim that was made, or would have been where the namespace was gone, by number.
    wanted: Vec<Wanted>,
    /// Controllers that are held, until they are let go.
    held: JoinSet<()>,
    /// Namespaces that were deleted.
    gone: BTreeSet<usize>,
}

impl Actors {
    /// With runtimes and classes in each namespace.
    pub async fn enter(
        scenes: Vec<Scene>,
        controllers: Vec<Controller>,
        proxy: Proxy,
    ) -> Outcome<Self> {
        let mut operators = Vec::new();
        for scene in &scenes {
            operators.push(scene.operator().await?);
            furnish(scene).await?;
        }
        Ok(Self {
            scenes,
            operators,
            controllers,
            proxy,
            wanted: Vec::new(),
            held: JoinSet::new(),
            gone: BTreeSet::new(),
        })
    }

    /// A namespace that is never deleted.
    ///
    /// # Errors
    /// There is none.
    pub fn lasting(&self) -> Outcome<&Scene> {
        let mut scenes = self.scenes.iter().enumerate();
        let lasting = scenes.find(|(number, _)| *number != DOOMED);
        let lasting = lasting.ok_or_else(|| Failure::saying("every namespace is deleted"))?;
        Ok(lasting.1)
    }

    /// In which namespace a deed is done, if it is done in one.
    fn within(&self, deed: &Deed) -> Option<usize> {
        match deed {
            Deed::Claim(wanted) => Some(wanted.scene),
            Deed::Unclaim(claim)
            | Deed::Stray { claim, .. }
            | Deed::Pods { claim, .. }
            | Deed::PodsGo { claim, .. } => self.wanted.get(*claim).map(|wanted| wanted.scene),
            Deed::Ceilings { scene, .. }
            | Deed::Class { scene, .. }
            | Deed::Source { scene, .. }
            | Deed::Hosts { scene, .. }
            | Deed::Baseline { scene, .. }
            | Deed::Leave { scene } => Some(*scene),
            Deed::Controller { .. } | Deed::Away(_) => None,
        }
    }

    fn scene(&self, number: usize) -> Outcome<&Scene> {
        let found = self.scenes.get(number);
        found.ok_or_else(|| Failure::saying(format!("there is no scene {number}")))
    }

    /// Does one deed, unless its namespace is gone.
    pub async fn act(&mut self, deed: &Deed) -> Outcome {
        let within = self.within(deed);
        if within.is_some_and(|scene| self.gone.contains(&scene)) {
            if let Deed::Claim(wanted) = deed {
                self.wanted.push(wanted.clone());
            }
            return Ok(());
        }
        match deed {
            Deed::Leave { scene } => {
                let name = self.scene(*scene)?.name().to_owned();
                let namespaces =
                    Api::all_with(client(self.scene(*scene)?), &Kind::Namespace.resource());
                self.gone.insert(*scene);
                delete(&namespaces, &name).await
            }
            Deed::Claim(wanted) => self.claim(wanted).await,
            Deed::Unclaim(number) => {
                let (scene, wanted) = self.claimed(*number)?;
                delete(&api(scene, Kind::Claim), &wanted.name).await
            }
            Deed::Ceilings {
                scene,
                runtime,
                concurrent,
                per_session,
            } => {
                let patch = json!({ "spec": { "sandbox": {
                    "maxConcurrent": concurrent,
                    "maxPerSession": per_session,
                } } });
                patch_it(&api(self.scene(*scene)?, Kind::Runtime), runtime, &patch).await
            }
            Deed::Class {
                scene,
                class,
                value,
            } => edit(self.scene(*scene)?, class, *value).await,
            Deed::Source { scene, what, gone } => {
                let scene = self.scene(*scene)?;
                if *gone {
                    delete(&api(scene, what.kind()), what.name()).await
                } else {
                    give(scene, *what).await
                }
            }
            Deed::Hosts { scene, what, hosts } => {
                let connections = api(self.scene(*scene)?, what.kind());
                let patch = json!({ "spec": { "hosts": hosts } });
                patch_it(&connections, what.name(), &patch).await
            }
            Deed::Stray {
                claim,
                part,
                kind,
                harm,
            } => {
                let (scene, wanted) = self.claimed(*claim)?;
                if wanted.in_the_way == Some((*part, *kind)) {
                    return Ok(());
                }
                harmed(scene, *kind, &part.name(&wanted.name), *harm).await
            }
            Deed::Baseline { scene, harm } => {
                harmed(self.scene(*scene)?, Kind::Policy, BASELINE_POLICY, *harm).await
            }
            Deed::Pods { claim, stage } => {
                let (scene, wanted) = self.claimed(*claim)?;
                // These are never ready, whatever becomes of their pods.
                if wanted.class == "stuck" {
                    return Ok(());
                }
                let selector = format!("{}={}", names::LABEL_CLAIM, wanted.name);
                relabelled(scene, &selector, *stage).await
            }
            Deed::PodsGo { claim, part } => {
                let (scene, wanted) = self.claimed(*claim)?;
                let (claim, component) = (&wanted.name, part.component());
                let selector = format!(
                    "{}={claim},{}={component}",
                    names::LABEL_CLAIM,
                    names::LABEL_COMPONENT
                );
                let pods = scene.api::<Pod>();
                let (how, which) = (DeleteParams::default(), ListParams::default());
                pods.delete_collection(&how, &which.labels(&selector))
                    .await?;
                Ok(())
            }
            Deed::Controller { which, blow } => self.hit(*which, *blow),
            Deed::Away(lasts) => {
                self.proxy.go_away().await;
                tokio::time::sleep(*lasts).await;
                Ok(self.proxy.come_back().await?)
            }
        }
    }

    fn claimed(&self, number: usize) -> Outcome<(&Scene, &Wanted)> {
        let found = self.wanted.get(number);
        let wanted = found.ok_or_else(|| Failure::saying(format!("nobody made claim {number}")))?;
        Ok((self.scene(wanted.scene)?, wanted))
    }

    async fn claim(&mut self, wanted: &Wanted) -> Outcome {
        let scene = self.scene(wanted.scene)?;
        if let Some((part, kind)) = wanted.in_the_way {
            let name = part.name(&wanted.name);
            scene.accepts(&obstacle(kind, &name)).await?;
        }
        let mut fields = json!({
            "agentRuntimeRef": { "name": wanted.runtime },
            "sessionID": wanted.session,
            "handle": format!("{SANDBOX}/{}", wanted.name),
        });
        if let Some(most) = wanted.most {
            json_patch::merge(&mut fields, &json!({ "maxInstances": most }));
        }
        let wired = wanted.class == WIRED;
        if wired {
            let bound = [FORGE, SITE].map(|name| json!({ "role": name, "connection": name }));
            let binds = json!({ "connections": bound });
            json_patch::merge(&mut fields, &binds);
        }
        let operator = self.operators.get(wanted.scene).filter(|_| wired);
        let writer = operator.unwrap_or(scene.user());
        let claim = manifests::claim_with(&wanted.name, wanted.class, &fields);
        writer.accepts(&claim).await?;
        self.wanted.push(wanted.clone());
        Ok(())
    }

    fn hit(&mut self, which: usize, blow: Blow) -> Outcome {
        let Some(controller) = self.controllers.get_mut(which) else {
            return Err(Failure::saying(format!("there is no controller {which}")));
        };
        match blow {
            Blow::Kill => controller.service.kill(),
            Blow::End => controller.service.stop()?,
            Blow::Hold(lasts) => {
                if let Some(id) = controller.service.id() {
                    process::signal("STOP", id)?;
                    self.held.spawn(async move {
                        tokio::time::sleep(lasts).await;
                        // One that was killed meanwhile needs it no more.
                        drop(process::signal("CONT", id));
                    });
                }
            }
        }
        Ok(controller.service.start()?)
    }

    /// Lets go who is held, and heals what was done to pods, so that everything can settle.
    pub async fn make_up(&mut self) -> Outcome {
        self.held.shutdown().await;
        for controller in &mut self.controllers {
            if let Some(id) = controller.service.id() {
                process::signal("CONT", id)?;
            }
            controller.service.start()?;
        }
        for scene in &self.scenes {
            let own = format!("{STAGE_LABEL}={}", Stage::LostReadiness.label());
            relabelled(scene, &own, Stage::Ready).await?;
        }
        Ok(())
    }

    /// Takes an object away that is not the doer's.
    pub async fn without(&self, (kind, namespace, name): &Place) -> Outcome {
        let mut scenes = self.scenes.iter();
        let scene = scenes.find(|it| it.name() == namespace);
        let scene = scene.ok_or_else(|| Failure::saying(format!("there is no {namespace}")))?;
        harmed(scene, *kind, name, Harm::Delete).await
    }

    /// What claims may fail for, by name: a class that is missing, or something in the way.
    pub fn may_fail(&self) -> Vec<(String, String)> {
        let doomed = self
            .wanted
            .iter()
            .filter(|it| it.class == MISSING_CLASS || it.in_the_way.is_some());
        doomed
            .filter_map(|it| {
                Some((
                    self.scenes.get(it.scene)?.name().to_owned(),
                    it.name.clone(),
                ))
            })
            .collect()
    }
}
