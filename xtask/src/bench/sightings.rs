//! When things were first seen to be so, through watches of our own, on one clock. Does I/O.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::watcher::{self, Event, watcher};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::latency::Latencies;

/// How long a watch may take to stand.
const START: Duration = Duration::from_secs(30);

/// A watch on one kind, and for each `What` (a claim, or one of several things about a claim) the
/// moment at which it was first seen.
#[derive(Debug)]
pub struct Sightings<What = String> {
    first: Arc<Mutex<HashMap<What, Instant>>>,
    count: watch::Receiver<usize>,
    follower: JoinHandle<()>,
}

impl<What> Drop for Sightings<What> {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

impl<What: Clone + Eq + Hash + Send + 'static> Sightings<What> {
    /// Follows `objects`; `shows` names what an object shows to be so. Returns when the watch stands,
    /// so that nothing after it is missed; what was so before is no sighting.
    pub async fn follow<K, Shown>(
        objects: Api<K>,
        shows: impl Fn(&K) -> Shown + Send + 'static,
    ) -> anyhow::Result<Self>
    where
        K: kube::Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        Shown: IntoIterator<Item = What>,
    {
        Self::of(objects, move |event| match event {
            Event::Apply(object) => Some(shows(object)),
            _ => None,
        })
        .await
    }

    /// The same of what objects showed when they were deleted for good.
    pub async fn of_ends<K, Shown>(
        objects: Api<K>,
        shows: impl Fn(&K) -> Shown + Send + 'static,
    ) -> anyhow::Result<Self>
    where
        K: kube::Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        Shown: IntoIterator<Item = What>,
    {
        Self::of(objects, move |event| match event {
            Event::Delete(object) => Some(shows(object)),
            _ => None,
        })
        .await
    }

    async fn of<K, Shown>(
        objects: Api<K>,
        shows: impl Fn(&Event<K>) -> Option<Shown> + Send + 'static,
    ) -> anyhow::Result<Self>
    where
        K: kube::Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        Shown: IntoIterator<Item = What>,
    {
        let first = Arc::new(Mutex::new(HashMap::new()));
        let (counted, count) = watch::channel(0);
        let (stands, mut standing) = watch::channel(false);
        let seen = Arc::clone(&first);
        let follower = tokio::spawn(async move {
            let mut events = std::pin::pin!(watcher(objects, watcher::Config::default()));
            while let Some(event) = events.next().await {
                let now = Instant::now();
                // A watch that breaks would hide when things were so: better no figure.
                let Ok(event) = event else { return };
                if matches!(event, Event::InitDone) {
                    stands.send_replace(true);
                }
                if let Some(shown) = shows(&event) {
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    for what in shown {
                        seen.entry(what).or_insert(now);
                    }
                    counted.send_replace(seen.len());
                }
            }
        });
        tokio::time::timeout(START, standing.wait_for(|stands| *stands))
            .await
            .context("a watch took too long to stand")?
            .context("a watch broke")?;
        Ok(Self {
            first,
            count,
            follower,
        })
    }

    /// Returns once as many have been seen.
    pub async fn reach(&mut self, wanted: usize, within: Duration) -> anyhow::Result<()> {
        let reached = self.count.wait_for(|count| *count >= wanted);
        let in_time = tokio::time::timeout(within, reached)
            .await
            .map(|reached| reached.map(drop));
        match in_time {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => bail!("a watch broke while it was measured"),
            Err(_) => bail!(
                "only {} of {wanted} were seen within {} s",
                *self.count.borrow(),
                within.as_secs()
            ),
        }
    }

    /// The moments.
    pub fn moments(&self) -> HashMap<What, Instant> {
        self.first
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Whether it is `Bound`.
pub fn is_bound(claim: &SandboxClaim) -> bool {
    let phase = claim.status.as_ref().and_then(|status| status.phase);
    phase == Some(ClaimPhase::Bound)
}

/// Whether it is ready.
pub fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// How long after `from` each claim was seen in `to`; zero if the watches told it the other way round.
pub fn between(from: &HashMap<String, Instant>, to: &HashMap<String, Instant>) -> Latencies {
    from.iter()
        .filter_map(|(claim, start)| {
            let end = to.get(claim)?;
            Some(end.saturating_duration_since(*start))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_claims_seen_on_both_sides_have_a_latency() {
        let now = Instant::now();
        let later = now + Duration::from_millis(5);
        let from = HashMap::from([
            ("a".to_owned(), now),
            ("b".to_owned(), later),
            ("c".to_owned(), now),
        ]);
        let to = HashMap::from([("a".to_owned(), later), ("b".to_owned(), now)]);
        let all = between(&from, &to);
        assert_eq!(all.len(), 2);
        assert_eq!(all.percentile(50), Some(Duration::ZERO));
        assert_eq!(all.percentile(100), Some(Duration::from_millis(5)));
    }
}
