//! Writes `docs/requirements.md`. Pure; the same input gives the same bytes.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Proof;
use super::requirement::{GROUPS, Id, Priority, Requirement};

const HEAD: &str = "\
# Requirements

What Sandgate must do, one line a requirement. A requirement is *proved* when at least one test names
it in a `// Proves:` comment; `cargo xtask trace --check` refuses a proof that did not run or did not
pass. \"(inferred)\" marks what the references imply without saying it; where they are silent,
[decisions.md](decisions.md) says what was decided. \"Operator\" means the controller and its
ServiceAccount unless a line says otherwise.

Written by `cargo xtask trace` from `requirements.tsv` and the tests; edit those.
";

/// The whole page.
pub fn render(requirements: &[Requirement], proofs: &[Proof]) -> String {
    let mut by_id: BTreeMap<Id, Vec<&Proof>> = BTreeMap::new();
    for proof in proofs {
        for id in &proof.proves {
            by_id.entry(*id).or_default().push(proof);
        }
    }
    let mut page = HEAD.to_owned();
    counts(&mut page, requirements, &by_id);
    for (group, about) in GROUPS {
        let rows = requirements
            .iter()
            .filter(|requirement| requirement.id.group == group);
        let _ = write!(page, "\n## {group}. {about}\n\n");
        page.push_str("| id | priority | status | requirement | tests |\n");
        page.push_str("| --- | --- | --- | --- | --- |\n");
        for requirement in rows {
            row(
                &mut page,
                requirement,
                by_id.get(&requirement.id).map_or(&[], Vec::as_slice),
            );
        }
    }
    page
}

fn counts(page: &mut String, requirements: &[Requirement], proofs: &BTreeMap<Id, Vec<&Proof>>) {
    let count = |group: Option<char>, priority: Option<Priority>| {
        let of = requirements.iter().filter(|requirement| {
            group.is_none_or(|group| requirement.id.group == group)
                && priority.is_none_or(|priority| requirement.priority == priority)
        });
        let proved = of.clone().filter(|r| proofs.contains_key(&r.id)).count();
        match of.count() {
            0 => "–".to_owned(),
            all => format!("{proved} of {all}"),
        }
    };
    page.push_str("\n| proved | | core | extended | outer | all |\n");
    page.push_str("| --- | --- | --- | --- | --- | --- |\n");
    let groups = GROUPS
        .iter()
        .map(|(group, about)| (Some(*group), group.to_string(), *about));
    for (group, letter, about) in groups.chain([(None, String::new(), "All")]) {
        let [core, extended, outer] = Priority::ALL.map(|priority| count(group, Some(priority)));
        let all = count(group, None);
        let _ = writeln!(
            page,
            "| {letter} | {about} | {core} | {extended} | {outer} | {all} |"
        );
    }
}

fn row(page: &mut String, requirement: &Requirement, proofs: &[&Proof]) {
    let status = if proofs.is_empty() { "open" } else { "proved" };
    let tests: Vec<_> = proofs
        .iter()
        .map(|proof| format!("`{}` [{}](/{})", proof.binary, proof.name, proof.file))
        .collect();
    let _ = writeln!(
        page,
        "| {} | {} | {status} | {} | {} |",
        requirement.id,
        requirement.priority.as_str(),
        cell(&requirement.text),
        tests.join("<br>")
    );
}

/// Text for a table cell: a bar would end the cell, and `<claim>` outside code would be read as HTML.
fn cell(text: &str) -> String {
    let text = text.replace('|', "\\|");
    let mut in_code = false;
    text.split_inclusive('`')
        .map(|part| {
            let shown = if in_code {
                part.to_owned()
            } else {
                part.replace('<', "&lt;")
            };
            in_code = in_code != part.ends_with('`');
            shown
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::requirement::parse;
    use super::*;

    fn proof(name: &str, proves: &[&str]) -> Proof {
        Proof {
            binary: "sandgate-shared".to_owned(),
            name: name.to_owned(),
            file: "shared/src/rules.rs".to_owned(),
            line: 7,
            proves: proves.iter().map(|id| id.parse().unwrap()).collect(),
        }
    }

    #[test]
    fn a_requirement_is_proved_by_each_test_that_names_it() {
        let requirements = parse("T-001\tcore\tFour kinds.\nT-002\tcore\tA short name.\n").unwrap();
        let page = render(
            &requirements,
            &[
                proof("tests::one", &["T-001"]),
                proof("tests::two", &["T-001"]),
            ],
        );
        let link = |name: &str| format!("`sandgate-shared` [tests::{name}](/shared/src/rules.rs)");
        let row = format!(
            "| T-001 | core | proved | Four kinds. | {}<br>{} |\n",
            link("one"),
            link("two")
        );
        assert!(page.contains(&row), "{page}");
        assert!(
            page.contains("| T-002 | core | open | A short name. |  |\n"),
            "{page}"
        );
        assert!(
            page.contains("| T | Types and CRDs | 1 of 2 | – | – | 1 of 2 |\n"),
            "{page}"
        );
        assert!(
            page.contains("|  | All | 1 of 2 | – | – | 1 of 2 |\n"),
            "{page}"
        );
    }

    #[test]
    fn text_stays_inside_its_cell() {
        assert_eq!(
            cell("`a | b` for <claim>, `<claim>-x`"),
            "`a \\| b` for &lt;claim>, `<claim>-x`"
        );
        assert_eq!(cell("plain"), "plain");
    }
}
