//! A ceiling as somebody else wrote it. Data only.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// What stands where a ceiling belongs. One that cannot be read is not the same as none: it would let
/// everybody in (Q28).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ceiling {
    /// Unset or `null`: no limit.
    #[default]
    None,
    /// This many; what is below zero counts as zero.
    Of(u32),
    /// Something that is not a whole number.
    Unreadable,
}

impl Ceiling {
    /// Whether it is unset.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    fn read(value: &Value) -> Self {
        if value.is_null() {
            return Self::None;
        }
        let most = |number: i64| u32::try_from(number.max(0)).unwrap_or(u32::MAX);
        match (value.as_i64(), value.as_u64()) {
            (Some(number), _) => Self::Of(most(number)),
            (None, Some(_)) => Self::Of(u32::MAX),
            (None, None) => Self::Unreadable,
        }
    }
}

impl<'de> Deserialize<'de> for Ceiling {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self::read(&value))
    }
}

impl Serialize for Ceiling {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_none(),
            Self::Of(number) => serializer.serialize_u32(*number),
            Self::Unreadable => serializer.serialize_str("unreadable"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::Ceiling;
    use crate::api::outside::AgentRuntimeSpec;

    // Proves: C-008
    #[rstest]
    #[case::unset(json!({}), Ceiling::None)]
    #[case::null(json!({"maxConcurrent": null}), Ceiling::None)]
    #[case::a_number(json!({"maxConcurrent": 5}), Ceiling::Of(5))]
    #[case::zero(json!({"maxConcurrent": 0}), Ceiling::Of(0))]
    #[case::below_zero(json!({"maxConcurrent": -1}), Ceiling::Of(0))]
    #[case::huge(json!({"maxConcurrent": 10_000_000_000_u64}), Ceiling::Of(u32::MAX))]
    #[case::beyond_huge(json!({"maxConcurrent": u64::MAX}), Ceiling::Of(u32::MAX))]
    #[case::words(json!({"maxConcurrent": "5"}), Ceiling::Unreadable)]
    #[case::a_part(json!({"maxConcurrent": 5.5}), Ceiling::Unreadable)]
    #[case::a_list(json!({"maxConcurrent": [5]}), Ceiling::Unreadable)]
    #[case::a_flag(json!({"maxConcurrent": true}), Ceiling::Unreadable)]
    fn a_ceiling_that_cannot_be_read_is_not_taken_for_none(
        #[case] sandbox: Value,
        #[case] expected: Ceiling,
    ) {
        let spec: AgentRuntimeSpec = serde_json::from_value(json!({"sandbox": sandbox})).unwrap();
        assert_eq!(spec.sandbox.as_ref().unwrap().max_concurrent, expected);
        let again = serde_json::to_value(&spec).unwrap();
        assert_eq!(
            serde_json::from_value::<AgentRuntimeSpec>(again).unwrap(),
            spec
        );
    }
}
