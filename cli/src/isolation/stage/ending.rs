//! The end of a run's namespaces. Does I/O.

use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt};

use super::{Stage, at_once};
use crate::isolation::manifests::LABEL_RUN;
use crate::isolation::trouble::Trouble;
use crate::isolation::waiting::follow;

/// How long namespaces may take to go.
const GOODBYE: Duration = Duration::from_mins(2);

impl Stage {
    /// Takes everything away again, and waits until it is gone. Returns a sentence for each
    /// namespace that is not.
    pub async fn clear(&self) -> Vec<String> {
        let ended = self.namespaces().map(|name| self.end_namespace(name));
        let ended = join_all(ended).await.into_iter();
        ended.filter_map(Result::err).collect()
    }

    /// What somebody types to take away what a run has left.
    pub fn by_hand(&self) -> String {
        format!("kubectl delete namespace -l {LABEL_RUN}={}", self.run)
    }

    async fn end_namespace(&self, name: &str) -> Result<(), String> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        // One of this name that somebody else made is none of ours.
        let ours = |it: &Namespace| it.labels().get(LABEL_RUN) == Some(&self.run);
        if let Ok(found) = namespaces.get_opt(name).await
            && !found.as_ref().is_some_and(ours)
        {
            return Ok(());
        }
        match namespaces.delete(name, &DeleteParams::background()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            // One that is going already says so by this.
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => {
                return Err(Trouble::of(format!("delete namespace {name}"), error).to_string());
            }
        }
        self.kill_all(name).await;
        let gone = |namespace: Option<&Namespace>| namespace.is_none().then_some(());
        let gone = follow(namespaces, name, GOODBYE, gone).await;
        gone.map_err(|vain| {
            let known = format!("namespace {name} does not go; look at what holds it");
            vain.late(known)
                .unwrap_or_else(|trouble| trouble.to_string())
        })
    }

    /// Workloads that ignore SIGTERM would hold a namespace for half a minute.
    async fn kill_all(&self, namespace: &str) {
        let pods: Api<Pod> = self.api(namespace);
        if let Ok(list) = pods.list(&ListParams::default()).await {
            let killed = list.items.iter().map(|pod| {
                let (pods, name) = (&pods, pod.name_any());
                async move { pods.delete(&name, &at_once()).await }
            });
            drop(join_all(killed).await);
        }
    }
}

#[cfg(test)]
mod tests;
