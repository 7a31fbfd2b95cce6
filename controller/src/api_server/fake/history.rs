//! All that ever happened to objects, in order: what watches tell, and what laws are about.

use std::sync::Arc;

use serde_json::Value;

/// One change of one object.
#[derive(Clone, Debug)]
pub(crate) struct Happened {
    /// Where the object stands.
    pub(crate) path: String,
    /// The object after the change, or as it was last, with the resourceVersion of the change.
    pub(crate) object: Arc<Value>,
    /// Whether the change removed it.
    pub(crate) gone: bool,
    /// The process that did it; nobody of ours if `None`.
    pub(crate) by: Option<usize>,
}

impl Happened {
    /// A text of the object; empty if it is not there.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        text(&self.object, pointer)
    }

    /// The resourceVersion of the change.
    pub(super) fn version(&self) -> u64 {
        self.text("/metadata/resourceVersion").parse().unwrap()
    }

    /// Whether the object is of the kind with this plural.
    pub(crate) fn is(&self, plural: &str) -> bool {
        let above = self.path.rsplit_once('/').unwrap_or_default().0;
        above.rsplit('/').next() == Some(plural)
    }
}

/// A text of an object; empty if it is not there.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let found = object.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}
