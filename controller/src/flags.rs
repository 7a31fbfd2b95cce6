//! The command line. Pure.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Parser};
use ipnet::IpNet;

use sandgate_shared::duration::GoDuration;
use sandgate_shared::mounts::MountRoles;
use sandgate_shared::names;
use sandgate_shared::net::label;
use sandgate_shared::render::{Installation, WebhookEndpoint};

use crate::claim::plan::{DnsTarget, Settings};

mod content;
mod egress;
mod name;
mod network;
mod webhook;

pub use egress::TestHostsError;

use content::ContentFlags;
use egress::EgressFlags;
use network::Labels;

/// The claim controller of Sandgate: makes a network-isolated sandbox of each SandboxClaim, and looks
/// after the webhook's certificates.
#[derive(Clone, Debug, Parser)]
#[command(name = "sandgate-controller", version)]
pub struct Flags {
    /// Name of the installation; Lease, Secret and webhook configurations are named after it.
    #[arg(
        long,
        env = "SANDGATE_RELEASE",
        default_value = "sandgate",
        value_parser = name::release,
        value_name = "NAME"
    )]
    pub release: String,
    /// Namespace the operator runs in.
    #[arg(
        long,
        env = "POD_NAMESPACE",
        default_value = "sandgate-system",
        value_parser = label::namespace,
        value_name = "NAME"
    )]
    pub namespace: String,
    /// ServiceAccount the operator runs as.
    #[arg(
        long,
        env = "SANDGATE_SERVICE_ACCOUNT",
        default_value = "sandgate-controller",
        value_parser = name::service_account,
        value_name = "NAME"
    )]
    pub service_account: String,
    /// Directory the webhook reads its certificates from.
    #[arg(long, env = "SANDGATE_TLS_DIR", value_name = "DIR")]
    pub tls_dir: PathBuf,
    /// Address of /livez, /readyz and /metrics.
    #[arg(
        long,
        env = "SANDGATE_HEALTH_LISTEN",
        default_value = "[::]:8082",
        value_parser = sandgate_listener::address,
        value_name = "ADDRESS:PORT"
    )]
    pub health_listen: SocketAddr,
    /// Name of this replica, different from every other's: it holds the Lease.
    #[arg(
        long,
        env = "POD_NAME",
        value_parser = NonEmptyStringValueParser::new(),
        value_name = "NAME"
    )]
    pub identity: String,
    /// Kubeconfig to connect by; without it KUBECONFIG, then the pod's own ServiceAccount.
    #[arg(long, value_name = "PATH")]
    pub kubeconfig: Option<PathBuf>,
    /// How long a silent leader keeps the Lease, in whole seconds such as 15s.
    #[arg(long, env = "SANDGATE_LEASE_DURATION", default_value = "15s", value_parser = seconds, value_name = "DURATION")]
    pub lease_duration: Duration,
    /// How long after the admission policy came into force a claim must have been created to count as
    /// the operator's own, in whole seconds such as 60s.
    #[arg(
        long,
        env = "SANDGATE_CLAIM_POLICY_GRACE",
        default_value = "60s",
        value_parser = seconds,
        value_name = "DURATION"
    )]
    pub claim_policy_grace: Duration,
    /// How long a claim may stay unused where its AgentRuntime sets no idleTimeout, such as 30m or 1h30m.
    #[arg(
        long,
        env = "SANDGATE_DEFAULT_IDLE_TIMEOUT",
        default_value = "30m",
        value_parser = wait,
        value_name = "DURATION"
    )]
    pub default_idle_timeout: Duration,
    /// Group by which a sandbox's user reads the files that Connections place; leave it out where the
    /// cluster gives each pod a group itself.
    #[arg(long, env = "SANDGATE_SANDBOX_FS_GROUP", value_name = "GID")]
    pub sandbox_fs_group: Option<u32>,
    /// Label key on an AgentRuntime's pods whose value is the runtime's name.
    #[arg(
        long,
        env = "SANDGATE_RUNTIME_POD_LABEL",
        default_value = "omnia.altairalabs.ai/agent-runtime",
        value_parser = network::label_key,
        value_name = "KEY"
    )]
    pub runtime_pod_label: String,
    /// Namespace of the cluster's DNS pods.
    #[arg(
        long,
        env = "SANDGATE_DNS_NAMESPACE",
        default_value = "kube-system",
        value_parser = label::namespace,
        value_name = "NAME"
    )]
    pub dns_namespace: String,
    /// Labels of the cluster's DNS pods; those that carry all of them are opened.
    #[arg(
        long,
        env = "SANDGATE_DNS_POD_LABEL",
        default_value = "k8s-app=kube-dns",
        value_parser = network::labels,
        value_name = "KEY=VALUE[,KEY=VALUE]"
    )]
    pub dns_pod_label: Labels,
    /// Port the cluster's DNS answers at, opened at its pods and at its addresses alike; where pods
    /// listen at another port than their Service's or a cache's, give both.
    #[arg(
        long,
        env = "SANDGATE_DNS_PORT",
        default_value = "53",
        value_delimiter = ',',
        value_parser = network::port,
        value_name = "PORT"
    )]
    pub dns_port: Vec<u16>,
    /// Address of the cluster's DNS that is no pod's, such as that of a cache on each node; may be
    /// given more than once.
    #[arg(
        long,
        env = "SANDGATE_DNS_ADDRESS",
        value_delimiter = ',',
        value_parser = network::address,
        value_name = "IP|CIDR"
    )]
    pub dns_address: Vec<IpNet>,
    /// Open each allowed Service by its own address too, for a network whose policies judge a packet
    /// before that address is translated to a pod's.
    #[arg(
        long,
        env = "SANDGATE_JUDGES_BEFORE_TRANSLATION",
        default_value_t = false,
        default_missing_value = "true",
        num_args = 0..=1,
        action = ArgAction::Set,
        value_name = "true|false"
    )]
    pub judges_before_translation: bool,
    /// The cluster's DNS domain.
    #[arg(
        long,
        env = "SANDGATE_CLUSTER_DOMAIN",
        default_value = "cluster.local",
        value_parser = name::domain,
        value_name = "DOMAIN"
    )]
    pub cluster_domain: String,
    /// Whether admission takes only a token bound to a pod for the operator's; says so at start if
    /// the controller's own token is not one.
    #[arg(
        long,
        env = "SANDGATE_REQUIRE_POD_BOUND_TOKEN",
        default_value_t = true,
        action = ArgAction::Set,
        value_name = "true|false"
    )]
    pub require_pod_bound_token: bool,
    /// Where the API server reaches the webhook if not through the Service <release>-webhook of the
    /// operator's namespace, without a path.
    #[arg(
        long,
        env = "SANDGATE_WEBHOOK_URL",
        value_parser = webhook::url,
        value_name = "https://HOST[:PORT]"
    )]
    pub webhook_url: Option<String>,
    /// Mount roles that claims may bind, as a JSON list of objects with name, path, mustExist and
    /// minRole. A wrong one keeps the controller from starting.
    #[arg(
        long,
        env = "SANDGATE_SANDBOX_MOUNT_ROLES",
        default_value = "[]",
        value_name = "JSON"
    )]
    pub sandbox_mount_roles: MountRoles,
    /// Where the content of workspaces is.
    #[command(flatten)]
    pub content: ContentFlags,
    /// How egress proxies are made.
    #[command(flatten)]
    pub egress: EgressFlags,
}

impl Flags {
    /// The username that the API server knows the operator by.
    pub fn operator_username(&self) -> String {
        self.installation().identity().username
    }

    /// What this process is part of; manifests rendered for it are those that ought to stand.
    pub fn installation(&self) -> Installation {
        Installation {
            release: self.release.clone(),
            namespace: self.namespace.clone(),
            service_account: self.service_account.clone(),
            require_pod_bound_token: self.require_pod_bound_token,
            webhook: match &self.webhook_url {
                Some(url) => WebhookEndpoint::Url(url.clone()),
                None => WebhookEndpoint::Service {
                    name: names::webhook_service(&self.release),
                    port: 443,
                },
            },
        }
    }

    /// Name of the Lease.
    pub fn lease(&self) -> String {
        format!("{}-controller", self.release)
    }

    /// What a claim's plan needs to know.
    pub fn settings(&self) -> Settings {
        Settings {
            cluster_domain: self.cluster_domain.clone(),
            runtime_pod_label: self.runtime_pod_label.clone(),
            dns: DnsTarget {
                namespace: self.dns_namespace.clone(),
                pod_labels: self.dns_pod_label.0.clone(),
                ports: self.dns_port.iter().copied().collect(),
                addresses: self.dns_address.iter().copied().collect(),
            },
            judges_before_translation: self.judges_before_translation,
            operator_username: self.operator_username(),
            sandbox_fs_group: self.sandbox_fs_group.map(i64::from),
            content: self.content.settings(),
            egress: self.egress.settings(),
            claim_policy_grace: self.claim_policy_grace,
            default_idle_timeout: self.default_idle_timeout,
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.strip_suffix('s').unwrap_or(text).parse::<u64>() {
        Ok(seconds @ 1..=3600) => Ok(Duration::from_secs(seconds)),
        _ => Err("must be 1s to 3600s, in whole seconds".to_owned()),
    }
}

fn wait(text: &str) -> Result<Duration, String> {
    let duration: Result<GoDuration, _> = text.parse();
    let wait = duration.ok().and_then(GoDuration::positive);
    wait.ok_or_else(|| "must be longer than nothing, such as 30m or 1h30m".to_owned())
}

#[cfg(test)]
mod tests;
