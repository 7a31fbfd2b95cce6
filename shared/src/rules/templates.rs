//! Checks of what is a Go template in Connections and classes. Pure.
//!
//! What a template does not get is told by its place in it; of its text nothing is repeated, since
//! somebody may have written a secret into it.

use serde_json::Value;

use super::{check::Flaw, json_path};
use crate::template::Template;

/// What the arguments of a bound session are given (B-009).
const OF_A_SESSION: &[&str] = &["Connection", "SignedOutPrefixes", "StateFile"];
/// What the arguments of an enrolment are given (N-010).
const OF_AN_ENROLMENT: &[&str] = &[
    "Connection",
    "StartURL",
    "StateDomains",
    "MaxDuration",
    "StateEndpoint",
    "TokenFile",
];

/// One template of a class: where it stands, its text and the fields it is given.
struct Argument<'v> {
    field: String,
    source: &'v str,
    given: &'static [&'static str],
}

/// Why the template of a placed file does not parse (T-075).
pub(super) fn of_a_file(file: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    let source = file.get("template").and_then(Value::as_str);
    let unread = source.and_then(|source| unread(String::new(), source));
    unread.into_iter().collect()
}

/// Which arguments for a bound session do not parse (T-055).
pub(super) fn of_sessions(spec: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    let arguments = session_arguments(spec);
    arguments.filter_map(Argument::unread).collect()
}

/// Which arguments for an enrolment do not parse (T-058).
pub(super) fn of_an_enrolment(spec: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    let arguments = enrolment_arguments(spec);
    arguments.filter_map(Argument::unread).collect()
}

/// Which arguments of a class name what they are not given: they fail whenever they run.
pub(super) fn beyond_what_is_given(spec: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    let arguments = session_arguments(spec).chain(enrolment_arguments(spec));
    let beyond = arguments.filter(Argument::names_what_is_not_given);
    beyond
        .map(|argument| Flaw {
            field: argument.field,
            detail: None,
        })
        .collect()
}

impl Argument<'_> {
    fn unread(self) -> Option<Flaw> {
        unread(self.field, self.source)
    }

    fn names_what_is_not_given(&self) -> bool {
        let template = Template::parse(self.source).ok();
        template.is_some_and(|template| {
            let mut fields = template.fields().into_iter();
            fields.any(|field| field.inside || !self.given.contains(&field.name))
        })
    }
}

fn unread(field: String, source: &str) -> Option<Flaw> {
    let error = Template::parse(source).err()?;
    Some(Flaw {
        field,
        detail: Some(format!("{}: {}", error.at, error.fault)),
    })
}

fn session_arguments(spec: &Value) -> impl Iterator<Item = Argument<'_>> {
    let roles = list(json_path::at(spec, "connections")).enumerate();
    roles.flat_map(|(index, role)| {
        let field = format!(".connections[{index}].session.args");
        arguments(json_path::at(role, "session.args"), field, OF_A_SESSION)
    })
}

fn enrolment_arguments(spec: &Value) -> impl Iterator<Item = Argument<'_>> {
    let field = ".enrolment.args".to_owned();
    arguments(
        json_path::at(spec, "enrolment.args"),
        field,
        OF_AN_ENROLMENT,
    )
}

fn arguments<'v>(
    sources: Option<&'v Value>,
    field: String,
    given: &'static [&'static str],
) -> impl Iterator<Item = Argument<'v>> {
    let sources = list(sources).enumerate();
    sources.filter_map(move |(index, source)| {
        Some(Argument {
            field: format!("{field}[{index}]"),
            source: source.as_str()?,
            given,
        })
    })
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}
