//! An error together with what caused it. Pure.

use std::error::Error;

/// An error with its sources, in one line.
pub fn sentence(error: &dyn Error) -> String {
    let mut sentence = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        sentence.push_str(": ");
        sentence.push_str(&cause.to_string());
        source = cause.source();
    }
    sentence
}
