//! What a template works on, and how Go counts, compares and indexes it. Pure.

use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap};

use super::{RunFault, run::Budget};

/// The data of a template: the keys of a Secret, say. Values are bytes, as in Go, and are shown to
/// nobody: there is no `Debug`.
#[derive(Clone, Default)]
pub struct Data<'d>(BTreeMap<&'d str, &'d [u8]>);

impl<'d> Data<'d> {
    /// Each key with its value, by the bytes of the keys.
    pub(super) fn entries(&self) -> impl ExactSizeIterator<Item = (&'d str, &'d [u8])> {
        self.0.iter().map(|(key, value)| (*key, *value))
    }

    /// The value of a key. A key that is not there is a fault, never an empty text (K-007).
    pub(super) fn get(&self, key: &[u8]) -> Result<Value<'d>, RunFault> {
        let key = str::from_utf8(key).ok();
        let found = key.and_then(|key| self.0.get(key));
        let found = found.ok_or(RunFault::KeyMissing)?;
        Ok(Value::Text(Cow::Borrowed(found)))
    }
}

impl<'d> FromIterator<(&'d str, &'d [u8])> for Data<'d> {
    fn from_iter<I: IntoIterator<Item = (&'d str, &'d [u8])>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

/// What an expression can be.
#[derive(Clone)]
pub(super) enum Value<'d> {
    /// The whole data: a `map[string]string`.
    Map(&'d Data<'d>),
    /// A `string`, which may hold any bytes.
    Text(Cow<'d, [u8]>),
    /// An `int`.
    Number(i64),
    /// A `uint8`: what `index` finds in a text.
    Byte(u8),
    /// A `bool`.
    Flag(bool),
}

impl Value<'_> {
    /// Whether `if` and `with` take their first way.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Map(data) => data.entries().len() > 0,
            Self::Text(text) => !text.is_empty(),
            Self::Number(number) => *number != 0,
            Self::Byte(byte) => *byte != 0,
            Self::Flag(flag) => *flag,
        }
    }

    /// The value that `.name` asks for in this one.
    pub(super) fn field(&self, name: &str) -> Result<Self, RunFault> {
        match self {
            Self::Map(data) => data.get(name.as_bytes()),
            _ => Err(RunFault::NoKeys),
        }
    }

    /// The value at a key or a position.
    pub(super) fn index(&self, by: &Self) -> Result<Self, RunFault> {
        match (self, by) {
            (Self::Map(data), Self::Text(key)) => data.get(key),
            (Self::Text(text), by) => {
                let position = by.whole().and_then(|position| position.try_into().ok());
                let position: usize = position.ok_or(RunFault::Index)?;
                let byte = text.get(position).ok_or(RunFault::Index)?;
                Ok(Self::Byte(*byte))
            }
            _ => Err(RunFault::Index),
        }
    }

    /// What `len` says.
    pub(super) fn length(&self) -> Result<i64, RunFault> {
        let length = match self {
            Self::Map(data) => data.entries().len(),
            Self::Text(text) => text.len(),
            _ => return Err(RunFault::Length),
        };
        i64::try_from(length).map_err(|_| RunFault::Length)
    }

    /// The number it is.
    pub(super) fn whole(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Byte(byte) => Some(i64::from(*byte)),
            Self::Map(_) | Self::Text(_) | Self::Flag(_) => None,
        }
    }

    /// Whether the two are equal; only what is of one kind can be compared.
    pub(super) fn equals(&self, other: &Self, budget: &mut Budget) -> Result<bool, RunFault> {
        match (self, other) {
            (Self::Flag(one), Self::Flag(other)) => Ok(one == other),
            _ => Ok(self.order(other, budget)? == Ordering::Equal),
        }
    }

    /// Which of the two comes first; truth values have no order.
    pub(super) fn order(&self, other: &Self, budget: &mut Budget) -> Result<Ordering, RunFault> {
        if let (Self::Text(one), Self::Text(other)) = (self, other) {
            budget.bytes(one.len().min(other.len()))?;
            return Ok(one.cmp(other));
        }
        match (self.whole(), other.whole()) {
            (Some(one), Some(other)) => Ok(one.cmp(&other)),
            _ => Err(RunFault::Compare),
        }
    }
}
