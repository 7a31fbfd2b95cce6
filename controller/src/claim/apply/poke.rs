//! Makes a kubelet look at a proxy's allowlist now (Q21, E-011). Does I/O.

use serde_json::json;

use super::Apply;
use crate::api_server::Place;
use crate::cause::Chain;
use crate::claim::observed::ObjectKind;
use crate::claim::plan::{Applied, Plan, Poke};
use crate::kind::Kind;
use sandgate_shared::names;

impl Apply {
    /// Sets the annotations of the plan, unless the allowlist does not stand yet. One that fails is done
    /// again: the pod's annotation still says that it is due.
    pub(super) async fn poke(&self, plan: &Plan, applied: &Applied) {
        let mut intents = plan.ensure.iter();
        let writes = intents.any(|intent| intent.kind == ObjectKind::EgressAllowlist);
        let mut outcomes = applied.outcomes.iter();
        let wrote = outcomes.any(|(kind, outcome)| {
            *kind == ObjectKind::EgressAllowlist && outcome.stored().is_some()
        });
        if writes && !wrote {
            return;
        }
        for poke in &plan.pokes {
            self.set(poke).await;
        }
    }

    async fn set(&self, poke: &Poke) {
        let place = Place::namespaced(Kind::Pod, &poke.pod.namespace, &poke.pod.name);
        let patch = json!({"metadata": {
            "uid": poke.pod.uid,
            "annotations": {names::ANNOTATION_ALLOWLIST: poke.told},
        }});
        match self.api.patch(place, &patch).await {
            Ok(_) => {}
            // It went meanwhile, or another bears its name: that one begins with what stands.
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            Err(error) => tracing::warn!(
                pod = %poke.pod.name,
                error = %Chain(&error),
                "a proxy's kubelet could not be told of its allowlist; it looks by itself within two minutes"
            ),
        }
    }
}
