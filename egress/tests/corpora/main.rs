//! The corpora of the fuzz targets, as tests: every law holds for every file of them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

mod client_hello;
mod head;
mod target;

use std::fs;
use std::path::Path;

use rstest::rstest;

/// A law, which says whether what it was given is of its kind.
type Law = fn(&[u8]) -> bool;

// Proves: E-015, E-017, E-021
#[rstest]
#[case::heads("head", head::holds)]
#[case::targets("target", target::holds)]
#[case::hellos("client_hello", client_hello::holds)]
fn whatever_a_client_sends_is_answered_and_what_is_made_of_it_is_consistent(
    #[case] corpus: &str,
    #[case] law: Law,
) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora");
    let (mut taken, mut refused) = (0, 0);
    for entry in fs::read_dir(folder.join(corpus)).unwrap() {
        let path = entry.unwrap().path();
        // What fails inside says what, but not where.
        eprintln!("{}", path.display());
        if law(&fs::read(&path).unwrap()) {
            taken += 1;
        } else {
            refused += 1;
        }
    }
    assert!(
        taken > 2 && refused > 2,
        "{taken} are taken, {refused} are not"
    );
}
