//! From bytes to a tree of values. Pure.
//!
//! `metadata.managedFields` of both objects are stepped over: they are half of most reviews, no rule
//! reads them, and each of their many fields would be an object of its own in memory.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The review in `body`, whatever it may be, without the managed fields of its objects.
pub(super) fn parse(body: &[u8]) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let review = Place::Review.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(review)
}

/// How deep the way to the managed fields has been followed.
#[derive(Clone, Copy)]
enum Place {
    Review,
    Request,
    Object,
    Metadata,
}

impl Place {
    /// What stands under `key` here, if managed fields may be below it.
    fn below(self, key: &str) -> Option<Self> {
        match (self, key) {
            (Self::Review, "request") => Some(Self::Request),
            (Self::Request, "object" | "oldObject") => Some(Self::Object),
            (Self::Object, "metadata") => Some(Self::Metadata),
            _ => None,
        }
    }

    fn is_stepped_over(self, key: &str) -> bool {
        matches!((self, key), (Self::Metadata, "managedFields"))
    }
}

impl<'de> DeserializeSeed<'de> for Place {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if self.is_stepped_over(&key) {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = match self.below(&key) {
                Some(place) => members.next_value_seed(place)?,
                None => members.next_value()?,
            };
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    // Proves: W-001
    #[test]
    fn the_managed_fields_of_both_objects_are_stepped_over_and_nothing_else_is() {
        let object = |managed: bool| {
            let mut object = json!({
                "metadata": {"name": "a", "labels": {"managedFields": "kept"}},
                "spec": {"managedFields": [1], "metadata": {"managedFields": {"kept": null}}},
                "managedFields": "kept",
            });
            if managed {
                object["metadata"]["managedFields"] = json!([{"fieldsV1": {"f:spec": {}}}]);
            }
            object
        };
        let review = |managed: bool| {
            json!({
                "request": {
                    "object": object(managed),
                    "oldObject": object(managed),
                    "options": {"metadata": {"managedFields": ["kept"]}},
                },
                "object": {"metadata": {"managedFields": ["kept"]}},
                "metadata": {"managedFields": "kept"},
            })
        };
        let parsed = parse(review(true).to_string().as_bytes()).unwrap();
        assert_eq!(parsed, review(false));
    }

    #[rstest]
    #[case::text_behind_it(r#"{"request":{}} x"#)]
    #[case::managed_fields_that_are_no_json(
        r#"{"request":{"object":{"metadata":{"managedFields":[}}}}"#
    )]
    #[case::a_key_that_is_none(r#"{"request":{"object":{1:2}}}"#)]
    #[case::cut_off(r#"{"request":{"object":{"metadata":{"managedFields":[{"a":{"#)]
    fn what_is_no_json_is_an_error(#[case] text: &str) {
        assert!(parse(text.as_bytes()).is_err());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(|number| json!(number)),
            "\\PC{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            let key = prop_oneof![
                Just("request".to_owned()),
                Just("object".to_owned()),
                Just("metadata".to_owned()),
                "[a-c]{1,2}",
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn without_managed_fields_json_is_read_as_it_is(value in any_json()) {
            let text = value.to_string();
            let expected: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(parse(text.as_bytes()).unwrap(), expected);
        }
    }
}
