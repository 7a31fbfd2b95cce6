//! `docs/threat-model.md` claims nothing that no test shows, and leaves out no right that the doctor knows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sandgate_cli::doctor::powers::POWERS;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn page() -> String {
    fs::read_to_string(Path::new(ROOT).join("docs/threat-model.md")).unwrap()
}

/// Names of all functions below a crate's `src` and `tests` whose attributes make them tests.
fn tests(folder: &Path, found: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim_start) {
                if line.starts_with("#[test]")
                    || line.starts_with("#[tokio::test")
                    || line.starts_with("#[rstest]")
                {
                    is_test = true;
                }
                let function = line.strip_prefix("async ").unwrap_or(line);
                if let Some(function) = function.strip_prefix("fn ") {
                    let name = function.split(['(', '<']).next().unwrap();
                    if std::mem::take(&mut is_test) {
                        found.insert(name.to_owned());
                    }
                }
            }
        }
    }
}

/// The cells of each row of the page's tables but their heads.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let lines: Vec<&str> = page.lines().collect();
    let is_rule = |line: Option<&&str>| line.is_some_and(|line| line.starts_with("| ---"));
    let mut rows = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let is_head = is_rule(lines.get(at + 1));
        if line.starts_with("| ") && !is_rule(Some(line)) && !is_head {
            let row = line.trim_start_matches("| ").trim_end_matches(" |");
            rows.push(row.split(" | ").collect());
        }
    }
    rows
}

/// What stands between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn every_row_of_the_threat_model_names_a_test_or_says_that_nothing_is_defended() {
    let mut known = BTreeSet::new();
    for member in [
        "shared",
        "egress",
        "certs",
        "paths",
        "webhook",
        "controller",
        "e2e",
        "cli",
    ] {
        for folder in ["src", "tests"] {
            tests(&Path::new(ROOT).join(member).join(folder), &mut known);
        }
    }
    let page = page();
    let rows = rows(&page);
    assert!(rows.len() > 30, "{rows:?}");
    for row in rows {
        assert_eq!(row.len(), 3, "{row:?}");
        let shown: Vec<&str> = quoted(row[2]).collect();
        assert_eq!(shown.is_empty(), row[2] == "*not defended*", "{row:?}");
        for name in shown {
            assert!(known.contains(name), "no test is called {name}: {row:?}");
        }
    }
}

#[test]
fn every_right_that_the_doctor_looks_for_is_in_the_threat_model_and_no_other() {
    let page = page();
    let section = page
        .split("## From holders of other rights")
        .nth(1)
        .unwrap();
    let section = section.split("\n## ").next().unwrap();
    let told: Vec<String> = rows(section)
        .iter()
        .flat_map(|row| quoted(row[0]).map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let told: BTreeSet<&str> = told.iter().map(String::as_str).collect();
    let known: BTreeSet<&str> = POWERS.iter().map(|power| power.id).collect();
    assert_eq!(told, known);
}
