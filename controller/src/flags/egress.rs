//! How the egress proxies of claims are made. Pure.

use clap::Args;
use ipnet::IpNet;
use k8s_openapi::api::networking::v1::NetworkPolicyPeer;
use sandgate_shared::api::sandbox_class::ImagePullPolicy;
use sandgate_shared::net::host::Host;
use sandgate_shared::net::label;

use crate::claim::observed::ServiceKey;
use crate::claim::plan::{EgressSettings, TestHost, TestHosts};

/// The flag that gives test hosts.
const TEST_HOSTS: &str = "sandbox-egress-insecure-test-hosts";
/// The flag without which they are refused.
const ACKNOWLEDGEMENT: &str = "sandbox-egress-acknowledge-insecure-test-only";
/// Length of the SHA-256 of a key in base64, its padding included.
const SPKI_LENGTH: usize = 44;

/// Why the controller does not start with its test hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TestHostsError {
    /// A flag is set alone.
    #[error(
        "failed to take up test hosts: --{TEST_HOSTS} lets sandboxes reach private addresses of the cluster; on a test cluster, say so with --{ACKNOWLEDGEMENT}"
    )]
    Unacknowledged,
    /// One name, two Services.
    #[error("failed to take up test hosts: {0} is given twice; give it once")]
    Twice(String),
    /// A key without hosts.
    #[error(
        "failed to take up test hosts: a key is to be trusted, and no host is a test host; give --{TEST_HOSTS}, too"
    )]
    KeyAlone,
}

/// Who may read the metrics of egress proxies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricsFrom(pub Vec<NetworkPolicyPeer>);

/// How the egress proxies of claims are made.
#[derive(Clone, Debug, Args)]
pub struct EgressFlags {
    /// The operator's own image, from which egress proxies run, too.
    #[arg(
        long = "egress-proxy-image",
        env = "SANDGATE_EGRESS_PROXY_IMAGE",
        default_value = EgressSettings::IMAGE,
        value_name = "IMAGE"
    )]
    pub image: String,
    /// When kubelets fetch it: Always, IfNotPresent or Never.
    #[arg(
        long = "egress-proxy-image-pull-policy",
        env = "SANDGATE_EGRESS_PROXY_IMAGE_PULL_POLICY",
        default_value = "IfNotPresent",
        value_parser = pull_policy,
        value_name = "POLICY"
    )]
    pub image_pull_policy: ImagePullPolicy,
    /// Who may read the metrics of egress proxies: a JSON list as `from` in a NetworkPolicy. Nobody if
    /// empty.
    #[arg(
        long = "egress-proxy-metrics-from",
        env = "SANDGATE_EGRESS_PROXY_METRICS_FROM",
        default_value = "[]",
        value_parser = metrics_from,
        value_name = "JSON"
    )]
    pub metrics_from: MetricsFrom,
    /// Networks that no egress proxy reaches though they look public, such as those of pods, Services and
    /// nodes in public space; may be given more than once.
    #[arg(
        long = "egress-proxy-deny-cidr",
        env = "SANDGATE_EGRESS_PROXY_DENY_CIDR",
        value_delimiter = ',',
        value_parser = denied,
        value_name = "CIDR"
    )]
    pub deny: Vec<IpNet>,
    /// For test clusters only: hosts that in-cluster Services stand for on port 443, if a Connection names
    /// them; may be given more than once.
    #[arg(
        long = TEST_HOSTS,
        value_delimiter = ',',
        value_parser = test_host,
        value_name = "HOST=NAMESPACE/SERVICE"
    )]
    pub test_hosts: Vec<TestHost>,
    /// Says that this is a test cluster; test hosts are refused without it.
    #[arg(long = ACKNOWLEDGEMENT)]
    pub acknowledged: bool,
    /// Base64 of the SHA-256 of the test hosts' public key, for browsers of sandboxes that reach nothing
    /// else to trust.
    #[arg(
        long = "sandbox-egress-insecure-test-spki",
        value_parser = spki,
        value_name = "BASE64"
    )]
    pub test_spki: Option<String>,
}

impl EgressFlags {
    /// Whether test hosts, if there are any, may be taken up (E-028).
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), TestHostsError> {
        let hosts = &self.test_hosts;
        let any = !hosts.is_empty() || self.test_spki.is_some();
        if any && !self.acknowledged {
            return Err(TestHostsError::Unacknowledged);
        }
        if hosts.is_empty() && self.test_spki.is_some() {
            return Err(TestHostsError::KeyAlone);
        }
        for (index, one) in hosts.iter().enumerate() {
            let mut before = hosts.iter().take(index);
            if before.any(|other| other.host == one.host) {
                return Err(TestHostsError::Twice(one.host.as_str().to_owned()));
            }
        }
        Ok(())
    }

    /// The test hosts in words, to be logged; none in every cluster but one for tests.
    pub fn told(&self) -> Option<String> {
        let told = |it: &TestHost| {
            let ServiceKey { namespace, name } = &it.service;
            format!("{}={namespace}/{name}", it.host.as_str())
        };
        let told: Vec<_> = self.test_hosts.iter().map(told).collect();
        (!told.is_empty()).then(|| told.join(","))
    }

    /// What a claim's plan needs to know.
    pub fn settings(&self) -> EgressSettings {
        let hosts = self.test_hosts.clone();
        let test_hosts = (self.acknowledged && !hosts.is_empty()).then(|| TestHosts {
            hosts,
            spki: self.test_spki.clone(),
        });
        EgressSettings {
            image: self.image.clone(),
            image_pull_policy: self.image_pull_policy,
            metrics_from: self.metrics_from.0.clone(),
            deny: self.deny.clone(),
            test_hosts,
        }
    }
}

fn pull_policy(text: &str) -> Result<ImagePullPolicy, String> {
    let all = [
        ImagePullPolicy::Always,
        ImagePullPolicy::IfNotPresent,
        ImagePullPolicy::Never,
    ];
    let found = all.into_iter().find(|policy| policy.as_str() == text);
    found.ok_or_else(|| "must be Always, IfNotPresent or Never".to_owned())
}

fn metrics_from(text: &str) -> Result<MetricsFrom, String> {
    let peers: Vec<NetworkPolicyPeer> = serde_json::from_str(text)
        .map_err(|error| format!("must be a JSON list as `from` in a NetworkPolicy: {error}"))?;
    if peers.contains(&NetworkPolicyPeer::default()) {
        return Err("holds an entry without podSelector, namespaceSelector or ipBlock, which no NetworkPolicy takes".to_owned());
    }
    Ok(MetricsFrom(peers))
}

fn denied(text: &str) -> Result<IpNet, String> {
    let written = || "must be a CIDR, such as 34.118.224.0/20".to_owned();
    let network: IpNet = text.parse().map_err(|_| written())?;
    if network.trunc() != network {
        let whole = network.trunc();
        return Err(format!(
            "has bits set beyond its length; write {whole} for the network"
        ));
    }
    Ok(network)
}

/// Reads `HOST=NAMESPACE/SERVICE`.
fn test_host(text: &str) -> Result<TestHost, String> {
    let written = || {
        "must be HOST=NAMESPACE/SERVICE, such as login.fixture.test=e2e/login-fixture".to_owned()
    };
    let (host, service) = text.split_once('=').ok_or_else(written)?;
    let (namespace, name) = service.split_once('/').ok_or_else(written)?;
    let host: Host = host.parse().map_err(|error| format!("{error}"))?;
    if !label::is_label(namespace) || !label::is_label(name) {
        return Err(written());
    }
    Ok(TestHost {
        host,
        service: ServiceKey {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        },
    })
}

fn spki(text: &str) -> Result<String, String> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    let sound = text.len() == SPKI_LENGTH
        && text
            .strip_suffix('=')
            .is_some_and(|rest| rest.bytes().all(letter));
    sound.then(|| text.to_owned()).ok_or_else(|| {
        "must be the base64 of a SHA-256: 43 letters, digits, '+' and '/', and '='".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Debug, Parser)]
    struct Only {
        #[command(flatten)]
        egress: EgressFlags,
    }

    fn parse(flags: &[&str]) -> Result<EgressFlags, clap::Error> {
        let all = ["sandgate-controller"].iter().chain(flags);
        Only::try_parse_from(all).map(|only| only.egress)
    }

    const HOST: &str = "--sandbox-egress-insecure-test-hosts=login.fixture.test=e2e/login-fixture";
    const SPKI: &str =
        "--sandbox-egress-insecure-test-spki=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const SAYS_SO: &str = "--sandbox-egress-acknowledge-insecure-test-only";

    // Proves: E-028
    #[rstest]
    #[case::hosts(&[HOST], TestHostsError::Unacknowledged)]
    #[case::a_key(&[SPKI], TestHostsError::Unacknowledged)]
    #[case::a_key_alone(&[SPKI, SAYS_SO], TestHostsError::KeyAlone)]
    #[case::twice(&[HOST, HOST, SAYS_SO], TestHostsError::Twice("login.fixture.test".to_owned()))]
    fn test_hosts_are_refused(#[case] flags: &[&str], #[case] error: TestHostsError) {
        assert_eq!(parse(flags).unwrap().check(), Err(error));
    }

    // Proves: E-028
    #[test]
    fn test_hosts_are_taken_up_with_their_acknowledgement() {
        let flags = parse(&[HOST, SPKI, SAYS_SO]).unwrap();
        flags.check().unwrap();
        assert_eq!(
            flags.told().unwrap(),
            "login.fixture.test=e2e/login-fixture"
        );
        let taken = flags.settings().test_hosts.unwrap();
        assert_eq!(taken.hosts[0].service.name, "login-fixture");
        assert!(taken.spki.is_some());
        let none = parse(&[]).unwrap();
        none.check().unwrap();
        assert_eq!((none.told(), none.settings().test_hosts), (None, None));
    }

    #[rstest]
    #[case(
        "--sandbox-egress-insecure-test-hosts=login.fixture.test",
        "such as login.fixture.test=e2e/login-fixture"
    )]
    #[case(
        "--sandbox-egress-insecure-test-hosts=fixture=e2e/login",
        "at least two labels"
    )]
    #[case(
        "--sandbox-egress-insecure-test-hosts=*.fixture.test=e2e/login",
        "letters, digits and '-'"
    )]
    #[case(
        "--sandbox-egress-insecure-test-hosts=a.test=e2e/Login",
        "must be HOST=NAMESPACE/SERVICE"
    )]
    #[case(
        "--sandbox-egress-insecure-test-spki=abc",
        "must be the base64 of a SHA-256"
    )]
    #[case(
        "--egress-proxy-image-pull-policy=always",
        "must be Always, IfNotPresent or Never"
    )]
    #[case("--egress-proxy-metrics-from={}", "must be a JSON list")]
    #[case("--egress-proxy-metrics-from=[{}]", "which no NetworkPolicy takes")]
    #[case("--egress-proxy-deny-cidr=34.118.224.1/20", "write 34.118.224.0/20")]
    #[case("--egress-proxy-deny-cidr=nodes", "must be a CIDR")]
    fn a_wrong_value_is_refused_with_the_way_out(#[case] flag: &str, #[case] told: &str) {
        let error = parse(&[flag]).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }

    #[test]
    fn peers_are_read_as_a_network_policy_has_them() {
        let flags = parse(&[
            r#"--egress-proxy-metrics-from=[{"namespaceSelector":{"matchLabels":{"a":"b"}}}]"#,
            "--egress-proxy-deny-cidr=34.118.224.0/20,2600:1900::/28",
        ]);
        let settings = flags.unwrap().settings();
        assert_eq!(settings.metrics_from.len(), 1);
        assert_eq!(settings.deny.len(), 2);
    }
}
