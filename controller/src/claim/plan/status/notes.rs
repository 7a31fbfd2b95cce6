//! What is said beside the phase: Services that open nothing, writes that wait, strangers' edits.
//! Pure.

use kube::ResourceExt as _;
use sandgate_shared::{
    names,
    reason::{self, condition},
};

use super::{Report, conditions::Conditions};
use crate::claim::{
    observed::{ObjectKind, Observed},
    plan::{
        Build, ContentOutcome, FilesOutcome, Finding, Refusal, RefusalClass,
        gate::bound_before_policy, previous_remains,
    },
};

impl Report<'_> {
    /// Services of `egress.allowedServices` that open less than asked (O-030).
    pub(super) fn note_services(&self, conditions: &mut Conditions<'_>, build: &Build) {
        let name = condition::ALLOWED_SERVICES_RESOLVED;
        if !build.unresolved.is_empty() {
            let message = format!("egress.allowedServices: {}", build.unresolved.join("; "));
            conditions.set(name, false, reason::SERVICE_NOT_FOUND, &message);
        } else if self.observed.class.found().is_some() {
            let message = "every Service of egress.allowedServices is open";
            conditions.set_if_present(name, true, reason::SERVICES_RESOLVED, message);
        }
    }

    /// What is said of the Secret with the placed files where it is not as it should be. The API server's
    /// own words may quote what was sent and are not repeated (K-032).
    pub(super) fn files_trouble(&self) -> Option<Finding> {
        let name = names::placed_files(&self.observed.claim.name_any());
        match self.applied.files.as_ref()? {
            FilesOutcome::Done => None,
            FilesOutcome::LeftOver => Some(previous_remains("Secret", &name)),
            FilesOutcome::Conflict => Some(Finding {
                reason: reason::NAME_CONFLICT,
                message: format!(
                    "Secret {name} exists and does not belong to this claim; it was left as it is. Delete it, or make the claim again under another name"
                ),
            }),
            FilesOutcome::Refused(code) => {
                let answer = match code {
                    0 => "did not answer".to_owned(),
                    code => format!("answered {code}"),
                };
                Some(Finding {
                    reason: reason::WRITE_RETRIED,
                    message: format!(
                        "the API server {answer} when Secret {name} with the placed files was written; it is tried again by itself"
                    ),
                })
            }
        }
    }

    /// What is said of the workspace's PersistentVolumeClaim where the API server refuses it.
    pub(super) fn content_refused(&self) -> Option<Finding> {
        let ContentOutcome::Refused(refusal) = self.applied.content.as_ref()? else {
            return None;
        };
        Some(Finding {
            reason: reason::WAITING_FOR_STORAGE,
            message: format!(
                "the API server refused the PersistentVolumeClaim of the workspace's content: {}; correct the Workspace's spec.storage, or what refuses it. It is tried again by itself",
                refusal.message
            ),
        })
    }

    /// What strangers changed and what became of it (O-040). A record, hence never taken back; it
    /// is remembered until a status write carries it.
    pub(super) fn note_strangers(&self, conditions: &mut Conditions<'_>) {
        if let Some(finding) = &self.observed.memory.strangers {
            let name = condition::SANDBOX_MODIFIED;
            conditions.set(name, true, finding.reason, &finding.message);
        }
    }
}

/// The claim was admitted: a record that is never taken back, whatever becomes of the claim (C-012).
pub(super) fn note_admission(conditions: &mut Conditions<'_>) {
    let message = "the claim was admitted: it counts under its AgentRuntime's limits until it is over, also while its pod finds no room";
    conditions.set(condition::ADMITTED, true, reason::ADMITTED, message);
}

/// Connections that are not placed any more in the sandbox of a claim that bound (K-030).
pub(super) fn note_connections(conditions: &mut Conditions<'_>, build: &Build) {
    let name = condition::CONNECTIONS_CURRENT;
    let Some(dropped) = &build.dropped else {
        return;
    };
    if let Some(first) = dropped.first() {
        let told: Vec<_> = dropped
            .iter()
            .map(|it| it.failure.message.as_str())
            .collect();
        let message = format!("the sandbox runs without: {}", told.join("; "));
        conditions.set(name, false, first.failure.reason, &message);
    } else {
        let message = "every Connection that the claim binds is placed";
        conditions.set_if_present(name, true, reason::CONNECTIONS_PLACED, message);
    }
}

/// The egress proxy of a claim that bound: `Ready` speaks of the sandbox, which can be dialled without it.
pub(super) fn note_proxy(conditions: &mut Conditions<'_>, build: &Build) {
    let name = condition::EGRESS_PROXY_READY;
    match &build.proxy {
        Some(proxy) if proxy.down => {
            let finding = proxy.trouble.clone().unwrap_or_else(|| Finding {
                reason: reason::EGRESS_PROXY_NOT_READY,
                message: "the sandbox's egress proxy is not ready, so that the hosts of its Connections cannot be reached"
                    .to_owned(),
            });
            conditions.set(name, false, finding.reason, &finding.message);
        }
        proxy => {
            let message = if proxy.is_some() {
                "the sandbox's egress proxy answers"
            } else {
                "no Connection of the claim names a host, so it has no egress proxy"
            };
            conditions.set_if_present(name, true, reason::EGRESS_PROXY_READY, message);
        }
    }
}

/// Test hosts that the claim's Connections name (E-036).
pub(super) fn note_test_hosts(conditions: &mut Conditions<'_>, build: &Build) {
    let name = condition::INSECURE_EGRESS_TEST_HOSTS;
    let found = build.proxy.as_ref();
    if let Some(finding) = found.and_then(|proxy| proxy.test_hosts.as_ref()) {
        conditions.set(name, true, finding.reason, &finding.message);
    } else {
        let message = "no Connection of the claim names a test host";
        let reason = reason::NO_INSECURE_EGRESS_TEST_HOSTS;
        conditions.set_if_present(name, false, reason, message);
    }
}

/// A claim that was bound when the admission policy came. A record, hence never taken back (P-018).
pub(super) fn note_provenance(conditions: &mut Conditions<'_>, observed: &Observed) {
    if bound_before_policy(observed) {
        let message = "the claim was bound before the admission policy was installed, so nothing tells who wrote it: it keeps running, and its work is promoted nowhere";
        let name = condition::PROVENANCE_VERIFIED;
        conditions.set(name, true, reason::BOUND_BEFORE_POLICY, message);
    }
}

/// A refused write of a claim that bound: said beside `Ready`, which speaks of the sandbox (C-032).
pub(super) fn note_trouble(conditions: &mut Conditions<'_>, trouble: Option<Finding>) {
    let name = condition::OBJECTS_CURRENT;
    if let Some(finding) = trouble {
        conditions.set(name, false, finding.reason, &finding.message);
    } else {
        let message = "the claim's objects are as intended";
        conditions.set_if_present(name, true, reason::OBJECTS_WRITTEN, message);
    }
}

/// What is said of a write that the API server refused.
pub(super) fn refused_finding(kind: ObjectKind, refusal: &Refusal, class: RefusalClass) -> Finding {
    let (reason, rest) = match class {
        RefusalClass::Rejected => (
            reason::SANDBOX_REJECTED,
            "correct the class, or the policy that refuses it, and make the claim again",
        ),
        RefusalClass::OperatorForbidden => (
            reason::OPERATOR_FORBIDDEN,
            "the operator lacks this right: install its roles again. It keeps trying",
        ),
        RefusalClass::NamespaceTerminating | RefusalClass::Retry => {
            (reason::WRITE_RETRIED, "it is tried again by itself")
        }
    };
    let name = kind.described();
    Finding {
        reason,
        message: format!(
            "the API server refused the {name}: {}; {rest}",
            refusal.message
        ),
    }
}
