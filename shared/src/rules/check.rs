//! How a rule is stated: in CEL, which the API server evaluates as well, or as a function. Data only.

use serde_json::Value;

/// What must be so for a rule to be kept.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// CEL, true when the object is right: over `self`, `oldSelf` and, where the node binds it, `it`;
    /// for rules about who asks over `object`, `oldObject`, `request` and `variables`.
    Cel(&'static str),
    /// What CEL cannot say. Only the webhook holds such a rule.
    Rust(RustCheck),
}

/// Everything wrong with the raw JSON at a rule's node (each item, where the node binds those), given
/// what is stored there now. Pure and total: it answers for any JSON, and nothing for JSON it cannot
/// read, which the schema refuses.
pub type RustCheck = fn(value: &Value, stored: Option<&Value>) -> Vec<Flaw>;

/// One thing a function found wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flaw {
    /// Where, below the node: `.placement.files[2].template`. Empty for the row's own field.
    pub field: String,
    /// What a person must know beside the row's sentence, such as where a template ends too early. Never
    /// part of a warning, and never a value that could be secret.
    pub detail: Option<String>,
}

impl Check {
    /// The expression, where it is CEL.
    pub fn cel(&self) -> Option<&'static str> {
        match self {
            Self::Cel(expression) => Some(expression),
            Self::Rust(_) => None,
        }
    }
}
