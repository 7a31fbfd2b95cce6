use rstest::rstest;
use serde_json::{Value, json};

use super::*;

const ASKED: Asked = Asked {
    read_only_root: true,
    memory_bytes: 128 << 20,
    cpu_milli: 500,
    scratch: "/tmp",
};

/// What a sandbox that is as it should be sees.
fn good() -> Value {
    let none = "0000000000000000";
    json!({
        "uid": 65532, "gid": 65532, "groups": [],
        "capabilities": {
            "effective": none, "permitted": none, "inheritable": none, "bounding": none,
            "ambient": none,
        },
        "no_new_privs": true,
        "seccomp": 2,
        "root_read_only": true,
        "mounts": [
            { "path": "/", "fstype": "overlay", "options": ["ro", "relatime"] },
            { "path": "/sys", "fstype": "sysfs", "options": ["ro", "nosuid"] },
            { "path": "/proc/sys", "fstype": "proc", "options": ["ro", "nosuid"] },
            { "path": "/tmp", "fstype": "tmpfs", "options": ["rw"] },
        ],
        "token_present": false,
        "cgroup": {
            "memory_max_bytes": 134_217_728, "cpu_quota_us": 50_000, "cpu_period_us": 100_000,
            "pids_max": null,
        },
        "service_env": ["KUBERNETES_SERVICE_HOST", "KUBERNETES_PORT"],
        "env_names": ["PATH"],
    })
}

fn judged(seen: Value) -> Vec<Check> {
    judge(&serde_json::from_value(seen).unwrap(), &ASKED)
}

#[test]
fn a_restricted_container_passes_every_check() {
    let wrong: Vec<Check> = judged(good()).into_iter().filter(|it| !it.holds).collect();
    assert_eq!(wrong, []);
}

#[rstest]
#[case("/uid", json!(0), "user")]
#[case("/capabilities/bounding", json!("00000000a80425fb"), "capabilities")]
#[case("/capabilities/effective", json!(null), "capabilities")]
#[case("/uid", json!(null), "user")]
#[case("/root_read_only", json!(null), "root filesystem")]
#[case("/no_new_privs", json!(false), "no new privileges")]
#[case("/seccomp", json!(0), "seccomp")]
#[case("/root_read_only", json!(false), "root filesystem")]
#[case("/mounts/1/options", json!(["rw", "nosuid"]), "/sys")]
#[case("/mounts/2/path", json!("/elsewhere"), "/proc/sys")]
#[case("/mounts/3/fstype", json!("ext4"), "scratch volume in memory")]
#[case("/token_present", json!(true), "ServiceAccount token")]
#[case("/cgroup/memory_max_bytes", json!(null), "memory limit")]
#[case("/cgroup/cpu_quota_us", json!(100_000), "CPU limit")]
#[case("/service_env/1", json!("NUMBERED_SERVICE_HOST"), "variables of other Services")]
fn each_weakness_is_found_by_its_own_check(
    #[case] pointer: &str,
    #[case] weakness: Value,
    #[case] check: &str,
) {
    let mut seen = good();
    *seen.pointer_mut(pointer).unwrap() = weakness;
    let wrong = judged(seen).into_iter().filter(|it| !it.holds);
    let wrong: Vec<String> = wrong.map(|it| it.about).collect();
    assert_eq!(wrong, [check]);
}

#[test]
fn a_class_that_leaves_the_root_writable_is_taken_at_its_word() {
    let mut seen = good();
    seen["root_read_only"] = json!(false);
    let asked = Asked {
        read_only_root: false,
        ..ASKED
    };
    let checks = judge(&serde_json::from_value(seen).unwrap(), &asked);
    assert!(checks.iter().all(|check| check.holds), "{checks:?}");
}
