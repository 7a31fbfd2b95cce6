//! What the schema itself says (required, lengths, patterns, enums, counts), applied to raw JSON.
//! Pure.
//!
//! The API server says the same, but only after the mutating webhooks and one layer at a time; here
//! a person is told everything at once. A value of the wrong *type* is left to the API server's own
//! error, since no rule can be read on it.

mod schema;

use std::fmt;

use serde_json::{Map, Value};

use self::schema::{List, Object, Text, Unique};
pub(super) use self::schema::{Schema, Shape};
use super::verdict::Violation;

/// The schema of one kind.
pub(super) struct Bounds {
    schema: Schema,
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
    pub(super) fn new(schema: &Value) -> Result<Self, regex::Error> {
        Ok(Self {
            schema: Schema::read(schema)?,
        })
    }

    /// The schema, for defaulting.
    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Checks `value`. What did not change since `old` is let through, as Kubernetes ratchets.
    pub(super) fn check(&self, value: &Value, old: Option<&Value>, path: &str) -> Findings {
        let mut findings = Findings::default();
        check(&self.schema, value, old, &Place::Root(path), &mut findings);
        findings
    }
}

fn check(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    path: &Place<'_>,
    out: &mut Findings,
) {
    if old == Some(value) {
        return;
    }
    match (&schema.shape, value) {
        (Shape::Object(bounds), Value::Object(fields)) => {
            check_object(bounds, fields, old, path, out);
        }
        (Shape::List(bounds), Value::Array(items)) => check_list(bounds, items, old, path, out),
        (Shape::Text(bounds) | Shape::IntegerOrText(bounds), Value::String(text)) => {
            check_text(bounds, text, path, out);
        }
        (Shape::Integer { least, most }, Value::Number(number)) if number.is_i64() => {
            check_range(
                *least,
                *most,
                number.as_i64().unwrap_or_default(),
                path,
                out,
            );
        }
        (Shape::IntegerOrText(_), Value::Number(number)) if number.is_i64() => {}
        (Shape::Number, Value::Number(_))
        | (Shape::Boolean, Value::Bool(_))
        | (Shape::Anything, _) => {}
        _ => out.mistyped = true,
    }
}

fn check_object(
    bounds: &Object,
    fields: &Map<String, Value>,
    old: Option<&Value>,
    path: &Place<'_>,
    out: &mut Findings,
) {
    let present = |name: &str| fields.get(name).filter(|value| !value.is_null());
    for name in &bounds.required {
        if present(name).is_none() {
            let field = Place::Field(path, name);
            out.report(
                &field,
                "schema-required",
                "FieldValueRequired",
                "must be set".into(),
            );
        }
    }
    if let Some(most) = bounds.most.filter(|most| fields.len() as u64 > *most) {
        out.oversized = true;
        let message = format!("may not have more than {most} entries");
        out.report(path, "schema-max-properties", "FieldValueTooMany", message);
        return;
    }
    for (name, child) in &bounds.fields {
        if let Some(value) = present(name) {
            let old = old.and_then(|old| old.get(name));
            check(child, value, old, &Place::Field(path, name), out);
        }
    }
    if let Some(child) = &bounds.entries {
        for (name, value) in fields {
            let old = old.and_then(|old| old.get(name));
            check(child, value, old, &Place::Entry(path, name), out);
        }
    }
}

fn check_list(
    bounds: &List,
    items: &[Value],
    old: Option<&Value>,
    path: &Place<'_>,
    out: &mut Findings,
) {
    let count = items.len() as u64;
    if let Some(most) = bounds.most.filter(|most| count > *most) {
        out.oversized = true;
        let message = format!("has {count} items, may have at most {most}");
        out.report(path, "schema-max-items", "FieldValueTooMany", message);
        return;
    }
    if let Some(least) = bounds.least.filter(|least| count < *least) {
        let message = format!("has {count} items, needs at least {least}");
        out.report(path, "schema-min-items", "FieldValueInvalid", message);
    }
    let Some(child) = &bounds.items else {
        return;
    };
    for (index, item) in items.iter().enumerate() {
        let here = Place::Item(path, index);
        let same = |other: &&Value| bounds.unique.same(other, item);
        if items.iter().take(index).any(|earlier| same(&earlier)) {
            let message = "is there twice; remove one".to_owned();
            out.report(&here, "schema-duplicate", "FieldValueDuplicate", message);
        }
        // Only the items of a map are the same from write to write.
        let old = old
            .filter(|_| matches!(bounds.unique, Unique::Keys(_)))
            .and_then(Value::as_array)
            .and_then(|old| old.iter().find(same));
        check(child, item, old, &here, out);
    }
}

fn check_text(bounds: &Text, text: &str, path: &Place<'_>, out: &mut Findings) {
    if let Some(allowed) = &bounds.allowed {
        if !allowed.iter().any(|allowed| allowed == text) {
            let message = format!("must be one of {}", allowed.join(", "));
            out.report(path, "schema-enum", "FieldValueNotSupported", message);
        }
        return;
    }
    let length = text.chars().count() as u64;
    if let Some(most) = bounds.most.filter(|most| length > *most) {
        out.oversized = true;
        let message = format!("has {length} characters, may have at most {most}");
        out.report(path, "schema-max-length", "FieldValueTooLong", message);
        return;
    }
    if let Some(least) = bounds.least.filter(|least| length < *least) {
        let message = format!("has {length} characters, needs at least {least}");
        out.report(path, "schema-min-length", "FieldValueInvalid", message);
        return;
    }
    if let Some(pattern) = &bounds.pattern
        && !pattern.regex.is_match(text)
    {
        let message = pattern.in_words.clone();
        out.report(path, "schema-pattern", "FieldValueInvalid", message);
    }
}

fn check_range(
    least: Option<f64>,
    most: Option<f64>,
    number: i64,
    path: &Place<'_>,
    out: &mut Findings,
) {
    #[expect(clippy::cast_precision_loss, reason = "bounds are small whole numbers")]
    let value = number as f64;
    if let Some(least) = least.filter(|least| value < *least) {
        let message = format!("is {number}, must be at least {least}");
        out.report(path, "schema-minimum", "FieldValueInvalid", message);
    }
    if let Some(most) = most.filter(|most| value > *most) {
        let message = format!("is {number}, may be at most {most}");
        out.report(path, "schema-maximum", "FieldValueInvalid", message);
    }
}
