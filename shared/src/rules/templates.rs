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

/// Why an argument does not parse (T-058).
pub(super) fn of_an_argument(argument: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    let source = argument.as_str();
    let unread = source.and_then(|source| unread(String::new(), source));
    unread.into_iter().collect()
}

/// Which arguments for a session bound to a role do not parse (T-055).
pub(super) fn of_a_role(role: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    let arguments = session_arguments(role, ".session.args".to_owned());
    let unread = arguments.filter_map(|argument| unread(argument.field, argument.source));
    unread.collect()
}

/// Which arguments of a class name what they are not given: they fail whenever they run.
pub(super) fn beyond_what_is_given(spec: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    let roles = list(json_path::at(spec, "connections")).enumerate();
    let of_sessions = roles.flat_map(|(index, role)| {
        let field = format!(".connections[{index}].session.args");
        session_arguments(role, field)
    });
    let of_enrolments = arguments(
        json_path::at(spec, "enrolment.args"),
        ".enrolment.args".to_owned(),
        OF_AN_ENROLMENT,
    );
    let beyond = of_sessions
        .chain(of_enrolments)
        .filter(Argument::names_what_is_not_given);
    beyond
        .map(|argument| Flaw {
            field: argument.field,
            detail: None,
        })
        .collect()
}

impl Argument<'_> {
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

/// The arguments for a session bound to `role`; they stand at `field`.
fn session_arguments(role: &Value, field: String) -> impl Iterator<Item = Argument<'_>> {
    arguments(json_path::at(role, "session.args"), field, OF_A_SESSION)
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
