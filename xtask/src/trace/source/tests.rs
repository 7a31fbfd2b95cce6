//! What counts as a test, what it proves, and what is refused.

use super::*;

fn ids(test: &Test) -> Vec<String> {
    test.proves.iter().map(ToString::to_string).collect()
}

#[test]
fn the_comment_above_a_test_names_what_it_proves() {
    let source = scan(
        "mod tests {\n    use super::*;\n\n    // Why this matters.\n    // Proves: T-007, W-009\n    \
         #[test]\n    fn refuses() {}\n\n    #[test]\n    fn other() {}\n}\n",
    );
    assert_eq!(source.problems, []);
    let [first, second] = source.tests.as_slice() else {
        panic!("{source:?}")
    };
    assert_eq!((first.name.as_str(), first.line), ("refuses", 7));
    assert_eq!(first.modules, ["tests"]);
    assert_eq!(ids(first), ["T-007", "W-009"]);
    assert_eq!((second.name.as_str(), ids(second).len()), ("other", 0));
}

#[test]
fn every_kind_of_test_attribute_counts() {
    for attribute in [
        "#[test]",
        "#[tokio::test]",
        "#[tokio::test(flavor = \"multi_thread\", worker_threads = 2)]",
        "#[rstest]",
        "#[rstest::rstest]",
        "#[test]\n#[ignore = \"reason\"]",
        "#[rstest]\n#[case::name(\"{\", [1, 2])]",
        "#[should_panic]\n#[test]",
    ] {
        let source = scan(&format!(
            "// Proves: C-001\n{attribute}\npub(crate) async fn t() {{}}"
        ));
        assert_eq!(source.tests.len(), 1, "{attribute}");
        assert_eq!(source.problems, [], "{attribute}");
    }
    assert_eq!(scan("#[cfg(test)]\nfn helper() {}").tests, []);
}

#[test]
fn tests_inside_proptest_blocks_are_found() {
    let source = scan(
        "proptest! {\n    #![proptest_config(Config::with_cases(8))]\n    // Proves: T-001\n    \
         #[test]\n    fn round_trips(x in any::<u8>()) { let c = '{'; }\n}\n#[test]\nfn after() {}",
    );
    assert_eq!(source.problems, []);
    assert_eq!(
        source
            .tests
            .iter()
            .map(|t| t.name.as_str())
            .collect::<Vec<_>>(),
        ["round_trips", "after"]
    );
    assert_eq!(ids(&source.tests[0]), ["T-001"]);
}

#[test]
fn modules_nest_and_end_with_their_brace() {
    let source = scan(
        "mod a { mod b { #[test] fn x() { if true { } } } #[test] fn y() {} } #[test] fn z() {}",
    );
    let paths: Vec<_> = source
        .tests
        .iter()
        .map(|t| (t.modules.join("::"), &*t.name))
        .collect();
    assert_eq!(
        paths,
        [
            ("a::b".to_owned(), "x"),
            ("a".to_owned(), "y"),
            (String::new(), "z")
        ]
    );
}

#[test]
fn modules_in_other_files_are_listed_with_their_path() {
    let source = scan(
        "mod a;\n#[cfg(test)]\n#[path = \"odd/place.rs\"]\npub mod b;\nmod c { mod d; }\nlet mode;",
    );
    let module = |parents: &[&str], name: &str, path: Option<&str>| Module {
        parents: parents.iter().map(ToString::to_string).collect(),
        name: name.to_owned(),
        path: path.map(str::to_owned),
    };
    assert_eq!(
        source.modules,
        [
            module(&[], "a", None),
            module(&[], "b", Some("odd/place.rs")),
            module(&["c"], "d", None),
        ]
    );
}

#[test]
fn a_list_that_ends_in_a_comma_goes_on_in_the_next_line() {
    let source = scan("// Proves: T-001,\n// T-002\n// Not an id, just prose.\n#[test]\nfn t() {}");
    assert_eq!(source.problems, []);
    assert_eq!(ids(&source.tests[0]), ["T-001", "T-002"]);
}

#[test]
fn a_comment_that_proves_nothing_is_refused_with_its_line() {
    for (source, line, says) in [
        (
            "// Proves: T-001\nfn helper() {}",
            1,
            "`helper`, which is not a test",
        ),
        (
            "\n// Proves: T-001\nstruct S;\n#[test]\nfn t() {}",
            2,
            "above no test",
        ),
        ("#[test]\nfn t() {}\n// Proves: T-001\n", 3, "above no test"),
        (
            "// Proves: T-1\n#[test]\nfn t() {}",
            1,
            "`T-1` is not a requirement id",
        ),
        (
            "// Proves: T-001 to T-004\n#[test]\nfn t() {}",
            1,
            "`T-001 to T-004` is not",
        ),
        (
            "// Proves:\n#[test]\nfn t() {}",
            1,
            "`` is not a requirement id",
        ),
    ] {
        let problems = scan(source).problems;
        assert_eq!(problems.len(), 1, "{source}: {problems:?}");
        assert_eq!(problems[0].line, line, "{source}");
        assert!(
            problems[0].message.contains(says),
            "{source}: {}",
            problems[0].message
        );
    }
}

#[test]
fn text_that_only_looks_like_a_test_is_not_one() {
    let source = scan(
        "const S: &str = \"// Proves: T-001\\n#[test]\\nfn fake() {}\";\n/* #[test] fn gone() {} */\n\
         type F = fn(u8) -> u8;\nmacro_rules! m { ($n:ident) => { #[test] fn $n() {} } }\n",
    );
    assert_eq!(source, Source::default());
}
