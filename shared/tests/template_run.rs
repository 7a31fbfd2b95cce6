//! Running templates: what Go itself writes, what is a fault, and that nothing runs without end.

#![allow(clippy::unwrap_used, reason = "a failing test stops where it stands")]

use proptest::prelude::*;
use rstest::rstest;
use sandgate_shared::template::{Data, MOST_STEPS, RunFault, Template};
use serde::Deserialize;

const MEBIBYTE: usize = 1 << 20;

/// A text, or bytes in hexadecimal.
#[derive(Deserialize)]
struct Bytes {
    text: Option<String>,
    bytes: Option<String>,
}

impl Bytes {
    fn get(&self) -> Option<Vec<u8>> {
        let text = self.text.as_ref().map(|text| text.clone().into_bytes());
        text.or_else(|| Some(decoded(self.bytes.as_ref()?)))
    }
}

fn decoded(hexadecimal: &str) -> Vec<u8> {
    let digits = hexadecimal.as_bytes().chunks(2);
    let byte = |digits| u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}

#[derive(Deserialize)]
struct Entry {
    key: String,
    #[serde(flatten)]
    value: Bytes,
}

/// A template, and what Go writes for it; nothing if it does not run.
#[derive(Deserialize)]
struct Known {
    source: String,
    #[serde(flatten)]
    written: Bytes,
}

fn known() -> Vec<Known> {
    serde_json::from_str(include_str!("oracles/runs.json")).unwrap()
}

/// The data that Go ran them on.
fn entries() -> Vec<(String, Vec<u8>)> {
    let entries: Vec<Entry> = serde_json::from_str(include_str!("oracles/data.json")).unwrap();
    let entries = entries.into_iter();
    entries
        .map(|entry| (entry.key, entry.value.get().unwrap()))
        .collect()
}

fn data(entries: &[(String, Vec<u8>)]) -> Data<'_> {
    let pairs = entries.iter();
    pairs
        .map(|(key, value)| (key.as_str(), value.as_slice()))
        .collect()
}

/// What is wrong with our answer, if Go's is `written`.
fn difference(known: &Known, ours: Result<Vec<u8>, RunFault>) -> Option<String> {
    let source = &known.source;
    let marked = |written: &[u8]| written.windows(2).any(|pair| pair == b"%!");
    match (known.written.get(), ours) {
        (Some(written), Ok(ours)) if written == ours => None,
        (None, Err(_)) => None,
        // Where Go writes a mark into the text.
        (Some(written), Err(RunFault::Format)) if marked(&written) => None,
        // The notation of Go programs, and verbs that say how Go keeps a value.
        (Some(_), Err(RunFault::Format))
            if ["%#v", "%T", "%p"].iter().any(|verb| source.contains(verb)) =>
        {
            None
        }
        // To Go a key that is not there is empty, where `index` asks for it.
        (Some(_), Err(RunFault::KeyMissing)) if source.contains("nosuch") => None,
        (written, ours) => Some(format!(
            "{source}\n  Go:   {:?}\n  ours: {:?}",
            written.map(|written| String::from_utf8_lossy(&written).into_owned()),
            ours.map(|ours| String::from_utf8_lossy(&ours).into_owned()),
        )),
    }
}

// Proves: K-007
#[test]
fn what_runs_writes_what_go_writes() {
    let entries = entries();
    let data = data(&entries);
    let (mut same, mut wrong) = (0, Vec::new());
    for known in known() {
        let Ok(template) = Template::parse(&known.source) else {
            continue;
        };
        let ours = template.run(&data, MEBIBYTE).map_err(|error| error.fault);
        same += usize::from(ours.is_ok());
        wrong.extend(difference(&known, ours));
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(same > 1_200, "only {same} run");
}

/// The fault and its place, on the data `a`, `b` and `empty`.
fn fault(source: &str) -> Option<(usize, usize, RunFault)> {
    let pairs = [("a", "alpha"), ("b", "beta"), ("empty", "")];
    let data = pairs.map(|(key, value)| (key, value.as_bytes()));
    let template = Template::parse(source).unwrap();
    let error = template.run(&data.into_iter().collect(), 1_000).err()?;
    Some((error.at.line, error.at.column, error.fault))
}

// Proves: K-007
#[rstest]
#[case::a_field("x\n {{.nosuch}}", 2, 4)]
#[case::an_index(r#"{{index . "nosuch"}}"#, 1, 3)]
#[case::an_index_of_the_whole(r#"{{with .a}}{{index $ "nosuch"}}{{end}}"#, 1, 14)]
#[case::a_key_known_while_it_runs("{{index . .a}}", 1, 3)]
#[case::a_condition("{{if .nosuch}}{{end}}", 1, 6)]
#[case::a_branch_that_runs("{{if .a}}{{.nosuch}}{{end}}", 1, 12)]
#[case::another_branch_that_runs("{{if .empty}}{{else}}{{.nosuch}}{{end}}", 1, 24)]
#[case::an_argument(r#"{{.a | printf "%s%s" .nosuch}}"#, 1, 3)]
#[case::inside_parentheses("{{print (len .nosuch)}}", 1, 10)]
#[case::in_a_later_round("{{range 2}}{{if .}}{{$.nosuch}}{{end}}{{end}}", 1, 22)]
fn a_key_that_is_not_there_is_a_fault_with_its_place(
    #[case] source: &str,
    #[case] line: usize,
    #[case] column: usize,
) {
    assert_eq!(fault(source), Some((line, column, RunFault::KeyMissing)));
}

// Proves: K-007
#[test]
fn a_key_that_is_not_there_is_no_fault_in_a_branch_that_does_not_run() {
    assert_eq!(fault("{{if .empty}}{{.nosuch}}{{end}}"), None);
    assert_eq!(fault("{{range 0}}{{.nosuch}}{{end}}"), None);
}

#[rstest]
#[case::inside_a_value("{{.a.b}}", RunFault::NoKeys)]
#[case::a_number_of_a_map("{{index . 1}}", RunFault::Index)]
#[case::behind_the_end("{{index .a 5}}", RunFault::Index)]
#[case::of_a_number("{{len 3}}", RunFault::Length)]
#[case::over_a_text("{{range .a}}{{end}}", RunFault::Range)]
#[case::of_two_kinds("{{eq .a 1}}", RunFault::Compare)]
#[case::of_truth("{{lt true false}}", RunFault::Compare)]
#[case::one_alone("{{eq .a}}", RunFault::Count)]
#[case::one_too_many("{{.a | len .b}}", RunFault::Count)]
#[case::a_number_as_format("{{printf 3}}", RunFault::NoFormat)]
#[case::no_value("{{printf \"%s\"}}", RunFault::Format)]
#[case::a_value_too_many("{{printf \"x\" .a}}", RunFault::Format)]
#[case::a_verb_of_numbers("{{printf \"%d\" .a}}", RunFault::Format)]
#[case::an_unknown_verb("{{printf \"%z\" .a}}", RunFault::Format)]
fn what_go_cannot_do_is_a_fault(#[case] source: &str, #[case] expected: RunFault) {
    assert_eq!(fault(source).map(|(.., fault)| fault), Some(expected));
}

// Proves: K-007
#[rstest]
#[case::much_text(
    "{{range 11}}0123456789{{range 10}}0123456789{{end}}{{end}}",
    RunFault::Long
)]
#[case::a_wide_value("{{printf \"%1001s\" .a}}", RunFault::Long)]
#[case::a_wide_value_on_the_way("{{printf \"%1001s\" .a | len}}", RunFault::Long)]
#[case::a_precise_number("{{printf \"%.999999d\" 1}}", RunFault::Long)]
#[case::wide_values_again_and_again(
    "{{range 9}}{{if eq (printf \"%1000d\" .) \"\"}}{{end}}{{end}}",
    RunFault::Long
)]
#[case::many_rounds("{{range 9223372036854775807}}{{end}}", RunFault::Steps)]
#[case::rounds_in_rounds("{{range 1000}}{{range 1000}}{{end}}{{end}}", RunFault::Steps)]
#[case::silent_rounds("{{range 50000}}{{if .}}{{end}}{{end}}", RunFault::Steps)]
fn what_a_template_may_use_is_bounded(#[case] source: &str, #[case] expected: RunFault) {
    assert_eq!(fault(source).map(|(.., fault)| fault), Some(expected));
}

// Proves: K-007
#[test]
fn as_much_as_the_limit_is_written_and_no_more() {
    let template = Template::parse("{{range .}}{{.}}{{end}}").unwrap();
    let value = vec![b'x'; 500];
    let data: Data<'_> = [("a", value.as_slice()), ("b", value.as_slice())]
        .into_iter()
        .collect();
    assert_eq!(template.run(&data, 1_000).unwrap().len(), 1_000);
    assert_eq!(template.run(&data, 999).unwrap_err().fault, RunFault::Long);
    let rounds = MOST_STEPS / 2 - 2;
    let template = Template::parse(&format!("{{{{range {rounds}}}}}x{{{{end}}}}")).unwrap();
    assert_eq!(template.run(&data, MEBIBYTE).unwrap().len(), rounds);
}

proptest! {
    #[test]
    fn no_template_and_no_data_make_running_panic_write_too_much_or_show_a_value(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "{{.a}}", "{{.b}}", "{{", "}}", "{{if ", "{{with ", "{{range ", "{{else}}", "{{end}}", "(", ")", " | ",
            ".a ", ".b ", ". ", "$ ", "3 ", "-1 ", "true ", "\"%s\" ", "\"%-08.3x|%[1]q\" ", "\"%*.*d\" ",
            "printf ", "print ", "len ", "index ", "eq ", "lt ", "ge ", "text",
        ]), 0..24),
        a in prop::collection::vec(any::<u8>(), 0..40),
        b in "[%#+*.0-9vsdxXqUcbot\\[\\]]{0,12}",
    ) {
        let a = [b"canary-of-a-secret", a.as_slice()].concat();
        let data: Data<'_> = [("a", a.as_slice()), ("b", b.as_bytes())].into_iter().collect();
        if let Ok(template) = Template::parse(&pieces.concat()) {
            match template.run(&data, 5_000) {
                Ok(written) => prop_assert!(written.len() <= 5_000),
                Err(error) => {
                    let told = format!("{error} {error:?}");
                    prop_assert!(!told.contains("canary"), "{}", told);
                }
            }
        }
    }

    #[test]
    fn a_format_from_the_data_never_makes_running_panic(format in ".{0,20}", number in any::<i64>()) {
        let data: Data<'_> = [("f", format.as_bytes())].into_iter().collect();
        let template = Template::parse(&format!("{{{{printf .f .f {number} true}}}}")).unwrap();
        let _ = template.run(&data, 10_000);
    }

    #[test]
    fn bytes_go_through_a_template_unchanged(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let data: Data<'_> = [("a", bytes.as_slice())].into_iter().collect();
        for source in ["{{.a}}", "{{print .a}}", "{{printf \"%s\" .a}}", "{{with .a}}{{.}}{{end}}"] {
            let written = Template::parse(source).unwrap().run(&data, 200).unwrap();
            prop_assert_eq!(&written, &bytes, "{}", source);
        }
    }
}
