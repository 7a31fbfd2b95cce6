//! Brings the index up to what stands at the beginning of a term. Does I/O.

use std::collections::BTreeSet;

use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{Gather, GatherError};
use crate::api_server::{Place, Stamp};
use crate::cause::Chain;
use crate::key::Key;
use crate::kind::Kind;

/// How many claims are read at once.
const AT_ONCE: usize = 8;

impl Gather {
    /// Makes sure that the watches' index holds all claims as they stand now. A watch is behind by a moment, and
    /// nobody knows by how much; so names and versions of all of them are read, and those claims whole that the
    /// watch has not shown in this version yet: a few, where it works.
    pub async fn all_claims(&self) -> Result<(), GatherError> {
        let kind = Kind::SandboxClaim;
        let stamps = self.api.stamps(kind).await;
        let (stamps, at) = stamps.map_err(|source| GatherError::List { kind, source })?;
        let index = &self.watches.index;
        let behind: Vec<Key> = stamps
            .iter()
            .filter(|stamp| index.lacks_claim(&stamp.key(), stamp.version()))
            .map(Stamp::key)
            .collect();
        let mut all: BTreeSet<Key> = stamps.iter().map(Stamp::key).collect();
        let reads = stream::iter(behind).map(|claim| self.read_beside_the_watch(claim));
        let mut reads = reads.buffer_unordered(AT_ONCE);
        while let Some((claim, stands)) = reads.try_next().await? {
            if !stands {
                all.remove(&claim);
            }
        }
        index.only_claims(&all, &at);
        Ok(())
    }

    /// Reads a claim into the index; whether it still stands.
    async fn read_beside_the_watch(&self, claim: Key) -> Result<(Key, bool), GatherError> {
        let place = Place::namespaced(Kind::SandboxClaim, &claim.namespace, &claim.name);
        let Some(object) = self.get(place).await? else {
            return Ok((claim, false));
        };
        if let Err(error) = self.watches.index.read_claim(object) {
            tracing::debug!(error = %Chain(&error), "unreadable claim");
        }
        Ok((claim, true))
    }
}
