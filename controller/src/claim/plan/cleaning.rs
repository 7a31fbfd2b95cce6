//! What of a claim's objects goes: all of a failed claim's, and the egress proxy of one that has no host any
//! more. Pure.

use kube::ResourceExt;

use super::{
    Deletion, FilesIntent, LiveRef, Plan, PodRef, Verdict,
    finished::{finished, pod_ref},
    gate::{binds, owns},
};
use crate::claim::observed::{ObjectKind, Observed};

/// Removes what a failed claim still has: its workloads at once, and what shuts and names them once
/// the pods are gone (C-035).
pub(super) fn clean_up(observed: &Observed) -> Plan {
    let workloads = [ObjectKind::Deployment, ObjectKind::EgressDeployment];
    let running = workloads.iter().any(|kind| owns(observed, *kind))
        || !observed.replica_sets.is_empty()
        || !observed.pods.is_empty()
        || !observed.proxy.pods.is_empty();
    let doomed: &[ObjectKind] = if running {
        &workloads
    } else {
        &[
            ObjectKind::Service,
            ObjectKind::NetworkPolicy,
            ObjectKind::EgressService,
            ObjectKind::EgressAllowlist,
            ObjectKind::EgressNetworkPolicy,
        ]
    };
    let claim = &observed.claim;
    Plan {
        delete: deletions(observed, doomed),
        files: binds(&claim.spec).then(|| FilesIntent::of(claim, Vec::new())),
        finished: finished(observed),
        ..Plan::nothing(Verdict::Over)
    }
}

/// Removes an egress proxy that is not to be (E-001), and its pods: what they still carry is for hosts that
/// no Connection names any more.
pub(super) fn without_proxy(observed: &Observed) -> (Vec<Deletion>, Vec<PodRef>) {
    let delete = deletions(observed, ObjectKind::OF_PROXY.iter().rev());
    (delete, standing_proxies(observed))
}

/// The pods of the proxy that are not on their way out.
fn standing_proxies(observed: &Observed) -> Vec<PodRef> {
    let pods = observed.proxy.pods.iter();
    let pods = pods.filter(|pod| pod.stays());
    pods.map(|pod| pod_ref(observed, pod)).collect()
}

/// Removes an allowlist that somebody made immutable, once no pod mounts it: a kubelet never looks again at
/// one that was, nor at another of its name as long as one of its pods does.
pub(super) fn without_allowlist(observed: &Observed) -> (Vec<Deletion>, Vec<PodRef>) {
    let runs = observed.proxy.deployment.is_some() || !observed.proxy.pods.is_empty();
    let doomed = if runs {
        ObjectKind::EgressDeployment
    } else {
        ObjectKind::EgressAllowlist
    };
    (deletions(observed, [&doomed]), standing_proxies(observed))
}

/// The deletions of those that are the claim's own and not on their way out.
fn deletions<'k>(
    observed: &Observed,
    doomed: impl IntoIterator<Item = &'k ObjectKind>,
) -> Vec<Deletion> {
    let mine = doomed.into_iter().filter(|kind| owns(observed, **kind));
    mine.filter_map(|kind| {
        let live = observed.live(*kind).filter(|live| !live.deleting)?;
        Some(Deletion {
            kind: *kind,
            namespace: observed.claim.namespace().unwrap_or_default(),
            name: kind.name(&observed.claim.name_any()),
            live: LiveRef::of(live),
        })
    })
    .collect()
}
