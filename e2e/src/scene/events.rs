//! What Events tell of a claim. Does I/O.

use std::collections::BTreeMap;

use futures::TryStreamExt as _;
use k8s_openapi::api::events::v1::Event;
use kube::runtime::{WatchStreamExt as _, watcher};

use super::Scene;
use crate::failure::Outcome;
use crate::namespace::DEADLINE;

impl Scene {
    /// Waits until an Event of the reason `last` tells of the claim; how many of each reason did up to then.
    pub async fn told(&self, claim: &str, last: &str) -> Outcome<BTreeMap<String, usize>> {
        let events = watcher(self.api::<Event>(), watcher::Config::default()).applied_objects();
        let mut events = std::pin::pin!(events);
        let mut seen = BTreeMap::new();
        let told = async {
            while let Some(event) = events.try_next().await? {
                let about = event.regarding.and_then(|it| it.name);
                if about.as_deref() == Some(claim) {
                    *seen.entry(event.reason.unwrap_or_default()).or_insert(0) += 1;
                }
                if seen.contains_key(last) {
                    break;
                }
            }
            Outcome::Ok(())
        };
        tokio::time::timeout(DEADLINE, told).await??;
        Ok(seen)
    }
}
