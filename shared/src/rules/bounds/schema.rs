//! A structural schema, read once into what walks over objects need. Pure.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use crate::api::pattern;

/// One place of a schema.
pub(in crate::rules) struct Schema {
    /// What may stand there.
    pub(in crate::rules) shape: Shape,
    /// What stands there if nothing was said.
    pub(in crate::rules) default: Option<Value>,
    /// Whether anything below has a default; most of a schema has none.
    pub(in crate::rules) defaults_below: bool,
}

/// What may stand in a place.
pub(in crate::rules) enum Shape {
    /// Whatever the API server takes there.
    Anything,
    Boolean,
    Number,
    Integer {
        least: Option<f64>,
        most: Option<f64>,
    },
    Text(Text),
    IntegerOrText(Text),
    List(List),
    Object(Object),
}

/// Bounds of a text.
pub(in crate::rules) struct Text {
    /// The only texts allowed; then nothing else is asked.
    pub(super) allowed: Option<Vec<String>>,
    /// In characters.
    pub(super) most: Option<u64>,
    /// In characters.
    pub(super) least: Option<u64>,
    pub(super) pattern: Option<Pattern>,
}

/// A pattern, and what it asks for in words.
pub(super) struct Pattern {
    pub(super) regex: Regex,
    pub(super) in_words: String,
}

/// Bounds of a list.
pub(in crate::rules) struct List {
    pub(super) most: Option<u64>,
    pub(super) least: Option<u64>,
    /// What makes an item unique.
    pub(super) unique: Unique,
    pub(in crate::rules) items: Option<Box<Schema>>,
}

/// What makes an item of a list unique.
pub(super) enum Unique {
    /// Nothing: an atomic list.
    Never,
    /// The item itself: a set.
    Item,
    /// The values of these fields: a map.
    Keys(Vec<String>),
}

/// Bounds of an object.
pub(in crate::rules) struct Object {
    pub(super) required: Vec<String>,
    /// In entries.
    pub(super) most: Option<u64>,
    pub(in crate::rules) fields: BTreeMap<String, Schema>,
    /// What may stand under any other name.
    pub(super) entries: Option<Box<Schema>>,
}

impl Schema {
    /// Reads `schema`.
    ///
    /// # Errors
    /// A pattern that is no regular expression.
    pub(super) fn read(schema: &Value) -> Result<Self, regex::Error> {
        let shape = Shape::read(schema)?;
        let has_default = |child: &Self| child.default.is_some() || child.defaults_below;
        let defaults_below = match &shape {
            Shape::Object(object) => object.fields.values().any(has_default),
            Shape::List(list) => list.items.as_deref().is_some_and(has_default),
            _ => false,
        };
        Ok(Self {
            shape,
            default: schema.get("default").cloned(),
            defaults_below,
        })
    }
}

impl Shape {
    fn read(schema: &Value) -> Result<Self, regex::Error> {
        if schema.get("x-kubernetes-int-or-string").is_some() {
            return Ok(Self::IntegerOrText(Text::read(schema)?));
        }
        Ok(match word(schema, "type") {
            Some("object") => Self::Object(Object::read(schema)?),
            Some("array") => Self::List(List::read(schema)?),
            Some("string") => Self::Text(Text::read(schema)?),
            Some("integer") => Self::Integer {
                least: schema.get("minimum").and_then(Value::as_f64),
                most: schema.get("maximum").and_then(Value::as_f64),
            },
            Some("number") => Self::Number,
            Some("boolean") => Self::Boolean,
            _ => Self::Anything,
        })
    }
}

impl Text {
    fn read(schema: &Value) -> Result<Self, regex::Error> {
        let pattern = word(schema, "pattern").map(|pattern| {
            Ok(Pattern {
                regex: Regex::new(pattern)?,
                in_words: pattern::in_words(pattern),
            })
        });
        Ok(Self {
            allowed: schema.get("enum").map(words),
            most: limit(schema, "maxLength"),
            least: limit(schema, "minLength"),
            pattern: pattern.transpose()?,
        })
    }
}

impl List {
    fn read(schema: &Value) -> Result<Self, regex::Error> {
        Ok(Self {
            most: limit(schema, "maxItems"),
            least: limit(schema, "minItems"),
            unique: match word(schema, "x-kubernetes-list-type") {
                Some("set") => Unique::Item,
                Some("map") => {
                    let keys = schema.get("x-kubernetes-list-map-keys");
                    Unique::Keys(keys.map(words).unwrap_or_default())
                }
                _ => Unique::Never,
            },
            items: boxed(schema.get("items"))?,
        })
    }
}

impl Object {
    fn read(schema: &Value) -> Result<Self, regex::Error> {
        let properties = schema.get("properties").and_then(Value::as_object);
        Ok(Self {
            required: schema.get("required").map(words).unwrap_or_default(),
            most: limit(schema, "maxProperties"),
            fields: properties
                .into_iter()
                .flatten()
                .map(|(name, child)| Ok((name.clone(), Schema::read(child)?)))
                .collect::<Result<_, regex::Error>>()?,
            entries: boxed(
                schema
                    .get("additionalProperties")
                    .filter(|child| child.is_object()),
            )?,
        })
    }
}

fn boxed(schema: Option<&Value>) -> Result<Option<Box<Schema>>, regex::Error> {
    schema
        .map(|schema| Schema::read(schema).map(Box::new))
        .transpose()
}

fn word<'s>(schema: &'s Value, name: &str) -> Option<&'s str> {
    schema.get(name).and_then(Value::as_str)
}

fn words(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

fn limit(schema: &Value, name: &str) -> Option<u64> {
    schema.get(name).and_then(Value::as_u64)
}

impl Unique {
    /// Whether two items of one list are the same.
    pub(super) fn same(&self, one: &Value, other: &Value) -> bool {
        match self {
            Self::Never => false,
            Self::Item => one == other,
            Self::Keys(keys) => keys.iter().all(|key| one.get(key) == other.get(key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{render, rules::Subject};

    fn patterns(schema: &Schema) -> Vec<&Pattern> {
        match &schema.shape {
            Shape::Text(text) | Shape::IntegerOrText(text) => text.pattern.iter().collect(),
            Shape::List(list) => list.items.as_deref().map(patterns).unwrap_or_default(),
            Shape::Object(object) => {
                let below = object.fields.values().chain(object.entries.as_deref());
                below.flat_map(patterns).collect()
            }
            _ => Vec::new(),
        }
    }

    // Proves: W-002
    #[test]
    fn every_pattern_of_the_schemas_has_words_for_whoever_breaks_it() {
        for subject in Subject::ALL {
            let schema = Schema::read(&render::spec_schema(subject)).unwrap();
            let known = patterns(&schema);
            assert!(!known.is_empty(), "{subject:?} has no pattern");
            for pattern in known {
                assert!(
                    !pattern.in_words.contains(pattern.regex.as_str()),
                    "no words for {}",
                    pattern.regex
                );
            }
        }
    }
}
