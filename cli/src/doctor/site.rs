//! The installation as it is found: what it is called, and the names of what it consists of. Pure.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::Deployment;
use sandgate_shared::render::{Installation, WebhookEndpoint};

use crate::isolation::installed::{controller, told};

/// An installation and the objects of it that are known by name.
#[derive(Clone, Debug)]
pub struct Site {
    /// What its manifests are called.
    pub names: Installation,
    /// Names of the Secrets whose content makes an operator: the CA's, and token Secrets.
    pub secrets: BTreeSet<String>,
    /// Names of the admission policies that bear the installation's labels, and of their bindings.
    pub policies: BTreeSet<String>,
    /// Names of the records of the policy's first refusal.
    pub records: BTreeSet<String>,
}

impl Site {
    /// Reads the operator's Deployment; `None` if it is none. What else is known by name comes in with
    /// what is found.
    pub fn read(deployment: &Deployment) -> Option<Self> {
        let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
        let controller = controller(pod)?;
        let said = |flag: &str, variable: &str| told(controller, flag, variable);
        let release = said("--release", "SANDGATE_RELEASE");
        let release = release.unwrap_or_else(|| "sandgate".to_owned());
        let bound = said(
            "--require-pod-bound-token",
            "SANDGATE_REQUIRE_POD_BOUND_TOKEN",
        );
        let names = Installation {
            namespace: deployment.metadata.namespace.clone()?,
            service_account: pod.service_account_name.clone()?,
            require_pod_bound_token: bound.as_deref() != Some("false"),
            webhook: WebhookEndpoint::Service {
                name: format!("{release}-webhook"),
                port: 443,
            },
            release,
        };
        Some(Self {
            secrets: BTreeSet::from([format!("{}-webhook-certs", names.release)]),
            policies: BTreeSet::new(),
            records: BTreeSet::new(),
            names,
        })
    }
}
