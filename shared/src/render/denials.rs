//! `docs/denials.md`: every rule as a person looks it up by the id in brackets. Pure.

use std::fmt::Write as _;

use crate::rules::{Binds, Effect, Layer, Moment, Row, Subject, table};

const HEAD: &str = "\
# Denials

Generated from the rule table by `cargo xtask generate`; do not edit.

Every refusal ends in a rule's id in brackets. Look it up here: what is wrong, what to do, and which
layers hold the rule. The webhook holds them all; **CRD** rules and the **policy**
(ValidatingAdmissionPolicy) stand behind it when it is gone. What neither can say is held by the
**webhook only**. Rules that **warn** refuse nothing: their sentence reaches whoever writes the object,
without an id.

Rules whose id starts with `schema-` are the bounds of the CRD's schema (required fields, lengths,
patterns, enums, counts): `kubectl explain` shows them. The API server holds them too, in its own words.

A rule that judges every write lets a part of the object through on update that did not change, as
Kubernetes does; rules about changes never do. A deleted object may always lose its finalizers.

";

/// The page.
pub fn denials() -> String {
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
            "| rule | field | judged | layers | what is wrong | what to do | requirements |\n",
        );
        page.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
        for row in rows {
            page.push_str(&line(row));
        }
        page.push('\n');
    }
    page.trim_end().to_owned() + "\n"
}

fn line(row: &Row) -> String {
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
    let layers = match (row.effect, row.layer) {
        (Effect::Warn, _) => "webhook only, warns",
        (Effect::Refuse, Layer::Crd) => "webhook, CRD",
        (Effect::Refuse, Layer::Policy) => "webhook, policy",
        (Effect::Refuse, Layer::Webhook) => "webhook only",
    };
    let text = |text: &str| {
        text.replace('|', "\\|")
            .replace('<', "&lt;")
            .replace("{operator}", "its ServiceAccount")
    };
    format!(
        "| `{}` | {} | {judged} | {layers} | {} | {} | {} |\n",
        row.id,
        fields.join(", "),
        text(row.sentence),
        text(row.remedy),
        row.requirements.join(", "),
    )
}
