//! Which fields of its data a template names. Pure.

use super::tree::{Branch, Command, Function, Kind, Node, Operand, Pipeline};

/// A field of the data that a template names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'t> {
    /// Its name.
    pub name: &'t str,
    /// Whether something inside the field is asked for, as in `.name.first`.
    pub inside: bool,
}

/// The fields that `nodes` name, where the dot is the whole data.
pub(super) fn of(nodes: &[Node]) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    in_nodes(nodes, true, &mut fields);
    fields
}

/// `whole` says whether the dot is the whole data here.
fn in_nodes<'t>(nodes: &'t [Node], whole: bool, out: &mut Vec<Field<'t>>) {
    for node in nodes {
        match node {
            Node::Text(_) => {}
            Node::Print(pipeline) => in_pipeline(pipeline, whole, out),
            Node::Block(branch) => in_branch(branch, whole, out),
        }
    }
}

fn in_branch<'t>(branch: &'t Branch, whole: bool, out: &mut Vec<Field<'t>>) {
    in_pipeline(&branch.pipeline, whole, out);
    let whole_inside = match branch.kind {
        Kind::If => whole,
        Kind::With => is_whole(&branch.pipeline, whole),
        Kind::Range => false,
    };
    in_nodes(&branch.body, whole_inside, out);
    in_nodes(&branch.otherwise, whole, out);
}

/// Whether the pipeline's value is the whole data.
fn is_whole(pipeline: &Pipeline, whole: bool) -> bool {
    match pipeline.commands.as_slice() {
        [Command::Value(operand)] => is_whole_operand(operand, whole),
        _ => false,
    }
}

fn is_whole_operand(operand: &Operand, whole: bool) -> bool {
    match operand {
        Operand::Data(place) => place.fields.is_empty() && (place.from_root || whole),
        Operand::Group(pipeline) => is_whole(pipeline, whole),
        Operand::Text(_) | Operand::Number(_) | Operand::Flag(_) => false,
    }
}

fn in_pipeline<'t>(pipeline: &'t Pipeline, whole: bool, out: &mut Vec<Field<'t>>) {
    for command in &pipeline.commands {
        match command {
            Command::Value(operand) => in_operand(operand, whole, out),
            Command::Call(function, operands) => {
                for operand in operands {
                    in_operand(operand, whole, out);
                }
                if let (Function::Index, [of, Operand::Text(name), further @ ..]) =
                    (function, operands.as_slice())
                    && is_whole_operand(of, whole)
                {
                    let inside = !further.is_empty();
                    out.push(Field { name, inside });
                }
            }
        }
    }
}

fn in_operand<'t>(operand: &'t Operand, whole: bool, out: &mut Vec<Field<'t>>) {
    match operand {
        Operand::Data(place) if place.from_root || whole => {
            if let Some((name, further)) = place.fields.split_first() {
                let inside = !further.is_empty();
                out.push(Field { name, inside });
            }
        }
        Operand::Group(pipeline) => in_pipeline(pipeline, whole, out),
        Operand::Data(_) | Operand::Text(_) | Operand::Number(_) | Operand::Flag(_) => {}
    }
}
