use super::*;
use crate::isolation::assemble::assemble;
use crate::isolation::assemble::tests::{bad, good};
use crate::isolation::report::tests::with_endings;

#[test]
fn the_picture_is_well_formed_and_tells_of_every_cell() {
    for gathered in [good(), bad()] {
        let report = with_endings(assemble(&gathered));
        let text = render(&report);
        let document = roxmltree::Document::parse(&text).unwrap();
        let titles = document
            .descendants()
            .filter(|node| node.has_tag_name("title"));
        // Cells, and the ending that has a reason.
        assert!(titles.count() >= report.cells.len());
    }
}

#[test]
fn what_came_from_the_cluster_cannot_become_markup() {
    let mut gathered = bad();
    gathered.variant = Some("<script>&\"\u{1b}".to_owned());
    let text = render(&assemble(&gathered));
    assert!(roxmltree::Document::parse(&text).is_ok());
    assert!(!text.contains("<script>"));
}

#[test]
fn no_two_marks_look_alike_without_their_colours() {
    let shapes: std::collections::BTreeSet<String> = Mark::ALL
        .into_iter()
        .map(|mark| marks::shape(mark, 20, 20).replace("class=\"dark\" ", "outline "))
        .collect();
    assert_eq!(shapes.len(), Mark::ALL.len());
}

#[test]
fn the_picture_of_a_bad_day() {
    insta::assert_snapshot!(render(&with_endings(assemble(&bad()))));
}

#[test]
fn a_long_sentence_is_broken_between_words() {
    assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
    assert_eq!(wrapped("longerthanthat two", 7), ["longerthanthat", "two"]);
    assert_eq!(wrapped("", 7), [""]);
}
