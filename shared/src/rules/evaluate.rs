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
    common::{
        types::{
            CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt,
        },
        value::Val,
    },
};
use regex::Regex;
use serde_json::Value;

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

/// A CEL value that borrows the JSON it stands for.
pub(super) type Borrowed<'v> = Box<dyn Val + 'v>;

/// Raw JSON as CEL sees it. Numbers without a fraction are integers and null fields are absent, as
/// in the API server. Text is borrowed: a review is judged without copying it.
pub(super) fn cel_value(value: &Value) -> Borrowed<'_> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(flag) => Box::new(CelBool::from(*flag)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Box::new(CelInt::from(number)),
            (None, Some(number)) => Box::new(CelUInt::from(number)),
            (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => Box::new(CelList::from(
            items.iter().map(cel_value).collect::<Vec<_>>(),
        )),
        Value::Object(fields) => cel_map(
            fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.as_str(), cel_value(value))),
        ),
    }
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
