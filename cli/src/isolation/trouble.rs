//! Why a run cannot go on: one sentence each, with the way out. Pure.

use kube::core::Status;

/// Why a run, or one scenario of it, cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// There is no kubeconfig.
    #[error("no cluster to measure: {0}; name one by --kubeconfig or the variable KUBECONFIG")]
    NoCluster(String),
    /// The API server does not answer.
    #[error("the API server does not answer ({0}); check the kubeconfig and the network to it")]
    Unreachable(String),
    /// Sandgate is not there.
    #[error(
        "Sandgate is not installed here: no Deployment bears app.kubernetes.io/name=sandgate and app.kubernetes.io/component=operator; install its chart first"
    )]
    NotInstalled,
    /// The CRD of agent runtimes is not there.
    #[error(
        "the kind AgentRuntime is not served here; install the platform that owns it, or Sandgate's chart with standalone: true"
    )]
    NoRuntimeKind,
    /// No node can be measured on.
    #[error("no node is Ready, schedulable and without taints{0}; name one that is by --node")]
    NoNode(String),
    /// A right is missing.
    #[error("may not {what}: {message}; run it as somebody who may, such as an administrator")]
    MayNot {
        /// What was tried.
        what: String,
        /// What the API server said.
        message: String,
    },
    /// The API server refused a write or read.
    #[error("failed to {what}: {message}")]
    Refused {
        /// What was tried.
        what: String,
        /// What the API server said.
        message: String,
    },
    /// The probe's image is not there.
    #[error(
        "image {image} cannot be pulled ({message}); name one that the nodes can pull, and that holds /sandgate-probe, by --image, or the Secret to pull it by, by --pull-secret"
    )]
    NoImage {
        /// Which.
        image: String,
        /// What the kubelet said.
        message: String,
    },
    /// A pod of ours did not come up.
    #[error("pod {pod} did not become {wanted} in {seconds} s: {message}")]
    PodStuck {
        /// Which.
        pod: String,
        /// What it should have become.
        wanted: &'static str,
        /// For how long was waited.
        seconds: u64,
        /// What is known of it.
        message: String,
    },
    /// A claim did not become what it should.
    #[error("claim {claim} did not become {wanted}: {message}")]
    ClaimStuck {
        /// Which.
        claim: String,
        /// What it should have become.
        wanted: &'static str,
        /// `reason: message` of its Ready condition.
        message: String,
    },
    /// A log could not be read.
    #[error(
        "failed to read the log of pod {pod} ({message}); the API server must reach the kubelet for it"
    )]
    NoLog {
        /// Whose.
        pod: String,
        /// What happened.
        message: String,
    },
    /// A probe ended without saying what it saw.
    #[error("the probe in pod {pod} did not say in {seconds} s what it saw; its log ends: {last}")]
    Mute {
        /// Which.
        pod: String,
        /// For how long.
        seconds: u64,
        /// The last line of its log.
        last: String,
    },
    /// Nothing arrived where something had to.
    #[error(
        "nothing of {sender} arrived at {label} in {seconds} s, so nothing can be measured by it"
    )]
    NothingArrives {
        /// Who should have sent.
        sender: String,
        /// Where to.
        label: String,
        /// For how long was waited.
        seconds: u64,
    },
    /// The node could not be disturbed.
    #[error("failed to {what}: {message}")]
    Undisturbed {
        /// What was tried.
        what: String,
        /// What happened.
        message: String,
    },
    /// The run itself broke.
    #[error("a fault in this measurement, please report it: {0}")]
    Broken(String),
    /// Some rights are missing.
    #[error(
        "may not {}; run it as somebody who may, such as an administrator", .0.join(", ")
    )]
    MissingRights(Vec<String>),
    /// The platform's kind does not take what a run makes of it.
    #[error(
        "the platform's AgentRuntime does not take the one that a run makes ({0}); measure with the sandgate of a release made for this platform, or on a cluster with Sandgate's chart and standalone: true"
    )]
    RuntimeRefused(String),
    /// The platform's kind drops the field that Sandgate goes by.
    #[error(
        "the platform's AgentRuntime drops spec.sandbox.enabled, without which Sandgate refuses every claim; install a version of the platform that has sandboxes"
    )]
    RuntimeWithoutSandbox,
    /// The Secret to pull by is not there or of no use.
    #[error(
        "Secret {secret} cannot be used to pull: {why}; name one by --pull-secret NAMESPACE/NAME"
    )]
    PullSecret {
        /// Which.
        secret: String,
        /// Why.
        why: String,
    },
    /// Somebody ended the run.
    #[error("stopped before the end")]
    Stopped,
}

impl Trouble {
    /// What a failed request means; `what` reads "create namespace x".
    pub fn of(what: impl Into<String>, error: kube::Error) -> Self {
        let what = what.into();
        let message = said(&error);
        match error {
            kube::Error::Api(status) if status.code == 403 && !is_admission(&status) => {
                Self::MayNot { what, message }
            }
            _ => Self::Refused { what, message },
        }
    }
}

/// What the API server said, or what happened to the connection to it.
pub fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => chain(other),
    }
}

/// Whether a 403 comes from an admission rule or a quota, not from missing rights.
fn is_admission(status: &Status) -> bool {
    !status.message.contains("cannot")
}

/// The error and its causes, joined by colons.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbidden(message: &str) -> kube::Error {
        kube::Error::Api(Box::new(Status {
            code: 403,
            message: message.to_owned(),
            ..Status::default()
        }))
    }

    #[test]
    fn a_missing_right_is_told_apart_from_a_rule_that_refuses() {
        let right = "namespaces is forbidden: User \"eve\" cannot create resource \"namespaces\"";
        let trouble = Trouble::of("create namespace x", forbidden(right)).to_string();
        assert!(
            trouble.ends_with("run it as somebody who may, such as an administrator"),
            "{trouble}"
        );
        let quota = "pods \"a\" is forbidden: exceeded quota: pods";
        let trouble = Trouble::of("create pod a", forbidden(quota)).to_string();
        assert_eq!(trouble, format!("failed to create pod a: {quota}"));
    }
}
