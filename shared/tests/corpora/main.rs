//! The corpora of the fuzz targets of our own parsers, as tests: every law holds for every file.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failing test stops where it stands"
)]

mod host;
mod quantity;
mod template;

use std::fs;
use std::path::Path;

use rstest::rstest;

/// A law, which says whether what it was given is of its kind.
type Law = fn(&[u8]) -> bool;

/// Holds every file of a corpus to its law. Some of them must be of the kind the law speaks of, and
/// some must not.
#[rstest]
#[case::templates("template", template::holds)]
#[case::hosts("host", host::holds)]
#[case::quantities("quantity", quantity::holds)]
fn whatever_is_parsed_is_answered_and_what_is_made_of_it_is_consistent(
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
