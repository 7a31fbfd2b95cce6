//! As whom each process of an installation asks.

use std::collections::BTreeSet;

use sandgate_e2e::service::Service;
use sandgate_e2e::{Cluster, Options, Outcome, OwnCluster, kubeconfig};
use serde_json::Value;

use crate::identities::{OPERATOR, class, pods, whoami};

/// Whom the controller asks as, too.
const PROBE: &str = "system:serviceaccount:sandgate-system:sandgate-policy-probe";

/// The users whose requests the audit log holds.
fn users(cluster: &OwnCluster) -> Outcome<BTreeSet<String>> {
    let log = std::fs::read_to_string(cluster.control_plane.audit_log())?;
    let mut users = BTreeSet::new();
    for line in log.lines() {
        let event: Value = serde_json::from_str(line)?;
        let user = event.pointer("/user/username").and_then(Value::as_str);
        users.insert(user.unwrap_or_default().to_owned());
    }
    Ok(users)
}

/// The arguments and the environment a process was started with.
fn given_to(process: u32) -> Outcome<String> {
    let read = |file: &str| std::fs::read(format!("/proc/{process}/{file}"));
    let bytes = [read("cmdline")?, read("environ")?].concat();
    Ok(String::from_utf8_lossy(&bytes).replace('\0', "\n"))
}

// Proves: X-017
#[tokio::test]
async fn each_process_is_its_own_service_account_and_the_webhook_has_no_credential() -> Outcome {
    let cluster = Cluster::own(Options::default()).await?;

    let file = cluster
        .control_plane
        .folder()
        .join("sandgate-controller-0.kubeconfig");
    let controller = whoami(kubeconfig::client(&file).await?).await?;
    assert_eq!(controller.username.as_deref(), Some(OPERATOR));
    assert_eq!(pods(&controller), ["sandgate-controller-0"]);
    assert!(controller.uid.is_some_and(|uid| !uid.is_empty()));

    // A write that the webhook judged, and then everybody who ever asked the API server.
    let namespace = cluster.namespace("judged").await?;
    namespace.accepts(&class()).await?;
    let users = users(&cluster)?;
    assert!(users.contains(OPERATOR), "{users:?}");
    let ours: Vec<_> = users
        .iter()
        // As the probe the controller is refused what the admission policy keeps.
        .filter(|user| user.contains("sandgate") && *user != PROBE)
        .collect();
    assert_eq!(ours, [OPERATOR], "the webhook has an account of its own");
    let webhook = cluster.installation.webhook.as_ref().and_then(Service::id);
    let given = given_to(webhook.unwrap_or_default())?;
    assert!(given.contains("sandgate-webhook"), "{given}");
    assert!(!given.to_lowercase().contains("kubeconfig"), "{given}");
    Ok(())
}
