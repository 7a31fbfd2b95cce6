//! What the schema itself says (required, lengths, patterns, enums, counts), applied to raw JSON.
//! Pure.
//!
//! The API server says the same, but only after the mutating webhooks and one layer at a time; here
//! a person is told everything at once. A value of the wrong *type* is left to the API server's own
//! error, since no rule can be read on it.

use std::collections::HashMap;
use std::fmt;

use regex::Regex;
use serde_json::Value;

use super::verdict::Violation;
use crate::api::pattern;

/// The schema of one kind with its patterns compiled.
pub(super) struct Bounds {
    schema: Value,
    patterns: HashMap<String, Regex>,
}

/// What a walk found.
#[derive(Default)]
pub(super) struct Findings {
    /// A value has the wrong type: nothing else can be said.
    pub(super) mistyped: bool,
    /// A list or string is longer than the rules may be run on.
    pub(super) oversized: bool,
    /// Broken bounds.
    pub(super) violations: Vec<Violation>,
}

/// Where a walk stands; written out only where something is wrong.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root(&'a str),
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
    Entry(&'a Place<'a>, &'a str),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(path) => out.write_str(path),
            Self::Field(Self::Root(""), name) => out.write_str(name),
            Self::Field(parent, name) => write!(out, "{parent}.{name}"),
            Self::Item(parent, index) => write!(out, "{parent}[{index}]"),
            Self::Entry(parent, name) => write!(out, "{parent}[{name}]"),
        }
    }
}

impl Findings {
    fn report(&mut self, field: &Place<'_>, rule: &str, reason: &'static str, message: String) {
        self.violations.push(Violation {
            field: field.to_string(),
            rule: rule.to_owned(),
            reason,
            message,
            identity: false,
        });
    }
}

impl Bounds {
    /// Prepares a structural schema.
    ///
    /// # Errors
    /// A pattern that is no regular expression.
    pub(super) fn new(schema: Value) -> Result<Self, regex::Error> {
        let mut patterns = HashMap::new();
        collect_patterns(&schema, &mut patterns)?;
        Ok(Self { schema, patterns })
    }

    /// The schema, for defaulting.
    pub(super) fn schema(&self) -> &Value {
        &self.schema
    }

    /// Checks `value`. What did not change since `old` is let through, as Kubernetes ratchets.
    pub(super) fn check(&self, value: &Value, old: Option<&Value>, path: &str) -> Findings {
        let mut findings = Findings::default();
        self.walk(&self.schema, value, old, &Place::Root(path), &mut findings);
        findings
    }

    fn walk(
        &self,
        schema: &Value,
        value: &Value,
        old: Option<&Value>,
        path: &Place<'_>,
        out: &mut Findings,
    ) {
        if old == Some(value) {
            return;
        }
        if schema.get("x-kubernetes-int-or-string").is_some() {
            match value {
                Value::String(text) => self.check_text(schema, text, path, out),
                Value::Number(number) if number.is_i64() => {}
                _ => out.mistyped = true,
            }
            return;
        }
        match (schema.get("type").and_then(Value::as_str), value) {
            (Some("object"), Value::Object(fields)) => {
                self.check_object(schema, fields, old, path, out);
            }
            (Some("array"), Value::Array(items)) => self.check_list(schema, items, old, path, out),
            (Some("string"), Value::String(text)) => self.check_text(schema, text, path, out),
            (Some("integer"), Value::Number(number)) if number.is_i64() => {
                check_range(schema, number.as_i64().unwrap_or_default(), path, out);
            }
            (Some("number"), Value::Number(_)) | (Some("boolean"), Value::Bool(_)) | (None, _) => {}
            _ => out.mistyped = true,
        }
    }

    fn check_object(
        &self,
        schema: &Value,
        fields: &serde_json::Map<String, Value>,
        old: Option<&Value>,
        path: &Place<'_>,
        out: &mut Findings,
    ) {
        let present = |name: &str| fields.get(name).filter(|value| !value.is_null());
        for name in schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if let Some(name) = name.as_str().filter(|name| present(name).is_none()) {
                let field = Place::Field(path, name);
                out.report(
                    &field,
                    "schema-required",
                    "FieldValueRequired",
                    "must be set".into(),
                );
            }
        }
        if let Some(most) =
            limit(schema, "maxProperties").filter(|most| fields.len() as u64 > *most)
        {
            out.oversized = true;
            let message = format!("may not have more than {most} entries");
            out.report(path, "schema-max-properties", "FieldValueTooMany", message);
            return;
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, child) in properties.into_iter().flatten() {
            if let Some(value) = present(name) {
                let old = old.and_then(|old| old.get(name));
                self.walk(child, value, old, &Place::Field(path, name), out);
            }
        }
        if let Some(child) = schema
            .get("additionalProperties")
            .filter(|child| child.is_object())
        {
            for (name, value) in fields {
                let old = old.and_then(|old| old.get(name));
                self.walk(child, value, old, &Place::Entry(path, name), out);
            }
        }
    }

    fn check_list(
        &self,
        schema: &Value,
        items: &[Value],
        old: Option<&Value>,
        path: &Place<'_>,
        out: &mut Findings,
    ) {
        let count = items.len() as u64;
        if let Some(most) = limit(schema, "maxItems").filter(|most| count > *most) {
            out.oversized = true;
            let message = format!("has {count} items, may have at most {most}");
            out.report(path, "schema-max-items", "FieldValueTooMany", message);
            return;
        }
        if let Some(least) = limit(schema, "minItems").filter(|least| count < *least) {
            let message = format!("has {count} items, needs at least {least}");
            out.report(path, "schema-min-items", "FieldValueInvalid", message);
        }
        let keys = list_keys(schema);
        let Some(child) = schema.get("items") else {
            return;
        };
        for (index, item) in items.iter().enumerate() {
            let here = Place::Item(path, index);
            let same = |other: &&Value| identity(other, &keys) == identity(item, &keys);
            if !keys.is_empty() && items.iter().take(index).any(|earlier| same(&earlier)) {
                let message = "is there twice; remove one".to_owned();
                out.report(&here, "schema-duplicate", "FieldValueDuplicate", message);
            }
            let old = old
                .filter(|_| is_map_list(schema))
                .and_then(Value::as_array)
                .and_then(|old| old.iter().find(same));
            self.walk(child, item, old, &here, out);
        }
    }

    fn check_text(&self, schema: &Value, text: &str, path: &Place<'_>, out: &mut Findings) {
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
            if !allowed.iter().any(|value| value.as_str() == Some(text)) {
                let names: Vec<_> = allowed.iter().filter_map(Value::as_str).collect();
                let message = format!("must be one of {}", names.join(", "));
                out.report(path, "schema-enum", "FieldValueNotSupported", message);
            }
            return;
        }
        let length = text.chars().count() as u64;
        if let Some(most) = limit(schema, "maxLength").filter(|most| length > *most) {
            out.oversized = true;
            let message = format!("has {length} characters, may have at most {most}");
            out.report(path, "schema-max-length", "FieldValueTooLong", message);
            return;
        }
        if let Some(least) = limit(schema, "minLength").filter(|least| length < *least) {
            let message = format!("has {length} characters, needs at least {least}");
            out.report(path, "schema-min-length", "FieldValueInvalid", message);
            return;
        }
        let pattern = schema.get("pattern").and_then(Value::as_str);
        if let Some(pattern) = pattern
            && self
                .patterns
                .get(pattern)
                .is_some_and(|regex| !regex.is_match(text))
        {
            out.report(
                path,
                "schema-pattern",
                "FieldValueInvalid",
                pattern::in_words(pattern),
            );
        }
    }
}

fn check_range(schema: &Value, number: i64, path: &Place<'_>, out: &mut Findings) {
    let bound = |name| schema.get(name).and_then(Value::as_f64);
    #[expect(clippy::cast_precision_loss, reason = "bounds are small whole numbers")]
    let value = number as f64;
    if let Some(least) = bound("minimum").filter(|least| value < *least) {
        let message = format!("is {number}, must be at least {least}");
        out.report(path, "schema-minimum", "FieldValueInvalid", message);
    }
    if let Some(most) = bound("maximum").filter(|most| value > *most) {
        let message = format!("is {number}, may be at most {most}");
        out.report(path, "schema-maximum", "FieldValueInvalid", message);
    }
}

fn collect_patterns(
    schema: &Value,
    patterns: &mut HashMap<String, Regex>,
) -> Result<(), regex::Error> {
    match schema {
        Value::Object(fields) => {
            if let Some(pattern) = fields.get("pattern").and_then(Value::as_str) {
                patterns.insert(pattern.to_owned(), Regex::new(pattern)?);
            }
            fields
                .values()
                .try_for_each(|child| collect_patterns(child, patterns))
        }
        Value::Array(items) => items
            .iter()
            .try_for_each(|child| collect_patterns(child, patterns)),
        _ => Ok(()),
    }
}

fn limit(schema: &Value, name: &str) -> Option<u64> {
    schema.get(name).and_then(Value::as_u64)
}

fn is_map_list(schema: &Value) -> bool {
    schema.get("x-kubernetes-list-type").and_then(Value::as_str) == Some("map")
}

/// The keys that make an item unique: none for an atomic list, the item itself for a set.
fn list_keys(schema: &Value) -> Vec<String> {
    match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => vec![String::new()],
        Some("map") => schema
            .get("x-kubernetes-list-map-keys")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|key| key.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}

fn identity<'a>(item: &'a Value, keys: &[String]) -> Vec<Option<&'a Value>> {
    keys.iter()
        .map(|key| {
            if key.is_empty() {
                Some(item)
            } else {
                item.get(key)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{render, rules::Subject};

    // Proves: W-002
    #[test]
    fn every_pattern_of_the_schemas_has_words_for_whoever_breaks_it() {
        for subject in Subject::ALL {
            let bounds = Bounds::new(render::spec_schema(subject)).unwrap();
            for known in bounds.patterns.keys() {
                assert!(
                    !pattern::in_words(known).contains(known.as_str()),
                    "no words for {known}"
                );
            }
        }
    }
}
