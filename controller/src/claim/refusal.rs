//! What a refusal of the API server means for a claim (C-007, C-032). Pure.

/// What quotas say: there is no room; one was just made and nobody has counted yet; one is needed.
const OF_QUOTAS: [&str; 3] = [
    "exceeded quota",
    "status unknown for quota",
    "insufficient quota to",
];

/// A write that did not succeed, as the API server or the connection to it said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP code; 0 when there was no answer (a time-out, a broken connection).
    pub code: u16,
    /// `reason` of the Status, such as `Forbidden`.
    pub reason: String,
    /// `message` of the Status, or what happened to the connection.
    pub message: String,
    /// `details.causes[].reason` of the Status.
    pub causes: Vec<String>,
}

/// What follows from a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalClass {
    /// The API server will never take this object: it ends a claim that never bound.
    Rejected,
    /// Our own RBAC forbids the write: somebody has to fix the installation.
    OperatorForbidden,
    /// The namespace is going or gone: leave the claim alone.
    NamespaceTerminating,
    /// It may succeed later.
    Retry,
}

impl Refusal {
    /// Classifies the refusal; `operator` is the controller's own username.
    ///
    /// The API server answers 403 for four different things, told apart by the words its own code
    /// uses: RBAC names the user, a quota says [`OF_QUOTAS`], a namespace that is going says so in a
    /// cause, and the rest is admission.
    pub fn class(&self, operator: &str) -> RefusalClass {
        let terminating = self
            .causes
            .iter()
            .any(|cause| cause == "NamespaceTerminating")
            || (self.code == 403 && self.message.contains("because it is being terminated"));
        let namespace_gone =
            self.code == 404 && self.message.trim_start().starts_with("namespaces ");
        if terminating || namespace_gone {
            return RefusalClass::NamespaceTerminating;
        }
        match self.code {
            403 if self
                .message
                .contains(&format!("User \"{operator}\" cannot")) =>
            {
                RefusalClass::OperatorForbidden
            }
            403 if OF_QUOTAS.iter().any(|words| self.message.contains(words)) => {
                RefusalClass::Retry
            }
            400 | 403 | 422 => RefusalClass::Rejected,
            _ => RefusalClass::Retry,
        }
    }
}

/// Seconds until a write that was refused `attempts` times in a row is tried again: 1, 2, 4, up to
/// five minutes.
pub fn refusal_pause(attempts: u32) -> i64 {
    let exponent = attempts.saturating_sub(1).min(9);
    2_i64.saturating_pow(exponent).min(300)
}
