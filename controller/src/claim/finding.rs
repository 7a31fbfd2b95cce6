//! Something that is to be told of a claim. Data.

/// A reason and a message a person understands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// One of `sandgate_shared::reason`.
    pub reason: &'static str,
    /// What is wrong and what to do about it.
    pub message: String,
}
