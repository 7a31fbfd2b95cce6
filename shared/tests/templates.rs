//! Templates: what of Go's language is taken, what is refused and where, and which fields they name.

#![allow(clippy::unwrap_used, reason = "a failing test stops where it stands")]

use proptest::prelude::*;
use rstest::rstest;
use sandgate_shared::template::{DEEPEST, Fault, LONGEST, MOST_ACTIONS, Template};
use serde::Deserialize;

/// A template, and whether Go parses it.
#[derive(Deserialize)]
struct Known {
    source: String,
    parses: bool,
}

fn known() -> Vec<Known> {
    serde_json::from_str(include_str!("oracles/templates.json")).unwrap()
}

/// Whether a fault says that something of Go's language is not taken, rather than that it is wrong.
fn is_beyond_the_subset(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::Unsupported(_)
            | Fault::Number
            | Fault::Escape
            | Fault::Argument
            | Fault::Bare
            | Fault::Stage
            | Fault::Stray
            // Go lets a pipeline end in `|`.
            | Fault::Missing
    )
}

// Proves: T-075
#[test]
fn what_go_refuses_is_refused_and_what_it_parses_is_refused_only_beyond_the_subset() {
    let known = known();
    assert!(known.len() > 150, "the list is not all there");
    let mut taken = 0;
    let mut wrong = Vec::new();
    for Known { source, parses } in known {
        match Template::parse(&source) {
            Ok(_) if parses => taken += 1,
            Ok(_) => wrong.push(format!("Go refuses {source:?}")),
            Err(error) if parses && !is_beyond_the_subset(error.fault) => {
                wrong.push(format!("{source:?}: {error}"));
            }
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(taken > 60, "only {taken} are taken");
}

// Proves: T-075
#[rstest]
#[case::text("plain")]
#[case::fields("{{.user}}:{{ .password }}")]
#[case::a_key_that_is_no_name(r#"{{index . "git-credentials"}}"#)]
#[case::a_key_in_backquotes("{{index . `git-credentials`}}")]
#[case::the_whole_data("{{range .list}}{{$.user}}{{end}}")]
#[case::a_condition(r#"{{if eq .user "x" "y"}}a{{else if .b}}b{{else}}c{{end}}"#)]
#[case::blocks("{{with .a}}{{.}}{{else}}{{range .b}}{{.}}{{else}}-{{end}}{{end}}")]
#[case::pipelines(r#"{{.a | printf "%s-%s" .b | len}}"#)]
#[case::parentheses(r#"{{if gt (len (index . "a")) 3}}x{{end}}"#)]
#[case::constants(r#"{{print "a\n\"" `b\` -3 true false}}"#)]
#[case::trim_markers("a {{- .b -}} c {{- /* why */ -}} d")]
#[case::an_action_over_lines("{{\n  .a\n  | print\n}}")]
#[case::braces_in_text("{ {.a} } }}")]
fn the_subset_is_taken(#[case] source: &str) {
    if let Err(error) = Template::parse(source) {
        unreachable!("{source}: {error}");
    }
}

// Proves: T-075
#[rstest]
#[case::an_open_action("a\n b{{.x", 2, 3, Fault::Unclosed)]
#[case::an_open_comment("{{/* x", 1, 1, Fault::Comment)]
#[case::an_open_text("é{{\"x}}", 1, 4, Fault::Quote)]
#[case::an_open_raw_text("{{`x}}", 1, 3, Fault::Quote)]
#[case::an_escape(r#"{{"ab\q"}}"#, 1, 6, Fault::Escape)]
#[case::a_byte(r#"{{"\xff"}}"#, 1, 4, Fault::Escape)]
#[case::a_fraction("{{print 1.5}}", 1, 9, Fault::Number)]
#[case::octal("{{print 010}}", 1, 9, Fault::Number)]
#[case::a_dash("{{.git-credentials}}", 1, 7, Fault::Character)]
#[case::a_slash("{{.a/b}}", 1, 5, Fault::Character)]
#[case::no_value("{{}}", 1, 3, Fault::Missing)]
#[case::no_condition("{{if}}x{{end}}", 1, 5, Fault::Missing)]
#[case::nothing_behind_a_pipe("{{.a |}}", 1, 7, Fault::Missing)]
#[case::a_value_behind_a_pipe("{{.a | .b}}", 1, 8, Fault::Stage)]
#[case::a_value_behind_a_value("{{.a .b}}", 1, 6, Fault::Argument)]
#[case::a_function_as_value("{{print len}}", 1, 9, Fault::Bare)]
#[case::values_without_space(r#"{{print "a""b"}}"#, 1, 12, Fault::Space)]
#[case::an_open_parenthesis("{{print (.a}}", 1, 9, Fault::Parenthesis)]
#[case::a_closed_parenthesis("{{.a)}}", 1, 5, Fault::Stray)]
#[case::an_open_block("x{{if .a}}{{if .b}}{{end}}", 1, 2, Fault::Block)]
#[case::an_end("x{{end}}", 1, 2, Fault::Blockless)]
#[case::a_second_else("{{if .a}}{{else}}{{else}}{{end}}", 1, 18, Fault::Blockless)]
#[case::an_unknown_function("{{nosuch .a}}", 1, 3, Fault::Function)]
#[case::a_variable("{{$x := .a}}", 1, 5, Fault::Unsupported("variables"))]
#[case::a_definition("{{define \"x\"}}{{end}}", 1, 3, Fault::Unsupported("define"))]
#[case::a_call_of_another("{{template \"x\"}}", 1, 3, Fault::Unsupported("template"))]
#[case::a_function_of_go("{{html .a}}", 1, 3, Fault::Unsupported("html"))]
fn the_first_fault_is_told_with_its_place(
    #[case] source: &str,
    #[case] line: usize,
    #[case] column: usize,
    #[case] fault: Fault,
) {
    let error = Template::parse(source).unwrap_err();
    assert_eq!(
        (error.at.line, error.at.column, error.fault),
        (line, column, fault)
    );
}

// Proves: T-075
#[test]
fn size_depth_and_actions_are_bounded() {
    let fault = |source: &str| Template::parse(source).err().map(|error| error.fault);
    assert_eq!(fault(&"é".repeat(LONGEST)), None);
    assert_eq!(fault(&"é".repeat(LONGEST + 1)), Some(Fault::Long));
    assert_eq!(fault(&"{{.a}}".repeat(MOST_ACTIONS)), None);
    assert_eq!(
        fault(&"{{.a}}".repeat(MOST_ACTIONS + 1)),
        Some(Fault::Actions)
    );
    let blocks = |depth: usize| "{{if .a}}".repeat(depth) + &"{{end}}".repeat(depth);
    assert_eq!(fault(&blocks(DEEPEST)), None);
    assert_eq!(fault(&blocks(DEEPEST + 1)), Some(Fault::Deep));
    let parentheses =
        |depth: usize| format!("{{{{{}.a{}}}}}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(fault(&parentheses(DEEPEST)), None);
    assert_eq!(fault(&parentheses(DEEPEST + 1)), Some(Fault::Deep));
    assert_eq!(
        fault(&format!("{{{{{}", "(".repeat(LONGEST - 2))),
        Some(Fault::Unclosed)
    );
    let chain = |length: usize| {
        format!(
            "{{{{if .a}}}}{}{{{{end}}}}",
            "{{else if .b}}".repeat(length)
        )
    };
    assert_eq!(fault(&chain(DEEPEST - 1)), None);
    assert_eq!(fault(&chain(DEEPEST)), Some(Fault::Deep));
}

#[rstest]
#[case::none("plain", &[])]
#[case::each_in_turn("{{.b}}{{.a}}{{.b}}", &["b", "a", "b"])]
#[case::inside("{{.a.b}}", &["a."])]
#[case::by_index(r#"{{index . "a-b"}}{{index $ "c" "d"}}"#, &["a-b", "c."])]
#[case::by_index_of_something_else(r#"{{index .a "b"}}"#, &["a"])]
#[case::by_a_name_known_later("{{index . .a}}", &["a"])]
#[case::in_arguments("{{.a | printf .b (print .c)}}", &["a", "b", "c"])]
#[case::in_conditions("{{if .a}}{{.b}}{{else if .c}}{{.d}}{{else}}{{.e}}{{end}}", &["a", "b", "c", "d", "e"])]
#[case::where_the_dot_is_another("{{with .a}}{{.b}}{{$.c}}{{else}}{{.d}}{{end}}", &["a", "c", "d"])]
#[case::where_the_dot_stays("{{with .}}{{.a}}{{end}}{{with $}}{{.b}}{{end}}{{with (.)}}{{.c}}{{end}}", &["a", "b", "c"])]
#[case::in_items("{{range .a}}{{.b}}{{index . \"c\"}}{{index $ \"d\"}}{{else}}{{.e}}{{end}}", &["a", "d", "e"])]
fn a_template_names_the_fields_of_its_data(#[case] source: &str, #[case] expected: &[&str]) {
    let template = Template::parse(source).unwrap();
    let fields = template.fields().into_iter();
    let named: Vec<String> = fields
        .map(|field| format!("{}{}", field.name, if field.inside { "." } else { "" }))
        .collect();
    assert_eq!(named, expected);
}

proptest! {
    #[test]
    fn no_text_makes_parsing_panic(source in ".*") {
        let _ = Template::parse(&source);
    }

    #[test]
    fn no_mix_of_the_language_s_pieces_makes_parsing_panic(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "{{", "}}", "{{-", " -}}", "- ", "if", "else", "end", "with", "range", "define", ".", ".a", "$", "$.a",
            "\"", "`", "\\", "(", ")", "|", " ", "\n", "/*", "*/", "1", "-", "print", "index", "é", "\0", ":=",
        ]), 0..60)
    ) {
        let source = pieces.concat();
        if let Err(error) = Template::parse(&source) {
            let lines = source.matches('\n').count() + 1;
            prop_assert!(error.at.line <= lines && error.at.column <= source.chars().count() + 1);
        }
    }

    #[test]
    fn every_known_template_cut_anywhere_or_with_a_piece_twice_is_still_answered(
        which in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>()
    ) {
        let known = known();
        let source = &which.get(&known).source;
        let (before, behind) = source.split_at(source.floor_char_boundary(cut.index(source.len() + 1)));
        let _ = Template::parse(before);
        let _ = Template::parse(&format!("{before}{before}{behind}"));
    }

    #[test]
    fn text_without_braces_parses_and_names_nothing(source in "[^{]{0,200}") {
        let template = Template::parse(&source);
        prop_assert_eq!(template.map(|template| template.fields().len()), Ok(0));
    }

    #[test]
    fn any_key_can_be_read_by_index(key in "[-._a-zA-Z0-9]{1,253}") {
        let source = format!("{{{{index . \"{key}\"}}}}");
        let template = Template::parse(&source).unwrap();
        let names: Vec<_> = template.fields().into_iter().map(|field| field.name.to_owned()).collect();
        prop_assert_eq!(names, [key]);
    }
}
