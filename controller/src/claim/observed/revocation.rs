//! How long a credential that is gone stays in pods. Pure: moments are given.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::ObservedPod;

/// A credential that is being taken from a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocation {
    /// When it was first found gone.
    found: Instant,
    /// UIDs of the pods that have it.
    pods: BTreeSet<String>,
}

impl Revocation {
    /// What is being taken away after a look at `pods` that found a credential gone at `found`; what was
    /// being taken away before it goes on.
    pub fn begun(before: Option<Self>, pods: &[ObservedPod], found: Instant) -> Option<Self> {
        let mut revocation = before.unwrap_or(Self {
            found,
            pods: BTreeSet::new(),
        });
        revocation
            .pods
            .extend(pods.iter().map(|pod| pod.uid.clone()));
        (!revocation.pods.is_empty()).then_some(revocation)
    }

    /// How long it took, once none of its pods is among `pods`.
    pub fn took(&self, pods: &[ObservedPod], now: Instant) -> Option<Duration> {
        let runs = pods.iter().any(|pod| self.pods.contains(&pod.uid));
        (!runs).then(|| now.saturating_duration_since(self.found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(uids: &[&str]) -> Vec<ObservedPod> {
        let pod = |uid: &&str| ObservedPod {
            uid: (*uid).to_owned(),
            ..ObservedPod::default()
        };
        uids.iter().map(pod).collect()
    }

    // Proves: K-031
    #[test]
    fn it_lasts_from_the_first_look_until_no_pod_that_had_the_credential_is_left() {
        let found = Instant::now();
        let after = |seconds| found + Duration::from_secs(seconds);
        let begun = Revocation::begun(None, &pods(&["old"]), found).unwrap();
        // Found gone once more, before the first write went through.
        let begun = Revocation::begun(Some(begun), &pods(&["old", "older"]), after(1)).unwrap();
        assert_eq!(begun.took(&pods(&["old", "older"]), after(2)), None);
        assert_eq!(begun.took(&pods(&["older", "new"]), after(3)), None);
        let took = begun.took(&pods(&["new"]), after(4));
        assert_eq!(took, Some(Duration::from_secs(4)));
    }

    #[test]
    fn what_no_pod_had_takes_no_time() {
        assert_eq!(Revocation::begun(None, &[], Instant::now()), None);
    }
}
