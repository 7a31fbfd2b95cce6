//! What a denial says about this write, before the rule's own sentence: a wrong value, what an
//! immutable field was, who asks. Pure.
//!
//! The sentences themselves are the same in every layer. Only here old object, new object and writer
//! are all known, so only here can more be said.

use sandgate_shared::rules::{Moment, Violation, table};
use serde_json::Value;

use super::changes::{self, How};
use super::path::value_at;
use super::request::Write;
use super::text::clean;

/// The longest value quoted, in characters. Ids are shorter; what is longer helps nobody.
const LONGEST_VALUE: usize = 64;
/// The longest user name told, in characters.
const LONGEST_USER: usize = 128;
/// Removed fields named below one that a rule is about.
const MOST_REMOVED: usize = 3;

/// Fields whose values are not repeated: a denial ends up in logs that more people read than may read
/// the object.
const UNQUOTED: [&str; 8] = [
    "args", "command", "content", "data", "env", "secret", "template", "token",
];

/// What is said of `violation` before its sentence.
pub(super) fn about(write: &Write<'_>, violation: &Violation) -> Option<String> {
    if violation.identity {
        let asks = asker(write, violation);
        return Some(match removed(write, violation) {
            Some(removed) => format!("{asks}, and {removed}"),
            None => asks,
        });
    }
    if is_about_a_change(&violation.rule) {
        return Some(match removed(write, violation) {
            Some(removed) => removed,
            None => was(write, violation)?,
        });
    }
    let wrong_value = [
        "FieldValueInvalid",
        "FieldValueNotSupported",
        "FieldValueDuplicate",
    ];
    let value = value_at(write.object(), &violation.field).filter(|value| {
        wrong_value.contains(&violation.reason) && !value.is_object() && !value.is_array()
    });
    let told = value.and_then(|value| quoted(&violation.field, value));
    // Of a number out of its range the sentence says what it is.
    told.filter(|value| !violation.message.starts_with(&format!("is {value},")))
}

/// Who asks, and what their name alone is not enough for.
fn asker(write: &Write<'_>, violation: &Violation) -> String {
    let name = clean(write.username(), LONGEST_USER);
    if name.is_empty() {
        return "you have no name".to_owned();
    }
    if violation.message.contains(&format!("({name})")) {
        return format!("you are \"{name}\" by name alone, not with the token of its pod");
    }
    format!("you are \"{name}\"")
}

/// Whether a rule compares with what is stored.
fn is_about_a_change(rule: &str) -> bool {
    table().any(|row| row.id == rule && row.moment == Moment::Change)
}

/// What this write removes of the field that the rule is about: most people did not mean to.
fn removed(write: &Write<'_>, violation: &Violation) -> Option<String> {
    let old = write
        .old_object()
        .filter(|_| is_about_a_change(&violation.rule))?;
    let path = violation.field.as_str();
    let stored = value_at(old, path);
    let changes = changes::below(path, stored, value_at(write.object(), path));
    let gone: Vec<&str> = changes
        .told
        .iter()
        .filter(|(_, how)| *how == How::Removed)
        .map(|(path, _)| path.as_str())
        .collect();
    let way_out = "an older client may have dropped it, so patch single fields instead";
    match gone.as_slice() {
        [] => None,
        [whole] if *whole == path => Some(match stored.and_then(|value| quoted(path, value)) {
            Some(value) => format!("was set, to {value}, and is removed ({way_out})"),
            None => format!("was set, and is removed ({way_out})"),
        }),
        several => {
            let names: Vec<String> = several
                .iter()
                .take(MOST_REMOVED)
                .map(|path| clean(path, LONGEST_VALUE * 2))
                .collect();
            let more = several.len().saturating_sub(MOST_REMOVED) + changes.untold;
            let rest = if more > 0 { " and others" } else { "" };
            Some(format!(
                "{}{rest} was set, and is removed ({way_out})",
                names.join(", ")
            ))
        }
    }
}

/// What an immutable field held.
fn was(write: &Write<'_>, violation: &Violation) -> Option<String> {
    let path = violation.field.as_str();
    match value_at(write.old_object()?, path) {
        None => Some("was not set".to_owned()),
        Some(old) => quoted(path, old).map(|old| format!("was {old}")),
    }
}

/// `value` as JSON, if it is short, steers no terminal and may be repeated to whoever reads the denial.
fn quoted(path: &str, value: &Value) -> Option<String> {
    if holds_something_unquoted(path, value) {
        return None;
    }
    let json = value.to_string();
    let short = json.chars().count() <= LONGEST_VALUE;
    short.then(|| clean(&json, LONGEST_VALUE * 8))
}

fn holds_something_unquoted(path: &str, value: &Value) -> bool {
    let told_by = |name: &str| {
        let name = name.to_ascii_lowercase();
        UNQUOTED.iter().any(|part| name.starts_with(part)) || name.contains("password")
    };
    if path.split(['.', '[', ']']).any(told_by) {
        return true;
    }
    match value {
        // A URL may hold a user's password, or a token in its query.
        Value::String(text) => text.contains(['@', '?']) || text.contains("://"),
        Value::Array(items) => items.iter().any(|item| holds_something_unquoted("", item)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| holds_something_unquoted(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests;
