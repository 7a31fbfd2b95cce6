//! What a test prints when it fails: a text for people. Pure.

use std::error::Error;
use std::fmt;

/// Why a test cannot go on, ready to print: its `Debug` is the text itself, because that is what the
/// test runner shows when a test returns an error.
pub struct Failure(String);

/// What a test and each of its sentences returns.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure that says `text`.
    pub fn saying(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Every error becomes a failure that prints the whole chain of causes. `Failure` is therefore not
/// an `Error` itself.
impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(chain(&error))
    }
}

/// The error and its causes, joined by colons; a cause whose text is already there is left out.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("failed to open the door")]
    struct Door(#[source] std::io::Error);

    #[test]
    fn a_failure_prints_every_cause_once_and_no_struct_syntax() {
        let failure = Failure::from(Door(std::io::Error::other("the key is lost")));
        assert_eq!(
            format!("{failure:?}"),
            "failed to open the door: the key is lost"
        );
    }
}
