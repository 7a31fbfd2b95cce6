//! Any text as a template: a fault is said with a place inside the text and repeats nothing of it, and
//! what parses names its fields wherever it stands.

use sandgate_shared::template::{Fault, LONGEST, Template};

/// Asserts the law; whether `text` is a template.
pub fn holds(text: &[u8]) -> bool {
    let Ok(source) = str::from_utf8(text) else {
        return false;
    };
    let template = match Template::parse(source) {
        Ok(template) => template,
        Err(error) => {
            let line = source.split('\n').nth(error.at.line - 1);
            let characters = line.expect("a line of the text").chars().count();
            assert!(
                (1..=characters + 1).contains(&error.at.column),
                "{error} in a line of {characters} characters"
            );
            return false;
        }
    };
    assert!(source.chars().count() <= LONGEST, "longer than allowed");
    let named = names(&template);
    for (name, _) in &named {
        assert!(name.len() <= source.len(), "a name that is not written");
    }
    // A line of text between the two keeps their braces apart.
    match Template::parse(&format!("{source}\n-\n{source}")) {
        Ok(twice) => assert_eq!(names(&twice), [&named[..], &named[..]].concat()),
        Err(error) => assert!(
            matches!(error.fault, Fault::Long | Fault::Actions),
            "written twice: {error}"
        ),
    }
    match Template::parse(&format!("{{{{if .law}}}}\n{source}\n{{{{end}}}}")) {
        Ok(inside) => assert_eq!(
            names(&inside),
            [&[("law".to_owned(), false)], &named[..]].concat()
        ),
        Err(error) => assert!(
            matches!(error.fault, Fault::Long | Fault::Actions | Fault::Deep),
            "in a block: {error}"
        ),
    }
    true
}

fn names(template: &Template) -> Vec<(String, bool)> {
    let fields = template.fields().into_iter();
    fields
        .map(|field| (field.name.to_owned(), field.inside))
        .collect()
}
