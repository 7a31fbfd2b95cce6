use super::*;
use crate::isolation::assemble::assemble;
use crate::isolation::assemble::tests::{bad, good};
use crate::isolation::report::tests::with_endings;

#[test]
fn a_cluster_that_isolates_reads_at_a_glance() {
    insta::assert_snapshot!(render(&assemble(&good()), false));
}

#[test]
fn what_is_wrong_is_told_with_its_figures() {
    insta::assert_snapshot!(render(&with_endings(assemble(&bad())), false));
}

#[test]
fn colours_only_add_to_what_is_told() {
    let report = assemble(&bad());
    let coloured = render(&report, true);
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(squeezed(&plain), squeezed(&render(&report, false)));
}

#[test]
fn the_trouble_of_an_ending_is_told_once() {
    let mut report = with_endings(assemble(&good()));
    let failed = report.endings.last_mut().unwrap();
    let scenario = failed.scenario.clone();
    failed.reason = Some("its pod never came".to_owned());
    let mut scenarios = report.scenarios.iter_mut();
    let tried = scenarios.find(|tried| tried.id == scenario).unwrap();
    tried.trouble = Some("its pod never came".to_owned());
    let text = render(&report, false);
    assert_eq!(text.matches("its pod never came").count(), 1, "{text}");
}
