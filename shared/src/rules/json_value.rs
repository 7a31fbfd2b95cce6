//! Raw JSON as CEL sees it, read where it stands. Pure.
//!
//! An object or list is a reference until a rule asks for what is in it: nothing is copied, and of the
//! fields that no rule reads nothing is made, however many there are. Numbers without a fraction are
//! integers, and null fields are absent, as in the API server.

use std::fmt;
use std::sync::OnceLock;

use cel::ExecutionError;
use cel::common::traits::{self, Container, Indexer, Iterable, Sizer};
use cel::common::types::{
    CelBool, CelDouble, CelInt, CelNull, CelString, CelUInt, LIST_TYPE, MAP_TYPE, Type,
};
use cel::common::value::{CowVal, Val};
use serde_json::{Map, Value};

/// A CEL value that borrows the JSON it stands for.
pub(super) type Borrowed<'v> = Box<dyn Val + 'v>;

/// `value` as CEL sees it.
pub(super) fn cel_value(value: &Value) -> Borrowed<'_> {
    #[cfg(test)]
    tests::MADE.with(|made| made.set(made.get() + 1));
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(flag) => Box::new(CelBool::from(*flag)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Box::new(CelInt::from(number)),
            (None, Some(number)) => Box::new(CelUInt::from(number)),
            (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => Box::new(List::of(items)),
        Value::Object(fields) => Box::new(Object::of(fields)),
    }
}

/// An object; its null fields are absent.
struct Object<'j> {
    fields: &'j Map<String, Value>,
    /// The names, once a rule goes through them.
    names: OnceLock<Vec<CelString<'j>>>,
}

impl<'j> Object<'j> {
    fn of(fields: &'j Map<String, Value>) -> Self {
        Self {
            fields,
            names: OnceLock::new(),
        }
    }

    fn present(&self) -> impl Iterator<Item = (&'j str, &'j Value)> {
        let fields = self.fields.iter().filter(|(_, value)| !value.is_null());
        fields.map(|(name, value)| (name.as_str(), value))
    }

    fn field(&self, key: &dyn Val) -> Option<&'j Value> {
        let name = key.downcast_ref::<CelString<'_>>()?;
        self.fields
            .get(name.inner())
            .filter(|value| !value.is_null())
    }
}

impl fmt::Debug for Object<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is in it may be secret.
        out.write_str("object")
    }
}

impl Val for Object<'_> {
    fn get_type(&self) -> &Type {
        Self::cel_type()
    }

    fn cel_type() -> &'static Type {
        &MAP_TYPE
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self)
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_iterable<'b, 'v>(&'b self) -> Option<&'b (dyn Iterable + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        let (Some(sizer), Some(indexer)) = (other.as_sizer(), other.as_indexer()) else {
            return false;
        };
        other.get_type() == Self::cel_type()
            && sizer.size() == self.size()
            && self.present().all(|(name, value)| {
                let theirs = indexer.get(&CelString::from(name));
                theirs.is_ok_and(|theirs| cel_value(value).equals(theirs.as_ref()))
            })
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(Object::of(self.fields))
    }
}

impl Container for Object<'_> {
    fn contains(&self, key: &dyn Val) -> Result<bool, ExecutionError> {
        Ok(self.field(key).is_some())
    }
}

impl Indexer for Object<'_> {
    fn get<'b, 'v>(&'b self, key: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        match self.field(key) {
            Some(value) => Ok(CowVal::Owned(cel_value(value))),
            None => Err(ExecutionError::no_such_key("field")),
        }
    }

    fn steal<'v>(self: Box<Self>, key: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        match self.field(key) {
            Some(value) => Ok(cel_value(value)),
            None => Err(ExecutionError::no_such_key("field")),
        }
    }
}

impl Iterable for Object<'_> {
    fn iter<'b, 'v>(&'b self) -> Box<dyn traits::Iterator<'b, 'v> + 'b>
    where
        Self: 'v,
    {
        let names = || {
            self.present()
                .map(|(name, _)| CelString::from(name))
                .collect()
        };
        Box::new(Names(self.names.get_or_init(names).iter()))
    }
}

impl Sizer for Object<'_> {
    fn size(&self) -> CelInt {
        size(self.present().count())
    }
}

/// A list.
struct List<'j> {
    items: &'j [Value],
    /// The items as CEL sees them, once a rule goes through them.
    made: OnceLock<Vec<Borrowed<'j>>>,
}

impl<'j> List<'j> {
    fn of(items: &'j [Value]) -> Self {
        Self {
            items,
            made: OnceLock::new(),
        }
    }

    fn item(&self, index: &dyn Val) -> Option<&'j Value> {
        let index = *index.downcast_ref::<CelInt>()?.inner();
        self.items.get(usize::try_from(index).ok()?)
    }
}

impl fmt::Debug for List<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("list")
    }
}

impl Val for List<'_> {
    fn get_type(&self) -> &Type {
        Self::cel_type()
    }

    fn cel_type() -> &'static Type {
        &LIST_TYPE
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self)
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_iterable<'b, 'v>(&'b self) -> Option<&'b (dyn Iterable + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        let (Some(sizer), Some(indexer)) = (other.as_sizer(), other.as_indexer()) else {
            return false;
        };
        // By index: their iterator would make all of their items before the first is compared.
        other.get_type() == Self::cel_type()
            && sizer.size() == self.size()
            && self.items.iter().enumerate().all(|(index, item)| {
                let theirs = indexer.get(&size(index));
                theirs.is_ok_and(|theirs| cel_value(item).equals(theirs.as_ref()))
            })
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(List::of(self.items))
    }
}

impl Container for List<'_> {
    fn contains(&self, value: &dyn Val) -> Result<bool, ExecutionError> {
        Ok(self.items.iter().any(|item| cel_value(item).equals(value)))
    }
}

impl Indexer for List<'_> {
    fn get<'b, 'v>(&'b self, index: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        match self.item(index) {
            Some(value) => Ok(CowVal::Owned(cel_value(value))),
            None => Err(ExecutionError::no_such_key("item")),
        }
    }

    fn steal<'v>(self: Box<Self>, index: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        match self.item(index) {
            Some(value) => Ok(cel_value(value)),
            None => Err(ExecutionError::no_such_key("item")),
        }
    }
}

impl Iterable for List<'_> {
    fn iter<'b, 'v>(&'b self) -> Box<dyn traits::Iterator<'b, 'v> + 'b>
    where
        Self: 'v,
    {
        let items = || self.items.iter().map(cel_value).collect();
        Box::new(Items(self.made.get_or_init(items).iter()))
    }
}

impl Sizer for List<'_> {
    fn size(&self) -> CelInt {
        size(self.items.len())
    }
}

struct Names<'b, 'j>(std::slice::Iter<'b, CelString<'j>>);

impl<'b, 'v, 'j: 'v> traits::Iterator<'b, 'v> for Names<'b, 'j> {
    fn next(&mut self) -> Option<&'b (dyn Val + 'v)> {
        self.0.next().map(|name| name as &(dyn Val + 'v))
    }
}

struct Items<'b, 'j>(std::slice::Iter<'b, Borrowed<'j>>);

impl<'b, 'v, 'j: 'v> traits::Iterator<'b, 'v> for Items<'b, 'j> {
    fn next(&mut self) -> Option<&'b (dyn Val + 'v)> {
        self.0.next().map(|item| item.as_ref() as &(dyn Val + 'v))
    }
}

/// A count as CEL has it; no JSON holds more than fits.
fn size(count: usize) -> CelInt {
    CelInt::from(i64::try_from(count).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
