//! Waiting for pods and claims, and telling why in vain. Does I/O.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use sandgate_shared::{names, reason};

use super::{PATIENCE, Stage};
use crate::isolation::pods;
use crate::isolation::trouble::Trouble;
use crate::isolation::waiting::follow;

/// Reasons that a probe's pod does not get over by itself.
const HOPELESS: [&str; 3] = [
    reason::IMAGE_PULL_FAILED,
    reason::CRASH_LOOP,
    reason::CONTAINER_CONFIG_ERROR,
];

impl Stage {
    /// Waits until a pod is as `holds` says.
    pub async fn pod_becomes(
        &self,
        namespace: &str,
        name: &str,
        wanted: &'static str,
        mut holds: impl FnMut(&Pod) -> bool,
    ) -> Result<Pod, Trouble> {
        let mut last = "it does not exist".to_owned();
        let pods: Api<Pod> = self.api(namespace);
        let found = follow(pods, name, PATIENCE, |pod| {
            let pod = pod?;
            last = pods::state(pod);
            if let Some(trouble) = pods::hopeless(pod, &self.image) {
                return Some(Err(trouble));
            }
            holds(pod).then(|| Ok(pod.clone()))
        });
        found.await.unwrap_or_else(|| {
            Err(Trouble::PodStuck {
                pod: name.to_owned(),
                wanted,
                seconds: PATIENCE.as_secs(),
                message: last,
            })
        })
    }

    /// Waits until a claim is Bound, and returns its sandbox's pod.
    pub async fn bound(&self, namespace: &str, name: &str) -> Result<Pod, Trouble> {
        self.claim_becomes(namespace, name, ClaimPhase::Bound)
            .await?;
        self.pod_of(namespace, name).await
    }

    /// Waits until a claim reaches this phase. Another final one, or an image that will not come,
    /// ends the wait.
    pub async fn claim_becomes(
        &self,
        namespace: &str,
        name: &str,
        wanted: ClaimPhase,
    ) -> Result<(), Trouble> {
        let mut last = "Sandgate has not reported on it".to_owned();
        let claims: Api<SandboxClaim> = self.api(namespace);
        let found = follow(claims, name, PATIENCE, |claim| {
            let status = claim?.status.as_ref()?;
            let conditions = status.conditions.as_deref().unwrap_or_default();
            let ready = conditions.iter().find(|found| found.type_ == "Ready");
            let why = ready.map_or("", |ready| ready.reason.as_str());
            if let Some(ready) = ready {
                last = format!("{why}: {}", ready.message);
            }
            if status.phase == Some(wanted) {
                return Some(Ok(()));
            }
            let hopeless = status.phase == Some(ClaimPhase::Failed) || HOPELESS.contains(&why);
            hopeless.then_some(Err(()))
        });
        match found.await {
            Some(Ok(())) => Ok(()),
            Some(Err(())) | None => Err(Trouble::ClaimStuck {
                claim: name.to_owned(),
                wanted: wanted.as_str(),
                message: last,
            }),
        }
    }

    /// The pod of a claim's sandbox, the youngest if there are several.
    pub async fn pod_of(&self, namespace: &str, claim: &str) -> Result<Pod, Trouble> {
        let pods: Api<Pod> = self.api(namespace);
        let of_claim = ListParams::default().labels(&format!("{}={claim}", names::LABEL_CLAIM));
        let found = pods.list(&of_claim).await;
        let found = found.map_err(|error| Trouble::of("list pods", error))?;
        let living = found
            .items
            .into_iter()
            .filter(|pod| pod.metadata.deletion_timestamp.is_none());
        living
            .max_by_key(|pod| pod.metadata.creation_timestamp.clone())
            .ok_or_else(|| Trouble::ClaimStuck {
                claim: claim.to_owned(),
                wanted: "a claim with a pod",
                message: "it has none".to_owned(),
            })
    }
}
