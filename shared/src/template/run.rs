//! Runs a template on data, as Go does, within limits. Pure.
//!
//! Two things differ from Go, both so that no half-written credential reaches a sandbox: a key that
//! is not there is a fault through `index` too, and where Go writes `%!d(string=…)` into the text for
//! a format that does not fit, here is a fault.

use std::{borrow::Cow, cmp::Ordering};

use thiserror::Error;

use super::{
    Position, Template, format,
    tree::{Branch, Command, Function, Kind, Node, Operand, Pipeline, Place},
    value::{Data, Value},
};

/// The most nodes, values and rounds a template may go through while it runs.
pub const MOST_STEPS: usize = 100_000;
/// How many times what a template may write it may handle on the way there.
const MOST_HANDLED: usize = 8;

/// Why a template does not run. Nothing of its text or its data is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("failed to run a template at {at}: {fault}")]
pub struct RunError {
    /// Where the expression begins that went wrong.
    pub at: Position,
    /// Why.
    pub fault: RunFault,
}

/// What went wrong while a template ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RunFault {
    /// A key that is not there (K-007).
    #[error("it names a key that is not there")]
    KeyMissing,
    /// A field of something that has none.
    #[error("only the whole data has keys; a value has none")]
    NoKeys,
    /// `index` of or by something it cannot take.
    #[error("index takes the whole data and a key, or a text and a position inside it")]
    Index,
    /// `len` of something without a length.
    #[error("len takes a text or the whole data")]
    Length,
    /// `range` over something that is no list.
    #[error("range takes the whole data or a number")]
    Range,
    /// A comparison of what cannot be compared.
    #[error("only two texts, two numbers or, for equality, two truth values can be compared")]
    Compare,
    /// Too many values for a function, or too few.
    #[error("the function takes another number of values")]
    Count,
    /// A `printf` whose first value is no text.
    #[error("the first value of printf is its format, a text")]
    NoFormat,
    /// A format that does not fit its values, or a verb that is not taken.
    #[error(
        "the format does not fit its values: for a text there are %s %q %v %x %X, for a number %d %v %x %X %o %O %b %c %q %U, for a truth value %t %v, and each value has one verb"
    )]
    Format,
    /// More was written, or made on the way, than may be.
    #[error("it writes more than it may")]
    Long,
    /// More steps than [`MOST_STEPS`].
    #[error("it takes more than {MOST_STEPS} steps")]
    Steps,
}

impl Template {
    /// What the template makes of `data`: at most `limit` bytes.
    ///
    /// # Errors
    /// The first fault and where it stands.
    pub fn run(&self, data: &Data<'_>, limit: usize) -> Result<Vec<u8>, RunError> {
        let mut run = Run {
            root: data,
            at: 0,
            budget: Budget::new(limit),
            out: Vec::new(),
        };
        match run.nodes(&self.nodes, &Value::Map(data)) {
            Ok(()) => Ok(run.out),
            Err(fault) => Err(RunError {
                at: Position::of(&self.source, run.at),
                fault,
            }),
        }
    }
}

/// What a run may still use.
pub(super) struct Budget {
    limit: usize,
    steps: usize,
    bytes: usize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            steps: MOST_STEPS,
            bytes: limit.saturating_mul(MOST_HANDLED),
        }
    }

    /// Takes a step.
    fn step(&mut self) -> Result<(), RunFault> {
        self.steps = self.steps.checked_sub(1).ok_or(RunFault::Steps)?;
        Ok(())
    }

    /// Handles `count` bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Result<(), RunFault> {
        self.bytes = self.bytes.checked_sub(count).ok_or(RunFault::Long)?;
        Ok(())
    }

    /// Appends `more` to `text`.
    pub(super) fn put(&mut self, more: &[u8], text: &mut Vec<u8>) -> Result<(), RunFault> {
        self.grow(text, more.len())?;
        text.extend_from_slice(more);
        Ok(())
    }

    /// Makes room in `text` for `more` bytes.
    pub(super) fn grow(&mut self, text: &[u8], more: usize) -> Result<(), RunFault> {
        self.bytes(more)?;
        let length = text.len().saturating_add(more);
        if length > self.limit {
            return Err(RunFault::Long);
        }
        Ok(())
    }
}

struct Run<'d> {
    root: &'d Data<'d>,
    /// The byte at which the innermost expression begins that is or was evaluated.
    at: usize,
    budget: Budget,
    out: Vec<u8>,
}

impl<'d> Run<'d> {
    fn nodes(&mut self, nodes: &'d [Node], dot: &Value<'d>) -> Result<(), RunFault> {
        for node in nodes {
            self.budget.step()?;
            match node {
                Node::Text(text) => self.budget.put(text.as_bytes(), &mut self.out)?,
                Node::Print(pipeline) => {
                    let value = self.pipeline(pipeline, dot)?;
                    let text = format::print(&[value], &mut self.budget)?;
                    self.budget.put(&text, &mut self.out)?;
                }
                Node::Block(branch) => self.branch(branch, dot)?,
            }
        }
        Ok(())
    }

    fn branch(&mut self, branch: &'d Branch, dot: &Value<'d>) -> Result<(), RunFault> {
        let value = self.pipeline(&branch.pipeline, dot)?;
        let runs = match branch.kind {
            Kind::Range => return self.range(branch, &value, dot),
            Kind::If | Kind::With => value.is_true(),
        };
        match branch.kind {
            _ if !runs => self.nodes(&branch.otherwise, dot),
            Kind::With => self.nodes(&branch.body, &value),
            Kind::If | Kind::Range => self.nodes(&branch.body, dot),
        }
    }

    fn range(
        &mut self,
        branch: &'d Branch,
        over: &Value<'d>,
        dot: &Value<'d>,
    ) -> Result<(), RunFault> {
        let begun = self.at;
        let mut items: Box<dyn Iterator<Item = Value<'d>>> = match over {
            Value::Map(data) => {
                let values = data.entries();
                Box::new(values.map(|(_, value)| Value::Text(Cow::Borrowed(value))))
            }
            Value::Number(end) => Box::new((0..*end).map(Value::Number)),
            Value::Byte(end) => Box::new((0..*end).map(Value::Byte)),
            Value::Text(_) | Value::Flag(_) => return Err(RunFault::Range),
        };
        let Some(first) = items.next() else {
            return self.nodes(&branch.otherwise, dot);
        };
        for item in std::iter::once(first).chain(items) {
            self.at = begun;
            self.budget.step()?;
            self.nodes(&branch.body, &item)?;
        }
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &'d Pipeline, dot: &Value<'d>) -> Result<Value<'d>, RunFault> {
        self.at = pipeline.at;
        let mut last = None;
        for command in &pipeline.commands {
            last = Some(self.command(command, last, dot)?);
        }
        // The parser makes none without a command.
        last.ok_or(RunFault::Count)
    }

    /// `piped` is the value of the command before it.
    fn command(
        &mut self,
        command: &'d Command,
        piped: Option<Value<'d>>,
        dot: &Value<'d>,
    ) -> Result<Value<'d>, RunFault> {
        let (function, operands) = match command {
            Command::Value(operand) => return self.operand(operand, dot),
            Command::Call(function, operands) => (*function, operands),
        };
        let begun = self.at;
        let mut values = Vec::with_capacity(operands.len() + 1);
        for operand in operands {
            values.push(self.operand(operand, dot)?);
        }
        values.extend(piped);
        self.at = begun;
        self.call(function, &values)
    }

    fn operand(&mut self, operand: &'d Operand, dot: &Value<'d>) -> Result<Value<'d>, RunFault> {
        self.budget.step()?;
        match operand {
            Operand::Data(place) => self.place(place, dot),
            Operand::Text(text) => Ok(Value::Text(Cow::Borrowed(text.as_bytes()))),
            Operand::Number(number) => Ok(Value::Number(*number)),
            Operand::Flag(flag) => Ok(Value::Flag(*flag)),
            Operand::Group(pipeline) => self.pipeline(pipeline, dot),
        }
    }

    fn place(&mut self, place: &'d Place, dot: &Value<'d>) -> Result<Value<'d>, RunFault> {
        let start = if place.from_root {
            Value::Map(self.root)
        } else {
            self.copied(dot)?
        };
        let mut fields = place.fields.iter();
        fields.try_fold(start, |value, name| value.field(name))
    }

    /// The value again; a text that the run made is copied.
    fn copied(&mut self, value: &Value<'d>) -> Result<Value<'d>, RunFault> {
        if let Value::Text(Cow::Owned(text)) = value {
            self.budget.bytes(text.len())?;
        }
        Ok(value.clone())
    }

    fn call(&mut self, function: Function, values: &[Value<'d>]) -> Result<Value<'d>, RunFault> {
        let budget = &mut self.budget;
        let flag = |answer: Result<bool, RunFault>| answer.map(Value::Flag);
        match (function, values) {
            (Function::Index, [of, keys @ ..]) => {
                let mut found = of.clone();
                for key in keys {
                    found = found.index(key)?;
                }
                Ok(found)
            }
            (Function::Printf, [format, values @ ..]) => {
                let Value::Text(format) = format else {
                    return Err(RunFault::NoFormat);
                };
                format::printf(format, values, budget).map(text)
            }
            (Function::Print, values) => format::print(values, budget).map(text),
            (Function::Len, [value]) => value.length().map(Value::Number),
            (Function::Eq, [one, others @ ..]) if !others.is_empty() => {
                for other in others {
                    if one.equals(other, budget)? {
                        return Ok(Value::Flag(true));
                    }
                }
                Ok(Value::Flag(false))
            }
            (Function::Ne, [one, other]) => flag(one.equals(other, budget).map(|equal| !equal)),
            (Function::Lt, [one, other]) => flag(one.order(other, budget).map(Ordering::is_lt)),
            (Function::Le, [one, other]) => flag(one.order(other, budget).map(Ordering::is_le)),
            (Function::Gt, [one, other]) => flag(one.order(other, budget).map(Ordering::is_gt)),
            (Function::Ge, [one, other]) => flag(one.order(other, budget).map(Ordering::is_ge)),
            _ => Err(RunFault::Count),
        }
    }
}

fn text<'d>(bytes: Vec<u8>) -> Value<'d> {
    Value::Text(Cow::Owned(bytes))
}
