//! `sandgate doctor`, asked about Sandgate as Helm installed it on a node where it runs.

use sandgate_e2e::pair::Pair;
use sandgate_e2e::{Cluster, Outcome, own_binaries};
use sandgate_shared::render::Installation as Names;
use serde_json::Value;
use tokio::process::Command;

/// What the report says of who may do what only the operator should.
fn holders<'a>(report: &'a Value, standing: &str) -> Vec<&'a str> {
    let holders = report["holders"].as_array().into_iter().flatten();
    let of_standing = holders.filter(|holder| holder["standing"] == standing);
    let names = of_standing.filter_map(|holder| holder["subject"]["name"].as_str());
    names.collect()
}

// Proves: P-006, P-011, P-012, P-029
#[tokio::test]
async fn a_doctor_finds_sandgate_sound_where_it_was_installed_by_helm_and_runs() -> Outcome {
    let cluster = Cluster::node().await?;
    Pair::ours(&cluster).record().await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("doctor.json");
    let said = Command::new(own_binaries::folder().join("sandgate"))
        .args(["doctor", "--kubeconfig"])
        .arg(&cluster.access().kubeconfig)
        .arg("--json")
        .arg(&file)
        .kill_on_drop(true)
        .output()
        .await?;
    let words = String::from_utf8_lossy(&said.stdout);
    let trouble = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(0), "{words}{trouble}");
    let report: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    assert_eq!(report["sound"], true, "{words}");
    let checks = report["checks"].as_array().unwrap();
    let failed = checks.iter().filter(|check| check["holds"] != true);
    assert_eq!(failed.count(), 0, "{words}");
    let checked: Vec<&str> = checks.iter().filter_map(|it| it["id"].as_str()).collect();
    for id in ["kinds", "policy", "replicas", "webhooks"] {
        assert!(checked.contains(&id), "{id}: {checked:?}");
    }
    let names = Names::default();
    assert_eq!(holders(&report, "finding"), [""; 0], "{words}");
    assert_eq!(holders(&report, "sandgate"), [names.service_account]);
    assert_eq!(report["installation"]["namespace"], names.namespace);
    // How soon the policy was seen to refuse.
    let policy = checks.iter().find(|check| check["id"] == "policy");
    let policy = policy.unwrap()["said"].to_string();
    assert!(policy.contains("it was first seen to refuse"), "{policy}");
    Ok(())
}
