//! Go text/template: the part of it that Connections and classes may use (Q41). Pure.
//!
//! ```text
//! source ─lex─▶ tokens ─parse─▶ Template (tree) ─▶ which fields it names
//!                                     └──run──▶ bytes, as Go writes them
//! ```
//!
//! Taken are fields, `$`, `index`, `if` with `else` and `else if`, `with`, `range`, pipelines,
//! parentheses, comparisons, `printf`, `print`, `len`, comments and trim markers. Everything else of
//! Go's language is refused with its place. A template comes from a stranger, so its size, its depth
//! and the number of its actions are bounded, and reading it takes time in proportion to its size.

mod fields;
mod format;
mod lex;
mod parse;
mod quote;
mod run;
mod style;
mod tree;
mod value;

use std::fmt;

use thiserror::Error;

pub use fields::Field;
pub use run::{MOST_STEPS, RunError, RunFault};
pub use tree::{Branch, Command, Function, Kind, Node, Operand, Pipeline, Place};
pub use value::Data;

/// The most characters a template may have: what the schema allows.
pub const LONGEST: usize = 16_384;
/// The deepest blocks and parentheses may stand in one another.
pub const DEEPEST: usize = 32;
/// The most actions (`{{…}}`) a template may have.
pub const MOST_ACTIONS: usize = 1_000;

/// A template that parses.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// For telling where in it something went wrong.
    source: Box<str>,
    nodes: Vec<Node>,
}

/// Where in a template something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)
    }
}

/// A template that does not parse. Nothing of its text is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("failed to parse a template at {at}: {fault}")]
pub struct TemplateError {
    /// Where.
    pub at: Position,
    /// Why.
    pub fault: Fault,
}

/// What is wrong with a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// Over [`LONGEST`].
    #[error("a template may have at most {LONGEST} characters")]
    Long,
    /// Over [`DEEPEST`].
    #[error("blocks and parentheses may stand at most {DEEPEST} deep in one another")]
    Deep,
    /// Over [`MOST_ACTIONS`].
    #[error("a template may have at most {MOST_ACTIONS} actions")]
    Actions,
    /// No `}}`.
    #[error("the action is not closed with }}}}")]
    Unclosed,
    /// No `*/}}`.
    #[error("the comment is not closed with */ right before }}}}")]
    Comment,
    /// No closing quote in this line, or no closing backquote.
    #[error("the text is not closed with its quote")]
    Quote,
    /// An escape that Go does not know, or one of a byte that is no character.
    #[error(
        "the text has an escape other than \\a \\b \\f \\n \\r \\t \\v \\\\ \\\" \\x00 to \\x7f, \\u0000 and \\U00000000"
    )]
    Escape,
    /// No whole number in decimal notation of at most 64 bits.
    #[error("numbers are whole, decimal and of at most 64 bits")]
    Number,
    /// A character that begins nothing.
    #[error(
        "this character cannot stand here; a key with other characters than letters, digits and _ is read with index, like {{{{index . \"git-credentials\"}}}}"
    )]
    Character,
    /// A word of Go's language that is not taken.
    #[error("templates have no {0} here")]
    Unsupported(&'static str),
    /// A word that names no function.
    #[error(
        "there is no such function; there are index, printf, print, len, eq, ne, lt, le, gt and ge"
    )]
    Function,
    /// Nothing where a value must stand.
    #[error("a value is missing")]
    Missing,
    /// A value behind a value, without a function before them.
    #[error("only a function takes values behind it")]
    Argument,
    /// A value behind a `|`.
    #[error("behind | must stand a function")]
    Stage,
    /// A function among the values of another.
    #[error("a function among values must stand in parentheses")]
    Bare,
    /// Two values without a space between them.
    #[error("between values must stand a space")]
    Space,
    /// A `(` without `)`.
    #[error("the parenthesis is not closed")]
    Parenthesis,
    /// Something that fits nothing before it.
    #[error("this does not belong here")]
    Stray,
    /// A block without `end`.
    #[error("the block is not closed with {{{{end}}}}")]
    Block,
    /// An `end` or `else` outside a block, or a second `else`.
    #[error("there is no block that this belongs to")]
    Blockless,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// The first fault and where it stands.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        let parsed = if source.chars().nth(LONGEST).is_some() {
            Err((0, Fault::Long))
        } else {
            lex::tokens(source).and_then(|tokens| parse::nodes(&tokens, source.len()))
        };
        match parsed {
            Ok(nodes) => Ok(Self {
                source: source.into(),
                nodes,
            }),
            Err((offset, fault)) => Err(TemplateError {
                at: Position::of(source, offset),
                fault,
            }),
        }
    }

    /// Every field of the data it names, in the order they stand; those it names only while it runs
    /// (`index . .name`) and those of other values than the data are not among them.
    pub fn fields(&self) -> Vec<Field<'_>> {
        fields::of(&self.nodes)
    }
}

impl Position {
    /// The position of the byte at `offset`.
    fn of(source: &str, offset: usize) -> Self {
        let before = source.get(..offset).unwrap_or(source);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let in_line = before.get(line_start..).unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: in_line.chars().count() + 1,
        }
    }
}
