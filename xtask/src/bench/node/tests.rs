use rstest::rstest;
use serde_json::{Value, json};

use super::*;

#[rstest]
#[case::made(json!({}), &[Part::Replica])]
#[case::scheduled(
    json!({ "spec": { "nodeName": "node", "containers": [] } }),
    &[Part::Replica, Part::Schedule]
)]
#[case::waiting(
    json!({
        "spec": { "nodeName": "node", "containers": [] },
        "status": { "containerStatuses": [status(&json!({ "waiting": {} }))] },
    }),
    &[Part::Replica, Part::Schedule]
)]
#[case::running(
    json!({
        "spec": { "nodeName": "node", "containers": [] },
        "status": { "containerStatuses": [status(&json!({ "running": {} }))] },
    }),
    &[Part::Replica, Part::Schedule, Part::Kubelet]
)]
#[case::ready(
    json!({
        "spec": { "nodeName": "node", "containers": [] },
        "status": {
            "containerStatuses": [status(&json!({ "running": {} }))],
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    }),
    &[Part::Replica, Part::Schedule, Part::Kubelet, Part::Probe]
)]
fn a_pod_shows_what_is_no_longer_waited_for(#[case] pod: Value, #[case] expected: &[Part]) {
    let pod: Pod = serde_json::from_value(pod).unwrap();
    assert_eq!(parts_of(&pod), expected);
}

fn status(state: &Value) -> Value {
    json!({
        "name": "sandbox", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state,
    })
}

#[test]
fn claims_meet_the_kubelet_in_every_tenth_of_its_second() {
    let mut tenths: Vec<u128> = (0..CLAIMS)
        .map(|index| pause(index).as_millis() / 100)
        .collect();
    tenths.sort_unstable();
    tenths.dedup();
    assert_eq!(tenths, (0..10).collect::<Vec<_>>());
}
