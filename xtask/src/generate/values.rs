//! `values.yaml` and the table of values in the chart's README, from the chart's schema: what a value
//! means and what it is by default is said once. Pure.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};
use serde_json::Value;

/// Columns of a comment.
const WIDTH: usize = 100;
const BEGIN: &str = "<!-- Generated from values.schema.json by `cargo xtask generate`. -->\n";
const END: &str = "<!-- End of what is generated. -->\n";

/// A value that has a default.
struct Leaf<'a> {
    /// Its names, from the top.
    path: Vec<&'a str>,
    description: &'a str,
    default: &'a Value,
}

/// The chart's `values.yaml`.
///
/// # Errors
/// A value without a description or without a default.
pub fn yaml(schema: &Value) -> anyhow::Result<String> {
    let mut text = String::from(
        "# Generated from values.schema.json by `cargo xtask generate`; do not edit.\n",
    );
    write_yaml(&mut text, schema, 0)?;
    Ok(text)
}

fn write_yaml(text: &mut String, schema: &Value, depth: usize) -> anyhow::Result<()> {
    let indent = "  ".repeat(depth);
    for (name, value) in properties(schema) {
        let description = described(name, value)?;
        if depth == 0 {
            text.push('\n');
        }
        for line in wrapped(description, WIDTH - indent.len()) {
            let _ = writeln!(text, "{indent}# {line}");
        }
        if let Some(default) = value.get("default") {
            // JSON is YAML.
            let _ = writeln!(text, "{indent}{name}: {default}");
        } else {
            let _ = writeln!(text, "{indent}{name}:");
            write_yaml(text, value, depth + 1)?;
        }
    }
    Ok(())
}

/// The README with its table of values as the schema has it now.
///
/// # Errors
/// A README without the place for it, or a value as in [`yaml`].
pub fn with_table(readme: &str, schema: &Value) -> anyhow::Result<String> {
    let place = "deploy/chart/README.md has no place for the table of values";
    let (before, rest) = readme.split_once(BEGIN).context(place)?;
    let (_, after) = rest.split_once(END).context(place)?;
    let mut table = String::from("\n| value | default | what it is |\n| --- | --- | --- |\n");
    for leaf in leaves(schema, &[])? {
        let _ = writeln!(
            table,
            "| `{}` | `{}` | {} |",
            leaf.path.join("."),
            leaf.default,
            leaf.description.replace('|', "\\|")
        );
    }
    Ok(format!("{before}{BEGIN}{table}\n{END}{after}"))
}

fn leaves<'a>(schema: &'a Value, above: &[&'a str]) -> anyhow::Result<Vec<Leaf<'a>>> {
    let mut found = Vec::new();
    for (name, value) in properties(schema) {
        let description = described(name, value)?;
        let path = [above, &[name]].concat();
        match value.get("default") {
            Some(default) => found.push(Leaf {
                path,
                description,
                default,
            }),
            None => found.extend(leaves(value, &path)?),
        }
    }
    Ok(found)
}

/// The values of a schema that people set; `global` is Helm's.
fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
        .filter(|(name, _)| *name != "global")
}

fn described<'a>(name: &str, value: &'a Value) -> anyhow::Result<&'a str> {
    let description = value.get("description").and_then(Value::as_str);
    let description =
        description.with_context(|| format!("the value {name} has no description"))?;
    ensure!(
        value.get("default").is_some() || value.get("properties").is_some(),
        "the value {name} has no default"
    );
    Ok(description)
}

/// The words of `text` in lines of at most `width` letters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else {
            continue;
        };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({"properties": {
            "dns": {
                "description": "Where names are found.",
                "properties": {"ports": {"description": "One | many.", "default": [53]}},
            },
            "global": {"description": "Helm's."},
            "replicas": {"description": "How many.", "default": 2},
        }})
    }

    #[test]
    fn each_value_stands_under_its_description() {
        let wanted = "\n# Where names are found.\ndns:\n  # One | many.\n  ports: [53]\n\
                      \n# How many.\nreplicas: 2\n";
        let text = yaml(&schema()).unwrap();
        assert!(text.ends_with(wanted), "{text}");
    }

    #[test]
    fn the_table_replaces_the_one_before_and_nothing_around_it() {
        let readme = format!("# Chart\n{BEGIN}old\n{END}more\n");
        let once = with_table(&readme, &schema()).unwrap();
        assert!(
            once.starts_with("# Chart\n") && once.ends_with("more\n"),
            "{once}"
        );
        assert!(
            once.contains("| `dns.ports` | `[53]` | One \\| many. |\n"),
            "{once}"
        );
        assert!(!once.contains("old") && !once.contains("global"), "{once}");
        assert_eq!(with_table(&once, &schema()).unwrap(), once);
    }

    #[test]
    fn a_value_without_description_or_default_is_an_error_that_names_it() {
        for value in [json!({"default": 1}), json!({"description": "One."})] {
            let schema = json!({"properties": {"lonely": value}});
            let error = yaml(&schema).unwrap_err().to_string();
            assert!(error.contains("lonely"), "{error}");
        }
    }

    #[test]
    fn words_are_wrapped_between_and_never_within() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a-long-word b", 3), ["a-long-word", "b"]);
    }
}
