//! A path that cannot lead out of a root by what it says. Pure.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The longest component, in bytes: what a file system takes for a name.
const LONGEST: usize = 255;

/// A text is no path below a root.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "failed to take {0:?} for a path below a root: it must be relative, with components of 1 to {LONGEST} bytes that are neither '.' nor '..'"
)]
pub struct NotBelow(String);

/// A path below a root: relative, at least one component, and none that goes up or stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Below(String);

impl Below {
    /// The path as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its components, from the top.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Its first components, joined again.
    pub(crate) fn first(&self, count: usize) -> String {
        self.components().take(count).collect::<Vec<_>>().join("/")
    }
}

impl fmt::Display for Below {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl FromStr for Below {
    type Err = NotBelow;

    fn from_str(text: &str) -> Result<Self, NotBelow> {
        let sound = text.split('/').all(|component| {
            (1..=LONGEST).contains(&component.len())
                && !matches!(component, "." | "..")
                && !component.contains('\0')
        });
        sound
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| NotBelow(text.to_owned()))
    }
}
