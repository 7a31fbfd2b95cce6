//! `docs/using.md` tells of every reason that a claim can have, and of no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sandgate_shared::reason;

fn page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/using.md");
    fs::read_to_string(Path::new(page)).unwrap()
}

/// What stands between backticks.
fn quoted(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_page_for_people_tells_of_every_reason() {
    let page = page();
    let told = quoted(&page);
    let untold: Vec<_> = reason::CLAIM
        .iter()
        .filter(|reason| !told.contains(*reason))
        .collect();
    assert!(
        untold.is_empty(),
        "docs/using.md does not tell of {untold:?}"
    );
}

#[test]
fn the_table_of_reasons_names_none_that_does_not_exist() {
    let page = page();
    let rows = page
        .lines()
        .skip_while(|line| !line.starts_with("| reason | phase |"));
    let rows: Vec<&str> = rows
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert!(
        rows.len() > 20,
        "docs/using.md has lost its table of reasons"
    );
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let reasons = quoted(cells[1]);
        assert!(!reasons.is_empty(), "{row}");
        for reason in reasons {
            assert!(
                reason::CLAIM.contains(&reason),
                "{reason} is no reason: {row}"
            );
        }
        let phases = ["Pending", "Queued", "Bound", "Failed"];
        assert!(phases.contains(&cells[2]), "{row}");
    }
}
