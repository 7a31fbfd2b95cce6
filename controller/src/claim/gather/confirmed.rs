//! Reads anew what a decision that is never taken back rests on. Does I/O.

use kube::core::DynamicObject;
use sandgate_shared::api::outside::{AgentRuntime, AgentRuntimeSpec};
use sandgate_shared::api::{
    ClassKind, ClusterSandboxClass, SandboxClaim, SandboxClass, SandboxClassSpec,
};
use sandgate_shared::trust::Trust;
use serde::de::DeserializeOwned;

use super::{Gather, GatherError, parse};
use crate::api_server::Place;
use crate::claim::observed::{LiveObject, Lookup, ObjectKind, Observed};
use crate::claim::plan;
use crate::key::Key;
use crate::kind::Kind;

impl Gather {
    /// What is known of a claim, with the claim and everything that can end it read anew: a watch can
    /// be a moment behind, a claim that fails is not taken up again (C-028), one that is verified once
    /// stays so (P-017), and nothing is made for one that is leaving (O-002). `None` if the claim is gone.
    pub async fn confirmed(&self, known: Observed) -> Result<Option<Observed>, GatherError> {
        let key = Key::of(&known.claim.metadata);
        let place = Place::namespaced(Kind::SandboxClaim, &key.namespace, &key.name);
        let Some(claim) = self.get(place).await? else {
            return Ok(None);
        };
        let claim: SandboxClaim = parse(place, claim)?;
        if claim.metadata.uid != known.claim.metadata.uid {
            return Ok(None);
        }
        let mut observed = Observed { claim, ..known };
        observed.runtime = self.runtime(&observed.claim).await?;
        observed.class = self.class(&observed).await?;
        if plan::mounted(&observed).is_some() {
            observed.storage = self.storage_now(&key.namespace).await?;
        }
        if plan::awaits_proof(&observed.claim) {
            observed.trust = match self.provenance.confirmed(&self.api).await {
                Trust::Unread(why) => return Err(GatherError::Policy(why)),
                trust => trust,
            };
        }
        observed.policy = self.live(&key, ObjectKind::NetworkPolicy).await?;
        observed.service = self.live(&key, ObjectKind::Service).await?;
        observed.deployment = self.live(&key, ObjectKind::Deployment).await?;
        if concerns_proxy(&observed) {
            let proxy = &mut observed.proxy;
            proxy.policy = self.live(&key, ObjectKind::EgressNetworkPolicy).await?;
            proxy.allowlist = self.live(&key, ObjectKind::EgressAllowlist).await?;
            proxy.service = self.live(&key, ObjectKind::EgressService).await?;
            proxy.deployment = self.live(&key, ObjectKind::EgressDeployment).await?;
        }
        Ok(Some(observed))
    }

    /// The claim's runtime, read anew if it may have changed unseen, and if the index holds another: how many
    /// claims it may have is decided by it, and one that is let in stays (C-008, C-009, C-012).
    pub async fn doubted_runtime(
        &self,
        claim: &SandboxClaim,
    ) -> Result<Option<Lookup<AgentRuntimeSpec>>, GatherError> {
        let Some(runtime) = Key::of_runtime(claim) else {
            return Ok(None);
        };
        let Some(doubt) = self.watches.confirmed.doubt(&runtime) else {
            return Ok(None);
        };
        let place = runtime_at(&runtime);
        let stands = self.get(place).await?;
        if self.watches.index.holds_runtime(&runtime, stands.as_ref()) {
            self.watches.confirmed.settle(doubt);
            return Ok(None);
        }
        spec_of(place, stands).map(Some)
    }

    async fn runtime(&self, claim: &SandboxClaim) -> Result<Lookup<AgentRuntimeSpec>, GatherError> {
        let Some(runtime) = Key::of_runtime(claim) else {
            return Ok(Lookup::Missing);
        };
        let place = runtime_at(&runtime);
        spec_of(place, self.get(place).await?)
    }

    async fn class(&self, observed: &Observed) -> Result<Lookup<SandboxClassSpec>, GatherError> {
        let class = &observed.claim.spec.class_ref;
        let namespace = observed
            .claim
            .metadata
            .namespace
            .as_deref()
            .unwrap_or_default();
        match class.kind {
            ClassKind::SandboxClass => {
                let place = Place::namespaced(Kind::SandboxClass, namespace, &class.name);
                self.lookup(place, |class: SandboxClass| class.spec).await
            }
            ClassKind::ClusterSandboxClass => {
                let place = Place::cluster(Kind::ClusterSandboxClass, &class.name);
                self.lookup(place, |class: ClusterSandboxClass| class.spec.class)
                    .await
            }
        }
    }

    async fn live(&self, claim: &Key, kind: ObjectKind) -> Result<Option<LiveObject>, GatherError> {
        let name = kind.name(&claim.name);
        let place = Place::namespaced(kind.into(), &claim.namespace, &name);
        let object = self.get(place).await?;
        Ok(object
            .and_then(|object| serde_json::to_value(object).ok())
            .as_ref()
            .and_then(LiveObject::read))
    }

    async fn lookup<K: DeserializeOwned, V>(
        &self,
        place: Place<'_>,
        view: impl FnOnce(K) -> V,
    ) -> Result<Lookup<V>, GatherError> {
        found(place, self.get(place).await?, view)
    }
}

fn runtime_at(runtime: &Key) -> Place<'_> {
    Place::namespaced(Kind::AgentRuntime, &runtime.namespace, &runtime.name)
}

fn spec_of(
    place: Place<'_>,
    stands: Option<DynamicObject>,
) -> Result<Lookup<AgentRuntimeSpec>, GatherError> {
    found(place, stands, |runtime: AgentRuntime| runtime.spec)
}

fn found<K: DeserializeOwned, V>(
    place: Place<'_>,
    stands: Option<DynamicObject>,
    view: impl FnOnce(K) -> V,
) -> Result<Lookup<V>, GatherError> {
    let Some(object) = stands else {
        return Ok(Lookup::Missing);
    };
    Ok(Lookup::Found(view(parse(place, object)?)))
}

/// Whether anything of an egress proxy stands, or stood.
fn concerns_proxy(observed: &Observed) -> bool {
    let mut kinds = ObjectKind::OF_PROXY.iter();
    kinds.any(|kind| observed.live(*kind).is_some() || observed.memory.applied.contains_key(kind))
}
