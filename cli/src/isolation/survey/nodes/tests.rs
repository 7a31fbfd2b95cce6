use serde_json::{Value, json};

use super::*;

fn node(name: &str, spec: &Value, (system, architecture): (&str, &str)) -> NodeObject {
    serde_json::from_value(json!({
        "metadata": { "name": name },
        "spec": spec,
        "status": {
            "conditions": [{ "type": "Ready", "status": "True" }],
            "nodeInfo": {
                "operatingSystem": system, "architecture": architecture, "bootID": "",
                "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "",
                "kubeletVersion": "", "machineID": "", "osImage": "", "systemUUID": "",
            },
        },
    }))
    .unwrap()
}

fn taint(effect: &str) -> Value {
    json!({ "taints": [{ "key": "dedicated", "effect": effect }] })
}

#[test]
fn a_node_that_a_sandbox_cannot_run_on_is_passed_over_and_it_is_said_why() {
    let linux = ("linux", "amd64");
    let mut away = node("away", &json!({}), linux);
    away.status.as_mut().unwrap().conditions = None;
    let all = [
        node("windows", &json!({}), ("windows", "amd64")),
        node("arm", &json!({}), ("linux", "arm64")),
        node("cordoned", &json!({ "unschedulable": true }), linux),
        node("tainted", &taint("NoSchedule"), linux),
        away,
        node("good", &taint("PreferNoSchedule"), linux),
    ];
    let (fit, passed_over) = choose(&all, &["amd64".to_owned()]);
    let fit: Vec<String> = fit.into_iter().map(ResourceExt::name_any).collect();
    assert_eq!(fit, ["good"]);
    assert_eq!(
        passed_over,
        [
            "node windows is passed over: its system is windows, not linux",
            "node arm is passed over: its processors are arm64, and the operator's image is known to run on amd64",
            "node cordoned is passed over: it is cordoned",
            "node tainted is passed over: it has the taint dedicated:NoSchedule, which no sandbox tolerates",
            "node away is passed over: it is not Ready",
        ]
    );
    let told = Trouble::NoNode(none(Some("arm"), &passed_over)).to_string();
    assert!(
        told.contains("arm is not among them") && told.contains("arm64"),
        "{told}"
    );
}

#[test]
fn where_no_operator_runs_its_architecture_is_not_asked_for() {
    let all = [node("arm", &json!({}), ("linux", "arm64"))];
    assert_eq!(choose(&all, &[]).0.len(), 1);
}
