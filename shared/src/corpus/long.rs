//! The shorthand of the sheets for what would be long to write out. Pure.
//!
//! `{x*63}` in a text is 63 times x. An item `{times: 65, of: …}` of a list is that many items, in which
//! `{#}` is the number of each.

use serde_json::Value;

/// `value` written out; `{#}` in it is `number`.
pub(super) fn expand(value: &Value, number: u64) -> Value {
    match value {
        Value::String(text) => Value::String(text_of(text, number)),
        Value::Array(items) => items.iter().flat_map(|item| times(item, number)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (text_of(name, number), expand(value, number)))
            .collect(),
        other => other.clone(),
    }
}

fn times(item: &Value, number: u64) -> Vec<Value> {
    match (item.get("times").and_then(Value::as_u64), item.get("of")) {
        (Some(times), Some(of)) => (0..times).map(|number| expand(of, number)).collect(),
        _ => vec![expand(item, number)],
    }
}

fn text_of(text: &str, number: u64) -> String {
    let text = text.replace("{#}", &number.to_string());
    let mut whole = String::new();
    let mut rest = text.as_str();
    while let Some((before, unit, count, after)) = repeat(rest) {
        whole.push_str(before);
        whole.push_str(&unit.repeat(count));
        rest = after;
    }
    whole + rest
}

/// The first `{unit*count}` of a text, and what stands before and after it.
fn repeat(text: &str) -> Option<(&str, &str, usize, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (inside, after) = rest.split_once('}')?;
    let (unit, count) = inside.split_once('*')?;
    Some((before, unit, count.parse().ok()?, after))
}
