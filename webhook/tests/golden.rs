//! Whole reviews and the whole answers to them, as golden files: what the API server sends, judged by
//! the real rule table, and what it gets back.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sandgate_shared::rules::{Attempt, OperatorIdentity, Phase, Rulebook};
use sandgate_webhook::review::{self, Judge, Reply, find_uid};
use serde_json::{Value, json};

fn rules() -> impl Judge {
    let rules = Rulebook::compile(&OperatorIdentity {
        username: "system:serviceaccount:sandgate-system:sandgate-controller".to_owned(),
        require_pod_bound_token: true,
    })
    .unwrap();
    move |attempt: &Attempt<'_>| rules.judge(attempt)
}

/// The answer with its patch readable.
fn answer(body: &[u8], phase: Phase, judge: &dyn Judge) -> Value {
    match review::answer(body, phase, judge).reply {
        Reply::Text { code, text } => json!({"http": code, "text": text}),
        Reply::Review(bytes) => {
            let mut review: Value = serde_json::from_slice(&bytes).unwrap();
            let uid = review["response"]["uid"].as_str();
            assert_eq!(
                uid,
                find_uid(body).as_deref(),
                "every answer echoes the uid"
            );
            let patch = review["response"]["patch"].as_str().map(|patch| {
                serde_json::from_slice::<Value>(&STANDARD.decode(patch).unwrap()).unwrap()
            });
            if let Some(patch) = patch {
                review["response"]["patch"] = patch;
            }
            review
        }
    }
}

/// Answers every review of a folder and compares with its golden file; returns how many there were.
fn compare(folder: &str, phase: Phase, check: impl Fn(&Value)) {
    let judge = rules();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(format!("reviews/{folder}"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::glob!(&format!("reviews/{folder}/*.json"), |path| {
            let answer = answer(&fs::read(path).unwrap(), phase, &judge);
            check(&answer);
            insta::assert_json_snapshot!(answer);
        });
    });
}

// Proves: W-001
#[test]
fn right_objects_are_admitted_as_they_are() {
    compare("allow", Phase::Validating, |answer| {
        assert_eq!(answer["response"]["allowed"], true, "{answer:#}");
        assert!(answer["response"]["patch"].is_null());
    });
}

// Proves: W-002
#[test]
fn wrong_objects_are_denied_in_words_that_name_field_and_rule() {
    compare("deny", Phase::Mutating, |answer| {
        let response = &answer["response"];
        assert_eq!(response["allowed"], false, "{answer:#}");
        let message = response["status"]["message"].as_str().unwrap();
        for cause in response["status"]["details"]["causes"].as_array().unwrap() {
            let field = cause["field"].as_str().unwrap();
            let text = cause["message"].as_str().unwrap();
            assert!(message.contains(&format!("{field}: {text}")), "{message}");
            assert!(text.contains('[') && text.ends_with(']'), "{text}");
        }
        assert!(!message.chars().any(char::is_control), "{message:?}");
    });
}

// Proves: W-005, W-006, W-007, W-008
#[test]
fn defaults_are_filled_in_where_a_field_is_absent() {
    compare("mutate", Phase::Mutating, |answer| {
        assert_eq!(answer["response"]["allowed"], true, "{answer:#}");
        for operation in answer["response"]["patch"].as_array().into_iter().flatten() {
            assert_eq!(operation["op"], "add", "nothing is replaced or removed");
        }
    });
}

// Proves: W-001
#[test]
fn reviews_that_cannot_be_judged_admit_nothing() {
    compare("malformed", Phase::Validating, |answer| {
        let code = answer
            .get("http")
            .unwrap_or(&answer["response"]["status"]["code"]);
        assert_eq!(code, 400, "{answer:#}");
        assert_ne!(answer["response"]["allowed"], true);
    });
}

#[test]
fn the_validating_path_denies_what_the_mutating_one_denies() {
    let judge = rules();
    for file in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reviews/deny")).unwrap() {
        let path = file.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let body = fs::read(&path).unwrap();
            let mutating = answer(&body, Phase::Mutating, &judge);
            let validating = answer(&body, Phase::Validating, &judge);
            assert_eq!(
                mutating["response"]["status"],
                validating["response"]["status"],
                "{}",
                path.display()
            );
        }
    }
}

// Proves: W-005, W-006, W-008
#[test]
fn an_object_with_its_defaults_filled_in_gets_no_second_patch() {
    let judge = rules();
    for file in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reviews/mutate")).unwrap()
    {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let mut review: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let first = answer(review.to_string().as_bytes(), Phase::Mutating, &judge);
        let defaults = first["response"]["patch"].clone();
        if let Ok(defaults) = serde_json::from_value::<json_patch::Patch>(defaults) {
            json_patch::patch(&mut review["request"]["object"], &defaults).unwrap();
        }
        let second = answer(review.to_string().as_bytes(), Phase::Mutating, &judge);
        assert!(
            second["response"]["patch"].is_null(),
            "{}: {second:#}",
            path.display()
        );
        assert_eq!(second["response"]["allowed"], true);
    }
}
