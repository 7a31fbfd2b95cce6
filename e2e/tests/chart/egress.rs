//! What the values say of egress proxies: the chart refuses what the controller would refuse when it starts.

use clap::Parser as _;
use rstest::rstest;
use sandgate_controller::flags::Flags;
use sandgate_e2e::{Failure, Outcome};
use serde_json::{Value, json};

use crate::rendered::Rendered;

const SPKI: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

fn values(egress: &Value) -> Value {
    json!({ "sandbox": { "egressProxy": egress } })
}

fn host(host: &str) -> Value {
    json!({ "host": host, "namespace": "e2e", "service": "login-fixture" })
}

/// What the chart says of values that it does not take.
async fn refused(egress: &Value) -> Outcome<String> {
    match Rendered::with(&values(egress)).await {
        Ok(_) => Err(Failure::saying(format!("the chart takes {egress}"))),
        Err(error) => Ok(error.to_string()),
    }
}

// Proves: E-027
#[rstest]
#[case::unacknowledged(json!({ "insecureTestHosts": [host("login.fixture.test")] }), "acknowledgeInsecureTestOnly")]
#[case::a_key_unacknowledged(json!({ "insecureTestSPKI": SPKI }), "acknowledgeInsecureTestOnly")]
#[case::no_name(json!({ "acknowledgeInsecureTestOnly": true, "insecureTestHosts": [host("login fixture")] }), "is no DNS name")]
#[case::one_label(json!({ "acknowledgeInsecureTestOnly": true, "insecureTestHosts": [host("login")] }), "is no DNS name")]
#[case::a_wildcard(json!({ "acknowledgeInsecureTestOnly": true, "insecureTestHosts": [host("*.fixture.test")] }), "is no DNS name")]
#[case::an_address(json!({ "acknowledgeInsecureTestOnly": true, "insecureTestHosts": [host("10.96.0.20")] }), "is no DNS name")]
#[case::upper_case(json!({ "acknowledgeInsecureTestOnly": true, "insecureTestHosts": [host("Login.fixture.test")] }), "is no DNS name")]
#[case::twice(json!({ "acknowledgeInsecureTestOnly": true, "insecureTestHosts": [host("a.test"), host("a.test")] }), "a.test twice")]
#[case::a_key_alone(json!({ "acknowledgeInsecureTestOnly": true, "insecureTestSPKI": SPKI }), "names none")]
#[case::no_key(json!({ "acknowledgeInsecureTestOnly": true, "insecureTestHosts": [host("a.test")], "insecureTestSPKI": "abc" }), "specifications")]
#[tokio::test]
async fn test_hosts_that_nobody_means_are_refused(
    #[case] egress: Value,
    #[case] says: &str,
) -> Outcome {
    let told = refused(&egress).await?;
    assert!(told.contains(says), "{told}");
    Ok(())
}

// Proves: E-027, E-028
#[tokio::test]
async fn the_controller_starts_with_what_the_chart_says_of_egress_proxies() -> Outcome {
    let peer = json!({ "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": "monitoring" } } });
    let egress = json!({
        "acknowledgeInsecureTestOnly": true,
        "denyCIDRs": ["34.118.224.0/20", "2600:1900::/28"],
        "insecureTestHosts": [host("login.fixture.test")],
        "insecureTestSPKI": SPKI,
        "metricsFrom": [peer],
    });
    let flags = started_with(&values(&egress)).await?;
    flags.egress.check()?;
    let settings = flags.settings().egress;
    assert_eq!(settings.deny.len(), 2);
    assert_eq!(serde_json::to_value(&settings.metrics_from)?, json!([peer]));
    let hosts = settings.test_hosts.unwrap();
    assert_eq!(hosts.hosts[0].host.as_str(), "login.fixture.test");
    assert_eq!(hosts.spki.as_deref(), Some(SPKI));
    Ok(())
}

// Proves: E-003
#[tokio::test]
async fn egress_proxies_run_from_the_operator_s_own_image() -> Outcome {
    let digest = format!("sha256:{}", "a".repeat(64));
    let image =
        json!({ "repository": "registry.test/sandgate", "digest": digest, "pullPolicy": "Always" });
    let values = json!({ "image": image });
    let settings = started_with(&values).await?.settings().egress;
    assert_eq!(settings.image, format!("registry.test/sandgate@{digest}"));
    assert_eq!(settings.image_pull_policy.as_str(), "Always");
    assert_eq!(settings.test_hosts, None);
    Ok(())
}

/// What the controller makes of its command line.
async fn started_with(values: &Value) -> Outcome<Flags> {
    let rendered = Rendered::with(values).await?;
    let line = rendered.command_line("controller")?;
    Ok(Flags::try_parse_from(
        line.into_iter().chain(["--identity=gate-0".to_owned()]),
    )?)
}
