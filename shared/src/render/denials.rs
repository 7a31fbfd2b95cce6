//! `docs/denials.md`: every rule as a person looks it up by the id in brackets. Pure.

use std::fmt::Write as _;

use crate::rules::{Binds, Effect, Layer, Moment, Row, Subject, table};

const HEAD: &str = "\
# Denials

Generated from the rule table by `cargo xtask generate`; do not edit.

A refusal by a rule ends in the rule's id in brackets. Look it up here: what is wrong, what to do, and which
layers hold the rule. The **webhook** holds them all; the **CRD** and the **policy**
(ValidatingAdmissionPolicy) hold theirs also where somebody took the webhook's configuration away. What
neither can say is held by the webhook alone. Rules that **warn** refuse nothing: their sentence reaches
whoever writes the object, without an id.

Refusals without an id are not a rule's. The API server's own name a field that is misspelt, of the wrong type
or out of its bounds: `kubectl explain` tells what it may be. \"failed calling webhook\" means that the
webhook is down or not reached: nothing of these kinds is written meanwhile; see the chart's README. A review
that is too large, or that cannot be judged in time, says so and may be tried again smaller or later.

**Tried** tells what the corpus of writes has of a rule, which is sent through a real API server with
each layer on alone: an admitted write that has what the rule is about, and one that breaks it.

Rules whose id starts with `schema-` are the bounds of the CRD's schema (required fields, lengths,
patterns, enums, counts): `kubectl explain` shows them. The API server holds them too, in its own words.

A rule that judges every write lets a part of the object through on update that did not change, as
Kubernetes does; rules about changes never do. A deleted object may always lose its finalizers.

";

/// What the corpus of writes shows of a rule: whether some case keeps it, and whether one breaks it.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// An admitted write has what the rule is about.
    pub kept: bool,
    /// A write is told of the rule.
    pub broken: bool,
}

/// The page; `shown` looks a rule up in the corpus.
pub fn denials(shown: impl Fn(&Row) -> Shown) -> String {
    let mut page = HEAD.to_owned();
    for (title, subject) in [
        ("SandboxClaim", Subject::SandboxClaim),
        (
            "SandboxClass and ClusterSandboxClass",
            Subject::SandboxClass,
        ),
        ("Connection", Subject::Connection),
    ] {
        let mut rows = table()
            .filter(|row| row.subjects.contains(&subject))
            .peekable();
        if rows.peek().is_none() {
            continue;
        }
        let _ = writeln!(page, "## {title}\n");
        page.push_str(
            "| rule | field | judged | webhook | CRD | policy | tried | what is wrong | what to do | requirements |\n",
        );
        page.push_str("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
        for row in rows {
            page.push_str(&line(row, shown(row)));
        }
        page.push('\n');
    }
    page.trim_end().to_owned() + "\n"
}

fn line(row: &Row, shown: Shown) -> String {
    let fields: Vec<String> = if row.nodes.is_empty() {
        vec![format!("`{}`", row.field)]
    } else {
        row.nodes
            .iter()
            .map(|node| {
                let each = if node.binds == Binds::EachItem {
                    "[*]"
                } else {
                    ""
                };
                format!("`{}{each}{}`", node.path, row.field).replace("`.", "`")
            })
            .collect()
    };
    let judged = match row.moment {
        Moment::Write => "every write",
        Moment::Create => "creation",
        Moment::Change => "change",
        Moment::StatusChange => "status write",
    };
    let webhook = match row.effect {
        Effect::Warn => "warns",
        Effect::Refuse => "refuses",
    };
    let held_by = |layer| if row.layer == layer { "refuses" } else { "" };
    let (crd, policy) = (held_by(Layer::Crd), held_by(Layer::Policy));
    let tried = match (shown.kept, shown.broken) {
        (true, true) => "kept, broken",
        (true, false) => "kept",
        (false, true) => "broken",
        (false, false) => "",
    };
    let text = |text: &str| {
        text.replace('|', "\\|")
            .replace('<', "&lt;")
            .replace("{operator}", "its ServiceAccount")
    };
    format!(
        "| `{}` | {} | {judged} | {webhook} | {crd} | {policy} | {tried} | {} | {} | {} |\n",
        row.id,
        fields.join(", "),
        text(row.sentence),
        text(row.remedy),
        row.requirements.join(", "),
    )
}
