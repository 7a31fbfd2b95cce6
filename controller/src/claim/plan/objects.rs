//! Which objects of a claim need a request now, and which are in the way. Pure.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use sandgate_shared::{api::SandboxClaim, checks::Dropped, names, reason};
use serde_json::Value;

use super::{
    Action, Build, Deletion, FilesIntent, Finding, Intent, LiveRef, Plan, Settings, Urgent,
    Verdict,
    baseline::baseline,
    connections::Standing,
    content_claim::content_claim,
    deployment::deployment,
    digest::hash,
    finished::finished,
    gate::{binds, class_missing, ever_bound, has_workspace, owns},
    intent::{Sealed, seal},
    network_policy::network_policy,
    service::service,
    workspace_volume::{mounted, volume},
};
use crate::claim::observed::{AppliedRecord, LiveObject, ObjectKind, Observed};

impl LiveRef {
    /// Refers to a live object as it was seen.
    pub(super) fn of(live: &LiveObject) -> Self {
        Self {
            uid: live.uid.clone(),
            resource_version: live.resource_version.clone(),
        }
    }

    /// Refers to the claim as it was read; `None` if it does not say what it is.
    pub(super) fn of_claim(claim: &SandboxClaim) -> Option<Self> {
        Some(Self {
            uid: claim.metadata.uid.clone()?,
            resource_version: claim.metadata.resource_version.clone()?,
        })
    }
}

/// The claim's objects as the class renders now.
struct Rendered {
    sealed: Vec<Sealed>,
    template_hash: String,
    unresolved: Vec<String>,
    dropped: Option<Vec<Dropped>>,
}

/// Plans the admission of a claim whose objects can be rendered.
pub(super) fn admit(observed: &Observed, settings: &Settings) -> Plan {
    let standing = Standing::of(observed);
    Plan::nothing(match render(observed, standing.as_ref(), settings) {
        Ok(rendered) => Verdict::Admit(Build {
            sub_path: mounted(observed).map(|path| path.as_str().to_owned()),
            template_hash: Some(rendered.template_hash),
            unresolved: rendered.unresolved,
            ..Build::default()
        }),
        Err(finding) => Verdict::Fail(finding),
    })
}

/// Plans what an admitted claim waits for: the volume claim of its workspace (C-023).
pub(super) fn await_storage(observed: &Observed, settings: &Settings, finding: Finding) -> Plan {
    let namespace = observed.claim.namespace().unwrap_or_default();
    let content = observed.storage.content();
    let missing = content.filter(|content| !content.stands && settings.content.provision);
    let claim = missing.and_then(|content| content_claim(content, &namespace));
    Plan {
        content_claim: claim.map(Box::new),
        ..Plan::nothing(Verdict::Wait(finding))
    }
}

/// Plans the objects of a claim that was admitted.
pub(super) fn build(observed: &Observed, settings: &Settings, now: Timestamp) -> Plan {
    let standing = Standing::of(observed);
    let standing = standing.as_ref();
    let plan = match render(observed, standing, settings) {
        Ok(rendered) => ensure(observed, standing, rendered, now),
        Err(finding) => keep(observed, standing, finding),
    };
    Plan {
        files: standing.map(|standing| standing.files(observed)),
        ..plan
    }
}

fn render(
    observed: &Observed,
    standing: Option<&Standing<'_>>,
    settings: &Settings,
) -> Result<Rendered, Finding> {
    let claim = &observed.claim;
    let class = observed.class.found().ok_or_else(|| class_missing(claim))?;
    let policy = network_policy(observed, class, settings);
    let placed = standing
        .map(|standing| standing.placed(class))
        .transpose()?;
    let (placement, dropped) = placed.unzip();
    let workspace = has_workspace(class)
        .then(|| volume(observed, settings.sandbox_fs_group))
        .transpose()?;
    let parts = (placement.as_ref(), workspace.as_ref());
    let deployment = to_value(&deployment(claim, class, parts, settings)?)?;
    let template = deployment.pointer("/spec/template").map(hash);
    Ok(Rendered {
        sealed: vec![
            seal(ObjectKind::NetworkPolicy, to_value(&policy.policy)?),
            seal(ObjectKind::Service, to_value(&service(claim, class))?),
            seal(ObjectKind::Deployment, deployment),
        ],
        template_hash: template.unwrap_or_default(),
        unresolved: policy.unresolved,
        dropped,
    })
}

fn to_value(object: &impl serde::Serialize) -> Result<Value, Finding> {
    serde_json::to_value(object).map_err(|error| Finding {
        reason: reason::INVALID_CLASS,
        message: format!("the class cannot be written as an object: {error}"),
    })
}

/// The class cannot be rendered (any more). A claim that bound keeps what stands while nothing has
/// to be written; otherwise it fails (C-034), and so it does where a credential has to go that can only go
/// with the pod (K-031).
fn keep(observed: &Observed, standing: Option<&Standing<'_>>, finding: Finding) -> Plan {
    let stands = ObjectKind::OWNED.iter().all(|kind| {
        let live = observed.live(*kind);
        live.is_some_and(|live| untouched(observed, *kind, live).unwrap_or(false))
    });
    let live = observed.deployment.as_ref();
    let urgent = standing.map_or(Urgent::No, |standing| standing.urgent(live));
    if !stands || urgent == Urgent::Revoke || !ever_bound(&observed.claim) {
        return Plan {
            urgent,
            ..Plan::nothing(Verdict::Fail(finding))
        };
    }
    let namespace = observed.claim.namespace().unwrap_or_default();
    Plan {
        ensure: baseline(observed.baseline.as_ref(), &namespace)
            .into_iter()
            .collect(),
        finished: finished(observed),
        ..Plan::nothing(Verdict::Build(Build::default()))
    }
}

/// Order matters: what shuts the sandbox stands before what runs it (O-037).
fn ensure(
    observed: &Observed,
    standing: Option<&Standing<'_>>,
    rendered: Rendered,
    now: Timestamp,
) -> Plan {
    let namespace = observed.claim.namespace().unwrap_or_default();
    let status = observed.claim.status.as_ref();
    let pinned = status.and_then(|status| status.template_hash.as_deref());
    let mut build = Build {
        standing_template: standing_template(observed, &rendered),
        unresolved: rendered.unresolved,
        dropped: rendered.dropped,
        ..Build::default()
    };
    let live = observed.deployment.as_ref();
    let urgent = standing.map_or(Urgent::No, |standing| standing.urgent(live));
    let mut intents: Vec<_> = baseline(observed.baseline.as_ref(), &namespace)
        .into_iter()
        .collect();
    for sealed in rendered.sealed {
        match needed(observed, standing, &sealed, now) {
            Need::Nothing => {}
            Need::Held(until) => build.held_until = Some(earliest(build.held_until, until)),
            Need::Write(action) => {
                let deployment = sealed.kind == ObjectKind::Deployment;
                if deployment {
                    build.rerendered = pinned.is_some_and(|hash| hash != rendered.template_hash);
                }
                let keeps_spec = deployment && matches!(action, Action::Verify(_));
                intents.push(Intent {
                    keeps_spec,
                    ..sealed.into_intent(observed, action, now)
                });
            }
        }
    }
    build.template_hash = Some(rendered.template_hash);
    let refusal = observed.memory.refusal.as_ref();
    if let Some(past) = refusal.filter(|_| urgent == Urgent::No) {
        let paused = intents.iter().position(|intent| {
            intent.kind == past.kind && intent.hash == past.intent && past.until > now
        });
        if let Some(position) = paused {
            intents.truncate(position);
            build.paused_until = Some(past.until);
        }
    }
    Plan {
        ensure: intents,
        urgent,
        finished: finished(observed),
        ..Plan::nothing(Verdict::Build(build))
    }
}

/// The template the standing Deployment was built from, where its annotation says that it is what
/// the class renders now.
fn standing_template(observed: &Observed, rendered: &Rendered) -> Option<String> {
    let live = observed.deployment.as_ref()?;
    let mut all = rendered.sealed.iter();
    let sealed = all.find(|sealed| sealed.kind == ObjectKind::Deployment)?;
    (live.intent.as_deref() == Some(sealed.hash.as_str())).then(|| rendered.template_hash.clone())
}

enum Need {
    Nothing,
    Held(Timestamp),
    Write(Action),
}

fn needed(
    observed: &Observed,
    standing: Option<&Standing<'_>>,
    sealed: &Sealed,
    now: Timestamp,
) -> Need {
    let Some(live) = observed.live(sealed.kind) else {
        return Need::Write(Action::Create);
    };
    let pinned = sealed.kind == ObjectKind::Deployment;
    if pinned && standing.is_some_and(|standing| standing.differs_from(live)) {
        return Need::Write(Action::Update(LiveRef::of(live)));
    }
    let held = observed.memory.held.get(&sealed.kind);
    if let Some(held) = held.filter(|held| held.digest == live.digest && held.until > now) {
        return Need::Held(held.until);
    }
    let same_intent = live.intent.as_deref() == Some(sealed.hash.as_str());
    let target = LiveRef::of(live);
    let known = untouched(observed, sealed.kind, live);
    // Certain when this very process wrote it last. A record of an earlier process may be older
    // than its last write: then an annotation that names another intent is a change of ours.
    let edited = known == Some(false) && wrote_here(observed, sealed.kind, live);
    let current = same_intent || pinned;
    match known {
        Some(true) if current => Need::Nothing,
        Some(false) | None if current || edited => Need::Write(Action::Verify(target)),
        _ => Need::Write(Action::Update(target)),
    }
}

fn record<'a>(
    observed: &'a Observed,
    kind: ObjectKind,
    live: &LiveObject,
) -> Option<&'a AppliedRecord> {
    let record = observed.memory.applied.get(&kind).map(AsRef::as_ref);
    record.filter(|record| record.uid == live.uid)
}

/// Whether the object is as we last wrote it; `None` when that is not known.
fn untouched(observed: &Observed, kind: ObjectKind, live: &LiveObject) -> Option<bool> {
    record(observed, kind, live).map(|record| record.digest == live.digest)
}

fn wrote_here(observed: &Observed, kind: ObjectKind, live: &LiveObject) -> bool {
    record(observed, kind, live).is_some_and(|record| record.intent.is_some())
}

fn earliest(present: Option<Timestamp>, other: Timestamp) -> Timestamp {
    present.map_or(other, |present| present.min(other))
}

/// Removes what a failed claim still has: its workload at once, and what shuts and names it once
/// the pods are gone (C-035).
pub(super) fn clean_up(observed: &Observed) -> Plan {
    let mine = |kind: ObjectKind| observed.live(kind).filter(|_| owns(observed, kind));
    let deployment = mine(ObjectKind::Deployment);
    let running =
        deployment.is_some() || !observed.replica_sets.is_empty() || !observed.pods.is_empty();
    let doomed: &[ObjectKind] = if running {
        &[ObjectKind::Deployment]
    } else {
        &[ObjectKind::Service, ObjectKind::NetworkPolicy]
    };
    let delete = doomed.iter().filter_map(|kind| {
        let live = mine(*kind).filter(|live| !live.deleting)?;
        Some(Deletion {
            kind: *kind,
            namespace: observed.claim.namespace().unwrap_or_default(),
            name: names::sandbox(&observed.claim.name_any()),
            live: LiveRef::of(live),
        })
    });
    let claim = &observed.claim;
    Plan {
        delete: delete.collect(),
        files: binds(&claim.spec).then(|| FilesIntent::of(claim, Vec::new())),
        finished: finished(observed),
        ..Plan::nothing(Verdict::Over)
    }
}
