//! JSON at the edges of what JSON may be.

use sandgate_shared::rules::{Phase, Subject};
use sandgate_webhook::review::{Decision, find_uid};
use serde_json::json;

use crate::desk::{UID, Way, ask, response, review};
use crate::objects::{bent, good, operator, set};

const CLAIM: Subject = Subject::SandboxClaim;

/// A review whose object has `text` as it stands, for one field that no schema knows.
fn holding(way: Way, text: &str) -> Vec<u8> {
    let object = bent(
        good(CLAIM),
        &[set("/metadata/annotations/odd", json!("HERE"))],
    );
    let review = review(CLAIM, way, &good(CLAIM), &object, &operator()).to_string();
    assert!(review.contains("\"HERE\""));
    // The API server writes the uid first, which is how it is found in what cannot be read.
    let early = format!(r#""request":{{"uid":"{UID}","#);
    let review = review.replacen(r#""request":{"#, &early, 1);
    review.replace("\"HERE\"", text).into_bytes()
}

/// The decision on `body`, whose uid must be echoed although the body may be no JSON.
fn decided(body: &[u8]) -> Decision {
    assert!(find_uid(body).is_some());
    let [mutating, validating] = [Phase::Mutating, Phase::Validating].map(|phase| ask(body, phase));
    assert!(response(&mutating).is_some() && response(&validating).is_some());
    assert_eq!(mutating.decision, validating.decision);
    mutating.decision
}

// Proves: W-001
#[test]
fn odd_scalars_are_read_as_json_says_or_refused_whole() {
    let rows = [
        ("1e400", Decision::Malformed),
        ("-1e400", Decision::Malformed),
        ("1e-400", Decision::Allowed),
        ("9223372036854775808", Decision::Allowed),
        ("18446744073709551616", Decision::Allowed),
        ("-9223372036854775809", Decision::Allowed),
        ("-0", Decision::Allowed),
        ("1.0", Decision::Allowed),
        ("01", Decision::Malformed),
        ("+1", Decision::Malformed),
        (".5", Decision::Malformed),
        ("NaN", Decision::Malformed),
        ("Infinity", Decision::Malformed),
        (r#""\ud800""#, Decision::Malformed),
        (r#""\udc00\ud800""#, Decision::Malformed),
        (r#""\ud83d\ude00""#, Decision::Allowed),
        (r#""\u0000""#, Decision::Allowed),
        ("\"\u{0}\"", Decision::Malformed),
        ("\"\n\"", Decision::Malformed),
        ("'x'", Decision::Malformed),
        ("tru", Decision::Malformed),
        ("null,", Decision::Malformed),
        ("/* x */ 1", Decision::Malformed),
    ];
    for way in Way::ALL {
        for (text, expected) in rows {
            assert_eq!(decided(&holding(way, text)), expected, "{text}, {way:?}");
        }
    }
}

// Proves: W-001
#[test]
fn bytes_that_are_no_utf8_are_refused_wherever_they_stand() {
    for way in Way::ALL {
        for bytes in [
            &b"\xff"[..],
            b"\xc3\x28",
            b"\xed\xa0\x80",
            b"\xf8\x88\x80\x80\x80",
            b"\xc0\xaf",
        ] {
            let mut body = holding(way, "\"MARK\"");
            let at = body
                .windows(4)
                .position(|window| window == b"MARK")
                .unwrap();
            body.splice(at..at + 4, bytes.iter().copied());
            assert_eq!(decided(&body), Decision::Malformed, "{bytes:x?}, {way:?}");
        }
    }
}

// Proves: W-001
#[test]
fn nesting_is_read_to_a_depth_and_refused_beyond_it_without_the_stack_running_out() {
    // The text stands five levels deep itself, and the parser stops at 128.
    let rows = [
        (100, Decision::Allowed),
        (122, Decision::Allowed),
        (123, Decision::Malformed),
        (127, Decision::Malformed),
        (128, Decision::Malformed),
        (10_000, Decision::Malformed),
        (500_000, Decision::Malformed),
    ];
    for way in Way::ALL {
        for (depth, expected) in rows {
            let lists = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(
                decided(&holding(way, &lists)),
                expected,
                "{depth} lists, {way:?}"
            );
        }
        let objects = format!("{}1{}", r#"{"a":"#.repeat(120), "}".repeat(120));
        assert_eq!(
            decided(&holding(way, &objects)),
            Decision::Allowed,
            "{way:?}"
        );
        let unclosed = "[{\"a\":".repeat(10_000);
        assert_eq!(
            decided(&holding(way, &unclosed)),
            Decision::Malformed,
            "{way:?}"
        );
    }
}

// Proves: W-001, W-009
#[test]
fn of_a_key_that_is_there_twice_the_last_counts_as_it_does_for_whoever_stores_it() {
    let session = r#""sessionID":"session-7""#;
    for (twice, way, expected) in [
        (
            r#""sessionID":"session-8","sessionID":"session-7""#,
            Way::Update,
            Decision::Allowed,
        ),
        (
            r#""sessionID":"session-7","sessionID":"session-8""#,
            Way::Update,
            Decision::Invalid,
        ),
        (
            r#""sessionID":"session-7","sessionID":null"#,
            Way::Create,
            Decision::Invalid,
        ),
    ] {
        let review = review(CLAIM, way, &good(CLAIM), &good(CLAIM), &operator()).to_string();
        // Keys are in order: the object stands before the old one.
        let body = review.replacen(session, twice, 1);
        assert_ne!(body, review);
        assert_eq!(decided(body.as_bytes()), expected, "{twice}, {way:?}");
    }
    let asks_twice = review(CLAIM, Way::Create, &good(CLAIM), &good(CLAIM), &operator())
        .to_string()
        .replacen('{', r#"{"request":{"uid":"another","object":{}},"#, 1);
    let answered = ask(asks_twice.as_bytes(), Phase::Validating);
    assert_eq!(answered.uid.as_deref(), Some(UID));
}

// Proves: W-001, W-009
#[test]
fn a_number_with_another_text_is_another_number_only_if_its_value_is() {
    let class = Subject::ClusterSandboxClass;
    let port = r#""port":8080"#;
    for (text, expected) in [
        (r#""port":8080"#, Decision::Allowed),
        (r#""port":8081"#, Decision::Invalid),
        // Not an integer: the schema refuses it, in the API server's own words.
        (r#""port":8080.5"#, Decision::Allowed),
        (r#""port":"8080""#, Decision::Allowed),
    ] {
        let review =
            review(class, Way::Update, &good(class), &good(class), &operator()).to_string();
        let body = review.replacen(port, text, 1);
        assert_eq!(decided(body.as_bytes()), expected, "{text}");
    }
}
