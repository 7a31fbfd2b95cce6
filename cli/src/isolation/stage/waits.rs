//! Waiting for pods and claims, and telling why in vain. Does I/O.

use std::time::{Duration, Instant};

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
const HOPELESS: [&str; 2] = [reason::CRASH_LOOP, reason::CONTAINER_CONFIG_ERROR];

/// For how long an image may fail to come: registries hiccup.
const PULLS: Duration = Duration::from_secs(45);

/// An image that does not come, and since when.
#[derive(Debug)]
struct Pulling<T> {
    since: Option<Instant>,
    trouble: Option<T>,
}

impl<T> Default for Pulling<T> {
    fn default() -> Self {
        Self {
            since: None,
            trouble: None,
        }
    }
}

impl<T> Pulling<T> {
    /// Takes in what is the matter with the image now, if anything; returns it once it has been so
    /// for too long.
    fn takes_too_long(&mut self, trouble: Option<T>, now: Instant) -> Option<T> {
        let Some(trouble) = trouble else {
            // Between two tries the kubelet says nothing of it.
            return None;
        };
        let since = *self.since.get_or_insert(now);
        if now.duration_since(since) >= PULLS {
            return Some(trouble);
        }
        self.trouble = Some(trouble);
        None
    }
}

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
        let mut pulling = Pulling::default();
        let pods: Api<Pod> = self.api(namespace);
        let found = follow(pods, name, PATIENCE, |pod| {
            let pod = pod?;
            last = pods::state(pod);
            if let Some(trouble) = pods::hopeless(pod, &self.image) {
                return Some(Err(trouble));
            }
            let in_vain = pods::no_image(pod, &self.image);
            if let Some(trouble) = pulling.takes_too_long(in_vain, Instant::now()) {
                return Some(Err(trouble));
            }
            holds(pod).then(|| Ok(pod.clone()))
        });
        let vain = match found.await {
            Ok(found) => return found,
            Err(vain) => vain,
        };
        Err(pulling.trouble.take().unwrap_or_else(|| {
            vain.or(last, |message| Trouble::PodStuck {
                pod: name.to_owned(),
                wanted,
                seconds: PATIENCE.as_secs(),
                message,
            })
        }))
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
        let mut pulling = Pulling::default();
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
            let in_vain = (why == reason::IMAGE_PULL_FAILED).then_some(());
            let hopeless = status.phase == Some(ClaimPhase::Failed)
                || HOPELESS.contains(&why)
                || pulling.takes_too_long(in_vain, Instant::now()).is_some();
            hopeless.then_some(Err(()))
        });
        let stuck = |message| Trouble::ClaimStuck {
            claim: name.to_owned(),
            wanted: wanted.as_str(),
            message,
        };
        match found.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(())) => Err(stuck(last)),
            Err(vain) => Err(vain.or(last, stuck)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_does_not_come_is_waited_for_a_fair_time() {
        let start = Instant::now();
        let mut pulling = Pulling::default();
        assert_eq!(pulling.takes_too_long(Some("no such host"), start), None);
        assert_eq!(pulling.takes_too_long(None, start + PULLS / 2), None);
        let soon = start + PULLS / 2;
        assert_eq!(pulling.takes_too_long(Some("no such host"), soon), None);
        assert_eq!(pulling.trouble, Some("no such host"));
        let late = start + PULLS;
        assert_eq!(pulling.takes_too_long(Some("denied"), late), Some("denied"));
    }
}
