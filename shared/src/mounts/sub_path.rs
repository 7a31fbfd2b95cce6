//! A directory below a workspace's content, and how two of them lie to each other. Pure.
//!
//! Paths are compared byte by byte. On a volume that takes `A` and `a` for one name, two claims can
//! mount what their paths say is not one directory.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The longest path, in bytes: what a claim can record (T-016).
pub const LONGEST: usize = 1024;
/// The longest segment, in bytes: what a file system takes for a name.
pub const LONGEST_SEGMENT: usize = 255;

/// Why a text is no directory below a workspace's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SubPathError {
    /// It names the content itself.
    #[error("is empty")]
    Empty,
    /// It does not start at the content.
    #[error("begins with '/', and has to be relative to the workspace's content")]
    Absolute,
    /// Another path names the same directory, or one above.
    #[error("has an empty, '.' or '..' segment")]
    Dots,
    /// Not every tool would read it alike.
    #[error("holds a backslash or a control character")]
    Character,
    /// No claim could record it, or no file system hold it.
    #[error("is longer than {LONGEST} bytes, or has a segment longer than {LONGEST_SEGMENT}")]
    Long,
}

/// A directory below a workspace's content: relative, and written in the one way it can be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubPath(String);

/// How a directory lies to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They are one.
    Same,
    /// It lies strictly inside the other.
    Inside,
    /// It holds the other, at any depth.
    Around,
    /// Neither holds the other.
    Apart,
}

impl SubPath {
    /// The path as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its segments, from the top.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// How this directory lies to `other` (M-022, M-023).
    pub fn relation(&self, other: &Self) -> Relation {
        let within = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        if self == other {
            Relation::Same
        } else if within(&self.0, &other.0) {
            Relation::Inside
        } else if within(&other.0, &self.0) {
            Relation::Around
        } else {
            Relation::Apart
        }
    }
}

impl fmt::Display for SubPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl FromStr for SubPath {
    type Err = SubPathError;

    fn from_str(text: &str) -> Result<Self, SubPathError> {
        if text.is_empty() {
            return Err(SubPathError::Empty);
        }
        if text.starts_with('/') {
            return Err(SubPathError::Absolute);
        }
        if text.len() > LONGEST {
            return Err(SubPathError::Long);
        }
        for segment in text.split('/') {
            if matches!(segment, "" | "." | "..") {
                return Err(SubPathError::Dots);
            }
            if segment.contains(|c: char| c == '\\' || c.is_control()) {
                return Err(SubPathError::Character);
            }
            if segment.len() > LONGEST_SEGMENT {
                return Err(SubPathError::Long);
            }
        }
        Ok(Self(text.to_owned()))
    }
}
