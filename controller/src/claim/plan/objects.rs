//! Which objects of a claim need a request now, and which are in the way. Pure.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use sandgate_shared::{api::SandboxClaim, checks::Dropped, reason};
use serde_json::Value;

use super::{
    Action, Build, Finding, Intent, LiveRef, Plan, Settings, Urgent, Verdict,
    baseline::baseline,
    cleaning::{without_allowlist, without_proxy},
    connected::{Connected, told_of_hosts},
    content_claim::content_claim,
    deployment::{Parts, deployment},
    finished::finished,
    gate::{class_missing, ever_bound, has_workspace},
    intent::{Sealed, seal},
    need::{Need, needed, untouched},
    network_policy::network_policy,
    service::service,
    workspace_volume::{mounted, volume},
};
use crate::claim::digest::hash;
use crate::claim::observed::{LiveObject, ObjectKind, Observed};

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
    let connected = Connected::of(observed, settings);
    Plan::nothing(match render(observed, &connected, settings) {
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
    let connected = Connected::of(observed, settings);
    let plan = match render(observed, &connected, settings) {
        Ok(rendered) => ensure(observed, &connected, rendered, (settings, now)),
        Err(finding) => keep(observed, &connected, finding, (settings, now)),
    };
    Plan {
        files: connected.files(observed),
        ..plan
    }
}

fn render(
    observed: &Observed,
    connected: &Connected<'_>,
    settings: &Settings,
) -> Result<Rendered, Finding> {
    let claim = &observed.claim;
    let class = observed.class.found().ok_or_else(|| class_missing(claim))?;
    let policy = network_policy(observed, class, connected.to_proxy(), settings);
    let (placement, dropped) = connected.placed(class)?.unzip();
    let workspace = has_workspace(class)
        .then(|| volume(observed, settings.sandbox_fs_group))
        .transpose()?;
    let told = connected.told(observed, class, settings);
    let render = |proxy| {
        let parts = Parts {
            placement: placement.as_ref(),
            workspace: workspace.as_ref(),
            proxy,
        };
        to_value(&deployment(claim, class, parts, settings)?)
    };
    let plain = render(None)?;
    // Without what it is told of its proxy, which is known only once that stands.
    let template = plain.pointer("/spec/template").map(hash);
    let deployment = match &told {
        None => plain,
        told => render(told.as_ref())?,
    };
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
/// with the pod (K-031). Its egress proxy follows the Connections all the same (E-011).
fn keep(
    observed: &Observed,
    connected: &Connected<'_>,
    finding: Finding,
    (settings, now): (&Settings, Timestamp),
) -> Plan {
    let stands = ObjectKind::OWNED.iter().all(|kind| {
        let live = observed.live(*kind);
        live.is_some_and(|live| untouched(observed, *kind, live).unwrap_or(false))
    });
    let urgent = connected.urgent(observed);
    if !stands || urgent == Urgent::Revoke || !ever_bound(&observed.claim) {
        return Plan {
            urgent,
            ..Plan::nothing(Verdict::Fail(finding))
        };
    }
    write(
        observed,
        connected,
        Vec::new(),
        Build::default(),
        (settings, now),
    )
}

/// Order matters: what shuts the sandbox stands before what runs it (O-037).
fn ensure(
    observed: &Observed,
    connected: &Connected<'_>,
    rendered: Rendered,
    (settings, now): (&Settings, Timestamp),
) -> Plan {
    let build = Build {
        standing_template: standing_template(observed, &rendered),
        template_hash: Some(rendered.template_hash),
        unresolved: rendered.unresolved,
        dropped: rendered.dropped,
        ..Build::default()
    };
    write(observed, connected, rendered.sealed, build, (settings, now))
}

/// Plans the writes of the proxy's objects and of these.
fn write(
    observed: &Observed,
    connected: &Connected<'_>,
    of_sandbox: Vec<Sealed>,
    mut build: Build,
    (settings, now): (&Settings, Timestamp),
) -> Plan {
    let namespace = observed.claim.namespace().unwrap_or_default();
    let urgent = connected.urgent(observed);
    let of_proxy = connected.sealed(observed, settings);
    build.proxy = connected.build(observed);
    let pokes = told_of_hosts(observed, &of_proxy, &mut build, now);
    let mut intents: Vec<_> = baseline(observed.baseline.as_ref(), &namespace)
        .into_iter()
        .collect();
    for sealed in of_proxy.into_iter().chain(of_sandbox) {
        if connected.holds_back(observed, sealed.kind, settings) {
            continue;
        }
        match needed(observed, connected, &sealed, now) {
            Need::Nothing => {}
            Need::Held(until) => build.held_until = Some(earliest(build.held_until, until)),
            Need::Write(action) => {
                if sealed.kind == ObjectKind::Deployment {
                    let status = observed.claim.status.as_ref();
                    let pinned = status.and_then(|status| status.template_hash.as_deref());
                    build.rerendered = pinned.is_some() && pinned != build.template_hash.as_deref();
                    connected.note_move(observed, &action, &mut build);
                }
                // One to be created may stand already, made by a write whose answer was lost.
                let keeps_spec = sealed.kind.runs_pods() && !matches!(action, Action::Update(_));
                intents.push(Intent {
                    keeps_spec,
                    ..sealed.into_intent(observed, action, now)
                });
            }
        }
    }
    if urgent == Urgent::No {
        build.paused_until = pause(observed, &mut intents, now);
    }
    let (delete, cut) = if !connected.has_proxy() {
        without_proxy(observed)
    } else if connected.is_stuck(observed) {
        without_allowlist(observed)
    } else {
        (Vec::new(), Vec::new())
    };
    Plan {
        ensure: intents,
        urgent,
        delete,
        cut,
        pokes,
        finished: finished(observed),
        ..Plan::nothing(Verdict::Build(build))
    }
}

/// Takes out a write that was refused and is not tried again yet, and what comes behind it; until when.
fn pause(observed: &Observed, intents: &mut Vec<Intent>, now: Timestamp) -> Option<Timestamp> {
    let past = observed.memory.refusal.as_ref()?;
    let position = intents.iter().position(|intent| {
        intent.kind == past.kind && intent.hash == past.intent && past.until > now
    })?;
    let mut index = 0;
    intents.retain(|intent| {
        let before = index < position;
        index += 1;
        before || !intent.kind.comes_behind(past.kind)
    });
    Some(past.until)
}

/// The template the standing Deployment was built from, where its annotation says that it is what
/// the class renders now.
fn standing_template(observed: &Observed, rendered: &Rendered) -> Option<String> {
    let live = observed.deployment.as_ref()?;
    let mut all = rendered.sealed.iter();
    let sealed = all.find(|sealed| sealed.kind == ObjectKind::Deployment)?;
    (live.intent.as_deref() == Some(sealed.hash.as_str())).then(|| rendered.template_hash.clone())
}

fn earliest(present: Option<Timestamp>, other: Timestamp) -> Timestamp {
    present.map_or(other, |present| present.min(other))
}
