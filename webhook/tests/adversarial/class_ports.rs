//! Ports of a class, and what refers to them, for both kinds of class.

use rstest::rstest;
use sandgate_shared::rules::Subject;
use serde_json::{Value, json};

use crate::objects::{set, user};
use crate::tables::{Row, same, tried};

// Proves: T-043, T-057, T-058, T-078
#[rstest]
#[case(Subject::SandboxClass)]
#[case(Subject::ClusterSandboxClass)]
fn ports_are_few_named_once_and_known_to_whoever_names_them(#[case] class: Subject) {
    let port = |name: &str, number: i64| json!({"name": name, "port": number});
    let ports = |list: Value| vec![set("/spec/ports", list)];
    let many = |count: i64| {
        (0..count)
            .map(|at| port(&format!("p{at}"), 8000 + at))
            .collect::<Value>()
    };
    let mut rows: Vec<Row> = [
        ("no port", ports(json!([])), "422 schema-min-items"),
        ("nine ports", ports(many(9)), "422 schema-max-items"),
        (
            "a name twice",
            ports(json!([port("a", 1), port("a", 2)])),
            "422 class-port-names-unique",
        ),
        (
            "a number twice",
            ports(json!([port("a", 1), port("b", 1)])),
            "422 class-port-numbers-unique",
        ),
        ("port 0", ports(json!([port("a", 0)])), "422 schema-minimum"),
        (
            "port 65536",
            ports(json!([port("a", 65536)])),
            "422 schema-maximum",
        ),
        (
            "a name in capitals",
            ports(json!([port("A", 1)])),
            "422 class-port-name",
        ),
        (
            "a name of digits",
            ports(json!([port("80", 1)])),
            "422 class-port-name",
        ),
        (
            "two dashes",
            ports(json!([port("a--b", 1)])),
            "422 class-port-name",
        ),
        (
            "16 characters",
            ports(json!([port(&"a".repeat(16), 1)])),
            "422 schema-max-length",
        ),
    ]
    .into_iter()
    .map(|(name, bends, expected)| (name, bends, expected, "422"))
    .collect();
    rows.push((
        "eight ports",
        ports(many(8)),
        "",
        "422 class-ports-immutable",
    ));
    rows.extend(same(vec![
        (
            "readiness on a port it has not",
            vec![set("/spec/readiness", json!({"port": "web"}))],
            "422 class-readiness-port",
        ),
        (
            "readiness on a port it has",
            vec![set("/spec/readiness", json!({"port": "mcp"}))],
            "",
        ),
        (
            "readiness on any",
            vec![set("/spec/readiness", json!({}))],
            "",
        ),
        (
            "a view on a port it has not",
            vec![set("/spec/view", json!({"port": "web"}))],
            "422 class-view-port",
        ),
        (
            "an enrolment without a view",
            vec![set("/spec/enrolment", json!({"args": ["a"]}))],
            "422 class-enrolment-view",
        ),
        (
            "an enrolment with a view",
            vec![
                set("/spec/enrolment", json!({"args": ["a"]})),
                set("/spec/view", json!({"port": "mcp"})),
            ],
            "",
        ),
        (
            "mounts for sessions",
            vec![set("/spec/mounts", json!([{"role": "session"}]))],
            "422 class-mount-role",
        ),
        (
            "a mount role twice",
            vec![set("/spec/mounts", json!([{"role": "a"}, {"role": "a"}]))],
            "422 schema-duplicate",
        ),
        (
            "resource claims",
            vec![set("/spec/resources/claims", json!([{"name": "gpu"}]))],
            "422 class-resource-claims",
        ),
    ]));
    tried(class, &user(), rows);
}
