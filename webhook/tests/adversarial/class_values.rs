//! Values of a class at and beyond their edges, for both kinds of class.

use rstest::rstest;
use sandgate_shared::rules::Subject;
use serde_json::{Value, json};

use crate::objects::{cut, set, user};
use crate::tables::{same, tried};

// Proves: T-047, T-048, W-021
#[rstest]
#[case(Subject::SandboxClass)]
#[case(Subject::ClusterSandboxClass)]
fn limits_are_there_and_above_nothing_or_the_class_is_trusted(#[case] class: Subject) {
    let limits = |value: Value| vec![set("/spec/resources/limits", value)];
    let mut trusted = limits(json!({"cpu": "0"}));
    trusted.push(set("/spec/trusted", json!(true)));
    tried(
        class,
        &user(),
        same(vec![
            ("cpu alone", limits(json!({"cpu": "1"})), "422 class-limits"),
            (
                "memory alone",
                limits(json!({"memory": "1Gi"})),
                "422 class-limits",
            ),
            ("neither", limits(json!({})), "422 class-limits"),
            ("limits null", limits(Value::Null), "422 class-limits"),
            (
                "no resources",
                vec![cut("/spec/resources")],
                "422 class-limits",
            ),
            (
                "a limit of null, which the schema refuses in its own words",
                limits(json!({"cpu": null, "memory": "1Gi"})),
                "",
            ),
            (
                "nothing",
                limits(json!({"cpu": "0", "memory": "1Gi"})),
                "422 class-limits-above-zero",
            ),
            (
                "nothing, as a number",
                limits(json!({"cpu": 0, "memory": "1Gi"})),
                "422 class-limits-above-zero",
            ),
            (
                "nothing, written long",
                limits(json!({"cpu": "0.000m", "memory": "1Gi"})),
                "422 class-limits-above-zero",
            ),
            (
                "less than nothing",
                limits(json!({"cpu": "-1", "memory": "1Gi"})),
                "422 class-limits-above-zero",
            ),
            (
                "less than nothing, as a number",
                limits(json!({"cpu": -1, "memory": "1Gi"})),
                "422 class-limits-above-zero",
            ),
            (
                "no quantity",
                limits(json!({"cpu": "one", "memory": "1Gi"})),
                "422 schema-pattern",
            ),
            (
                "an empty quantity",
                limits(json!({"cpu": "", "memory": "1Gi"})),
                "422 schema-pattern",
            ),
            (
                "more than there is",
                limits(json!({"cpu": "1e30", "memory": "1e30"})),
                "",
            ),
            (
                "as numbers",
                limits(json!({"cpu": 1, "memory": 1_000_000_000})),
                "",
            ),
            ("trusted, with one limit of nothing", trusted, ""),
            (
                "trusted, without resources",
                vec![cut("/spec/resources"), set("/spec/trusted", json!(true))],
                "",
            ),
            (
                "trusted and then not",
                vec![cut("/spec/resources"), set("/spec/trusted", json!(false))],
                "422 class-limits",
            ),
        ]),
    );
}

// Proves: T-040, T-041
#[rstest]
#[case(Subject::SandboxClass)]
#[case(Subject::ClusterSandboxClass)]
fn no_class_sets_the_variables_of_the_proxy(#[case] class: Subject) {
    let reserved = [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "NO_PROXY",
        "no_proxy",
        "OMNIA_INSECURE_TEST_FIXTURES",
        "OMNIA_INSECURE_TEST_SPKI",
    ];
    let env = |name: &str| {
        vec![set(
            "/spec/env",
            json!([{"name": "A", "value": "1"}, {"name": name, "value": "x"}]),
        )]
    };
    let mut rows: Vec<_> = reserved
        .iter()
        .map(|name| (*name, env(name), "422 class-env-reserved"))
        .collect();
    rows.extend([
        ("a name like it", env("HTTP_PROXY_2"), ""),
        ("mixed case, which nothing reads", env("Http_Proxy"), ""),
        ("no name", env(""), "422 schema-min-length"),
        ("an equals sign", env("A=B"), "422 schema-pattern"),
        ("a newline", env("A\nHTTP_PROXY"), "422 schema-pattern"),
        (
            "257 characters",
            env(&"A".repeat(257)),
            "422 schema-max-length",
        ),
        (
            "a value of 32 KiB and one",
            vec![set(
                "/spec/env",
                json!([{"name": "A", "value": "v".repeat(32769)}]),
            )],
            "422 schema-max-length",
        ),
        (
            "64 of them",
            vec![set(
                "/spec/env",
                (0..64)
                    .map(|at| json!({"name": format!("A{at}")}))
                    .collect(),
            )],
            "",
        ),
        (
            "65 of them",
            vec![set(
                "/spec/env",
                (0..65)
                    .map(|at| json!({"name": format!("A{at}")}))
                    .collect(),
            )],
            "422 schema-max-items",
        ),
    ]);
    tried(class, &user(), same(rows));
}

// Proves: T-045
#[rstest]
#[case(Subject::SandboxClass)]
#[case(Subject::ClusterSandboxClass)]
fn scratch_volumes_are_of_a_known_medium_and_a_size(#[case] class: Subject) {
    let scratch = |change: Value| {
        let mut volume =
            json!({"name": "tmp", "mountPath": "/tmp", "sizeLimit": "64Mi", "medium": "Memory"});
        json_patch::merge(&mut volume, &change);
        vec![set("/spec/filesystem/scratch", json!([volume]))]
    };
    tried(
        class,
        &user(),
        same(vec![
            ("right", scratch(json!({})), ""),
            ("a medium in lower case", scratch(json!({"medium": "memory"})), "422 schema-enum"),
            ("no size", scratch(json!({"sizeLimit": null})), "422 schema-required"),
            ("a size that is none", scratch(json!({"sizeLimit": "much"})), "422 schema-pattern"),
            ("no name", scratch(json!({"name": null})), "422 schema-required"),
            ("no path", scratch(json!({"mountPath": ""})), "422 schema-min-length"),
            ("nine volumes", vec![set("/spec/filesystem/scratch", (0..9).map(|at| json!({"name": format!("v{at}"), "mountPath": format!("/v{at}"), "sizeLimit": "1Mi"})).collect())], "422 schema-max-items"),
        ]),
    );
}
