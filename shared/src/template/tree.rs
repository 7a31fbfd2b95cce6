//! What a template is made of. Data only.

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Text that stands as it is, trimmed already.
    Text(String),
    /// `{{…}}`: the value of a pipeline.
    Print(Pipeline),
    /// `{{if …}}`, `{{with …}}` or `{{range …}}` up to its `end`.
    Block(Branch),
}

/// A block with its two ways.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// What decides.
    pub kind: Kind,
    /// What is decided on.
    pub pipeline: Pipeline,
    /// Run where the pipeline's value is not empty: once, or for each item.
    pub body: Vec<Node>,
    /// Run otherwise.
    pub otherwise: Vec<Node>,
}

/// The kinds of block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Runs the body once; the dot stays.
    If,
    /// Runs the body once with the value as dot.
    With,
    /// Runs the body for each item, with the item as dot.
    Range,
}

/// Commands, each given the value of the one before as its last argument. Never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// The byte of the template that it begins at.
    pub at: usize,
    /// The commands from left to right.
    pub commands: Vec<Command>,
}

/// One stage of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A value as it stands; only at the beginning.
    Value(Operand),
    /// A function called.
    Call(Function, Vec<Operand>),
}

/// What may stand as a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A place in the data.
    Data(Place),
    /// A text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// `true` or `false`.
    Flag(bool),
    /// A pipeline in parentheses.
    Group(Pipeline),
}

/// A place in the data, such as `.a.b` or `$.a`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whether it begins with `$`, the whole data, instead of the dot.
    pub from_root: bool,
    /// The fields from there; none for `.` and `$` themselves.
    pub fields: Vec<String>,
}

/// The functions there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The value at a key or position.
    Index,
    /// Text by a format.
    Printf,
    /// Values as text.
    Print,
    /// The number of bytes or items.
    Len,
    /// Whether the first equals any other.
    Eq,
    /// Whether two differ.
    Ne,
    /// Whether the first is below the second.
    Lt,
    /// Whether the first is at most the second.
    Le,
    /// Whether the first is above the second.
    Gt,
    /// Whether the first is at least the second.
    Ge,
}

impl Function {
    /// The function called `name`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "index" => Self::Index,
            "printf" => Self::Printf,
            "print" => Self::Print,
            "len" => Self::Len,
            "eq" => Self::Eq,
            "ne" => Self::Ne,
            "lt" => Self::Lt,
            "le" => Self::Le,
            "gt" => Self::Gt,
            "ge" => Self::Ge,
            _ => return None,
        })
    }
}
