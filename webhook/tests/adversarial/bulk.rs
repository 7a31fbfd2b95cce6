//! Very many of everything: what an answer takes stays bounded. Each test is a process of its own under
//! the project's test runner, so what the kernel counts is the test's.

use std::fs;

use sandgate_shared::rules::{Phase, Subject};
use serde_json::json;

use crate::desk::{Way, ask, decide_dry_too, response, review};
use crate::objects::{bent, good, operator, set, user};

/// What the webhook may take in all, at its peak.
const MOST_MEMORY: u64 = 160 * 1024 * 1024;

/// A review in which `text` stands for one field of the object's spec.
fn body(subject: Subject, way: Way, pointer: &'static str, text: &str) -> Vec<u8> {
    let object = bent(good(subject), &[set(pointer, json!("HERE"))]);
    let review = review(subject, way, &good(subject), &object, &operator()).to_string();
    review.replacen("\"HERE\"", text, 1).into_bytes()
}

fn list(item: &str, count: usize) -> String {
    format!("[{}{item}]", format!("{item},").repeat(count - 1))
}

/// The code of the answer on both paths, which must be one, and within what may be taken.
fn code(body: &[u8]) -> u64 {
    // Resets what the kernel remembers as the peak; the bodies were made before.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let codes = [Phase::Mutating, Phase::Validating].map(|phase| {
        response(&ask(body, phase)).unwrap()["status"]["code"]
            .as_u64()
            .unwrap_or(200)
    });
    assert_eq!(codes[0], codes[1]);
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(
        peak * 1024 <= MOST_MEMORY,
        "{peak} KiB resident for {} bytes",
        body.len()
    );
    codes[0]
}

// Proves: W-001, T-021
#[test]
fn a_list_of_a_hundred_thousand_items_is_refused_by_its_length_and_no_rule_runs_on_it() {
    for way in [Way::Create, Way::Update, Way::Status] {
        let refused = if way == Way::Status { 200 } else { 422 };
        for (subject, pointer, item) in [
            (
                Subject::SandboxClaim,
                "/spec/connections",
                r#"{"role":"a","connection":"b"}"#,
            ),
            (
                Subject::SandboxClaim,
                "/spec/mounts",
                r#"{"role":"session"}"#,
            ),
            (
                Subject::SandboxClass,
                "/spec/ports",
                r#"{"name":"a","port":1}"#,
            ),
            (
                Subject::SandboxClass,
                "/spec/env",
                r#"{"name":"HTTP_PROXY"}"#,
            ),
            (Subject::Connection, "/spec/hosts", r#""EXAMPLE.COM""#),
        ] {
            assert_eq!(
                code(&body(subject, way, pointer, &list(item, 100_000))),
                refused,
                "{pointer}, {way:?}"
            );
        }
    }
}

// Proves: W-001
#[test]
fn what_would_swell_beyond_bounds_in_memory_is_too_large() {
    for way in Way::ALL {
        for (item, count) in [(r#"{"":0}"#, 400_000), ("[0]", 1_000_000), ("0", 3_000_000)] {
            let body = body(
                Subject::SandboxClaim,
                way,
                "/spec/unknown",
                &list(item, count),
            );
            assert_eq!(code(&body), 413, "{item}, {way:?}");
        }
    }
}

// Proves: W-001
#[test]
fn maps_of_a_hundred_thousand_keys_are_decided_on() {
    let map = |value: &str| {
        let members: Vec<String> = (0..100_000)
            .map(|at| format!("\"k{at}\":{value}"))
            .collect();
        format!("{{{}}}", members.join(","))
    };
    for way in Way::ALL {
        let refused = if way == Way::Status { 200 } else { 422 };
        for (subject, pointer, expected) in [
            (Subject::SandboxClaim, "/metadata/annotations", 200),
            (Subject::SandboxClaim, "/spec/unknown", 200),
            (Subject::SandboxClass, "/spec/nodeSelector", refused),
            (Subject::SandboxClass, "/spec/resources/limits", refused),
        ] {
            assert_eq!(
                code(&body(subject, way, pointer, &map("\"1\""))),
                expected,
                "{pointer}, {way:?}"
            );
        }
    }
}

// Proves: W-001
#[test]
fn text_that_makes_patterns_slow_is_refused_by_its_length_or_matched_in_one_pass() {
    for way in Way::ALL {
        for pointer in [
            "/spec/handle",
            "/spec/targetPath",
            "/spec/sessionID",
            "/spec/mount/path",
        ] {
            for text in [
                "a-".repeat(300_000),
                "/.".repeat(300_000),
                "a".repeat(600_000),
                "\u{7f}".repeat(300_000),
            ] {
                let body = body(
                    Subject::SandboxClaim,
                    way,
                    pointer,
                    &json!(text).to_string(),
                );
                assert_eq!(
                    code(&body),
                    if way == Way::Status { 200 } else { 422 },
                    "{pointer}, {way:?}"
                );
            }
        }
        // As long as a schema lets it be, on every rule that matches patterns.
        let longest = bent(
            good(Subject::SandboxClaim),
            &[
                set("/spec/targetPath", json!("a/".repeat(256))),
                set("/spec/handle", json!("a-".repeat(63))),
                set(
                    "/spec/mount",
                    json!({"role": "a-".repeat(31), "id": "i".repeat(253), "path": "./".repeat(512)}),
                ),
            ],
        );
        decide_dry_too(&review(
            Subject::SandboxClaim,
            way,
            &good(Subject::SandboxClaim),
            &longest,
            &operator(),
        ));
    }
    let hosts: Vec<String> = (0..32)
        .map(|at| format!("{}h{at}.example.com.", "a-.".repeat(70)))
        .collect();
    let slow = bent(
        good(Subject::Connection),
        &[set("/spec/hosts", json!(hosts))],
    );
    let decided = decide_dry_too(&review(
        Subject::Connection,
        Way::Create,
        &slow,
        &slow,
        &user(),
    ));
    assert!(decided.is("422 schema-pattern"), "{decided:?}");
    assert!(
        decided.message.ends_with(", and 22 more"),
        "{}",
        decided.message
    );
}

// Proves: W-016
#[test]
fn a_spec_of_unknown_fields_is_compared_whole_within_bounds() {
    let unknown = list(r#"{"a":{"b":[1,2,{"c":"d"}]}}"#, 20_000);
    let new = body(
        Subject::SandboxClaim,
        Way::Update,
        "/spec/unknown",
        &unknown,
    );
    assert_eq!(
        code(&new),
        200,
        "the operator may add it: the schema prunes it"
    );
    let by_user = String::from_utf8(new).unwrap().replacen(
        &operator()["username"].to_string(),
        "\"alice\"",
        1,
    );
    assert_eq!(code(by_user.as_bytes()), 403);
}
