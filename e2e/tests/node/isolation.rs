//! Sandboxes are shut in, measured by the command that anybody can run against their own cluster.

use std::net::Ipv4Addr;

use sandgate_e2e::own_binaries;
use sandgate_e2e::real_node::{NODE, OUTSIDE, TCP_PORTS, UDP_PORTS};
use sandgate_e2e::{Cluster, Failure, Outcome};
use tokio::process::Command;

/// Runs `sandgate isolation` with these scenarios; what it prints is what a failed test shows.
async fn isolation(scenarios: &[&str]) -> Outcome {
    let cluster = Cluster::node().await?;
    let binary = own_binaries::folder().join("sandgate");
    let [first, second, third] = OUTSIDE;
    let outside = |how: &str, host: Ipv4Addr, port: Option<u16>| match port {
        Some(port) => format!("--outside={how}:{host}:{port}"),
        None => format!("--outside={how}:{host}"),
    };
    let said = Command::new(binary)
        .arg("isolation")
        .arg("--kubeconfig")
        .arg(&cluster.access().kubeconfig)
        .args(["--node", NODE])
        .args([
            outside("tcp", first, Some(TCP_PORTS[0])),
            outside("udp", second, Some(UDP_PORTS[0])),
            outside("icmp", third, None),
        ])
        .args(scenarios.iter().map(|id| format!("--only={id}")))
        .kill_on_drop(true)
        .output()
        .await?;
    if said.status.success() {
        return Ok(());
    }
    Err(Failure::saying(format!(
        "{}\n{}",
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr)
    )))
}

// Proves: O-023, O-024, O-025, O-026, O-027
#[tokio::test]
async fn a_sandbox_reaches_what_its_class_opens_and_nothing_else() -> Outcome {
    isolation(&[
        "deny-all",
        "dns",
        "numbered-port",
        "named-port",
        "other-namespace",
    ])
    .await
}

// Proves: O-022
#[tokio::test]
async fn a_sandbox_is_reached_by_its_own_runtime_on_its_class_ports_and_by_nobody_else() -> Outcome
{
    isolation(&["ingress"]).await
}

// Proves: O-023
#[tokio::test]
async fn sandboxes_started_at_once_or_again_are_shut_from_their_first_millisecond() -> Outcome {
    isolation(&["parallel", "restart"]).await
}

// Proves: O-037
#[tokio::test]
async fn a_sandbox_that_will_not_end_stays_shut_to_its_end() -> Outcome {
    isolation(&[
        "claim-deleted-background",
        "claim-deleted-foreground",
        "policy-deleted",
        "claim-failed",
    ])
    .await
}
