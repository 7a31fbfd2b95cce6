//! Compiling and running the table's CEL. Pure.
//!
//! Only expressions of our own table are ever compiled, once, at start: a parser of CEL fed from a
//! request could be made to take minutes and gigabytes.

use std::{
    collections::HashMap,
    sync::{LazyLock, PoisonError, RwLock},
};

use cel::{
    Context, DeclarationError, Env, ExecutionError, Program, Value as Cel,
    common::types::{CelBool, CelMap, CelMapKey, CelString},
};
use regex::Regex;

use super::json_value::Borrowed;

/// Patterns of the table, compiled at first use. Requests bring none, so this stays as small as the
/// table is.
static PATTERNS: LazyLock<RwLock<HashMap<String, Regex>>> = LazyLock::new(RwLock::default);

/// What rules may call: the standard library, with a `matches` that remembers its patterns.
pub(super) fn environment() -> Result<Env, DeclarationError> {
    let mut env = Env::stdlib();
    cel::add_member_overload!(env, fn matches: (CelString, CelString) -> Result<CelBool>)?;
    Ok(env)
}

fn matches(this: &CelString<'_>, pattern: &CelString<'_>) -> Result<CelBool, ExecutionError> {
    let known = PATTERNS.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = known.get(pattern.inner()) {
        return Ok(CelBool::from(regex.is_match(this.inner())));
    }
    drop(known);
    let regex = Regex::new(pattern.inner())
        .map_err(|error| ExecutionError::function_error("matches", error))?;
    let answer = regex.is_match(this.inner());
    PATTERNS
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(pattern.inner().to_owned(), regex);
    Ok(CelBool::from(answer))
}

/// A CEL map of the given fields.
pub(super) fn cel_map<'v>(
    fields: impl IntoIterator<Item = (&'v str, Borrowed<'v>)>,
) -> Borrowed<'v> {
    let map: HashMap<CelMapKey<'v>, Borrowed<'v>> = fields
        .into_iter()
        .map(|(name, value)| (CelMapKey::from(name), value))
        .collect();
    Box::new(CelMap::from(map))
}

/// Runs `program`; anything but a boolean is an error.
pub(super) fn holds(program: &Program, context: &Context<'_, '_>) -> Result<bool, String> {
    match program.execute(context) {
        Ok(Cel::Bool(answer)) => Ok(answer),
        Ok(other) => Err(format!(
            "answered {:?} instead of true or false",
            other.type_of()
        )),
        Err(error) => Err(error.to_string()),
    }
}
