//! Whether what is stored is what the chart of this version renders, but for what the API server fills
//! in. Pure.

use serde_json::{Value, json};

/// What the API server puts where the chart says nothing; anything else there was put by somebody.
fn filled_in(field: &str) -> Option<Value> {
    Some(match field {
        "conversion" => json!({ "strategy": "None" }),
        "matchPolicy" => json!("Equivalent"),
        "namespaceSelector" | "objectSelector" => json!({}),
        "scope" => json!("*"),
        _ => return None,
    })
}

/// The fields in which `stored` is not `expected`, as paths with a word on each, in order. `apart` are
/// fields that others fill and that are looked at elsewhere.
pub fn differences(expected: &Value, stored: &Value, at: &str, apart: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    compare(expected, stored, at, apart, &mut found);
    found
}

fn compare(expected: &Value, stored: &Value, at: &str, apart: &[&str], found: &mut Vec<String>) {
    match (expected, stored) {
        (Value::Object(expected), Value::Object(stored)) => {
            for (field, expected) in expected {
                let path = format!("{at}.{field}");
                match stored.get(field) {
                    Some(stored) => compare(expected, stored, &path, apart, found),
                    None => found.push(format!("{path} is missing")),
                }
            }
            for (field, stored) in stored {
                let known = expected.contains_key(field)
                    || apart.contains(&field.as_str())
                    || filled_in(field).as_ref() == Some(stored);
                if !known {
                    found.push(format!("{at}.{field} was added"));
                }
            }
        }
        (Value::Array(expected), Value::Array(stored)) if expected.len() == stored.len() => {
            for (index, (expected, stored)) in expected.iter().zip(stored).enumerate() {
                compare(expected, stored, &format!("{at}[{index}]"), apart, found);
            }
        }
        (Value::Array(expected), Value::Array(stored)) => found.push(format!(
            "{at} has {} items instead of {}",
            stored.len(),
            expected.len()
        )),
        // One is 1 and 1.0, which no reader of JSON tells apart.
        (Value::Number(expected), Value::Number(stored))
            if expected.as_f64() == stored.as_f64() => {}
        _ if expected == stored => {}
        _ => found.push(format!("{at} was changed")),
    }
}

/// The first few of them in one sentence.
pub fn sentence(differences: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<&str> = differences.iter().take(SHOWN).map(String::as_str).collect();
    match differences.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{}, and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::as_rendered(json!({"a": [1, {"b": "c"}]}), None)]
    #[case::defaults_filled_in(
        json!({"a": [1.0, {"b": "c", "scope": "*", "objectSelector": {}}], "caBundle": "x"}),
        None
    )]
    #[case::narrowed(
        json!({"a": [1, {"b": "c", "objectSelector": {"matchLabels": {}}}]}),
        Some("it.a[1].objectSelector was added")
    )]
    #[case::changed(json!({"a": [1, {"b": "d"}]}), Some("it.a[1].b was changed"))]
    #[case::dropped(json!({"a": [1, {}]}), Some("it.a[1].b is missing"))]
    #[case::shortened(json!({"a": [1]}), Some("it.a has 1 items instead of 2"))]
    fn what_is_not_as_rendered_is_named(#[case] stored: Value, #[case] told: Option<&str>) {
        let expected = json!({"a": [1, {"b": "c"}]});
        let found = differences(&expected, &stored, "it", &["caBundle"]);
        assert_eq!(found, told.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_sentence_names_three_and_counts_the_rest() {
        let many = ["a", "b", "c", "d", "e"].map(str::to_owned);
        assert_eq!(sentence(&many), "a, b, c, and 2 more");
        assert_eq!(sentence(&many[..2]), "a, b");
    }
}
