//! The corpora of the fuzz targets, as tests: every law holds for every file of them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

mod compare;
mod patch;
mod review;

use std::fs;
use std::path::Path;

/// Holds every file of a folder to `law`, which says whether it could read it.
fn every_file(folder: &str, law: impl Fn(&[u8]) -> bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let mut read = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            // What fails inside says what, but not where.
            eprintln!("{}", path.display());
            read += usize::from(law(&fs::read(&path).unwrap()));
        }
    }
    assert!(
        read > 0,
        "{} holds nothing the law speaks of",
        folder.display()
    );
}

// Proves: W-001
#[test]
fn whatever_bytes_are_sent_the_answer_carries_the_uid_of_what_could_be_read() {
    for folder in ["allow", "deny", "mutate", "malformed"] {
        every_file(&format!("reviews/{folder}"), |body| {
            review::holds(body);
            true
        });
    }
}

// Proves: W-009, W-016, W-017
#[test]
fn two_objects_are_compared_alike_from_both_sides_and_an_unchanged_one_is_let_through() {
    every_file("corpora/compare", compare::holds);
}

// Proves: W-005, W-008
#[test]
fn a_patch_only_adds_what_is_absent_and_a_second_pass_adds_nothing() {
    every_file("corpora/patch", patch::holds);
}

#[test]
fn text_that_is_no_case_is_said_to_be_none() {
    for text in [
        "",
        "{}",
        "[]",
        r#"{"kind":"Pod","old":{},"new":{}}"#,
        r#"{"kind":"Connection"}"#,
    ] {
        assert!(!compare::holds(text.as_bytes()), "{text}");
        assert!(!patch::holds(text.as_bytes()), "{text}");
    }
}
