//! What a rule is: one row of the table. Data only.

use super::{
    check::Check,
    verdict::{Operation, Subject},
};

/// One rule.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Kebab-case, stable, printed in brackets at the end of a denial.
    pub id: &'static str,
    /// The kinds it holds for.
    pub subjects: &'static [Subject],
    /// Which layer beside the webhook holds it.
    pub layer: Layer,
    /// What becomes of a write that breaks it.
    pub effect: Effect,
    /// When it is judged.
    pub moment: Moment,
    /// Where in the object it stands. Empty for rows of the policy, which judge the whole object.
    pub nodes: &'static [Node],
    /// What must be so.
    pub check: Check,
    /// The field a person has to look at, below the node (`.handle`) for CRD rows, whole for policy rows.
    pub field: &'static str,
    /// What kind of fault it is.
    pub reason: Reason,
    /// What is wrong, in plain words. `{operator}` stands for the operator's user name.
    pub sentence: &'static str,
    /// The way out.
    pub remedy: &'static str,
    /// The requirements behind it.
    pub requirements: &'static [&'static str],
}

/// Which layer of the API server holds a rule, beside the webhook, which holds them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// `x-kubernetes-validations` of the CRD: needs the object alone.
    Crd,
    /// The `ValidatingAdmissionPolicy`: needs to know who asks.
    Policy,
    /// None: CEL cannot say it, or it only warns. Without the webhook nobody holds it.
    Webhook,
}

/// What becomes of a write that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is refused.
    Refuse,
    /// It is admitted and its writer is warned; the operator, which reads no warnings, is not.
    Warn,
}

/// When a rule is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// On every write; an unchanged node is let through on update, as Kubernetes ratchets.
    Write,
    /// At creation only.
    Create,
    /// On update, comparing with what is stored; never ratchets.
    Change,
    /// On update of the status subresource.
    StatusChange,
}

impl Moment {
    /// Whether the rule speaks about this operation and subresource.
    pub fn covers(self, operation: Operation, subresource: Option<&str>) -> bool {
        match (subresource, self) {
            (None, Self::Write) => true,
            (None, Self::Create) => operation == Operation::Create,
            (None, Self::Change) | (Some("status"), Self::StatusChange) => {
                operation == Operation::Update
            }
            _ => false,
        }
    }
}

/// A place in the object, such as `spec.mounts`; the empty path is the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Field names joined by dots.
    pub path: &'static str,
    /// What the expression calls the value.
    pub binds: Binds,
}

/// How an expression refers to the value at its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binds {
    /// `self` is the value.
    Itself,
    /// `it` is the value: for a rule that also stands on a list elsewhere.
    It,
    /// `it` is each item of the list in turn. The rule stands on the list, since items of an atomic
    /// list do not ratchet.
    EachItem,
}

/// The Kubernetes kinds of field error that CRD rules may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The value breaks a rule.
    Invalid,
    /// A value is missing.
    Required,
    /// The field may not be set, or not by this writer.
    Forbidden,
    /// The value is there twice.
    Duplicate,
}

impl Reason {
    /// As CRDs and `Status` causes write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::Required => "FieldValueRequired",
            Self::Forbidden => "FieldValueForbidden",
            Self::Duplicate => "FieldValueDuplicate",
        }
    }
}

impl Row {
    /// Sentence and way out, as every layer says it.
    pub fn message(&self, operator: &str) -> String {
        format!("{}; {}", self.sentence, self.remedy).replace("{operator}", operator)
    }

    /// [`Row::message`] with the id, as layers that have no field of their own for it say it.
    pub fn signed_message(&self, operator: &str) -> String {
        format!("{} [{}]", self.message(operator), self.id)
    }

    /// What a writer is warned of `field` with, one line of at most [`Row::LONGEST_WARNING`] characters.
    pub fn warning(&self, field: &str) -> String {
        format!("{field}: {}", self.sentence)
    }

    /// The longest warning that clients are sure to show whole, in characters.
    pub const LONGEST_WARNING: usize = 120;

    /// The expression as it stands on `node`, where only `self` and `oldSelf` exist; `None` for a rule
    /// that is not CEL.
    pub fn expression_on(&self, node: &Node) -> Option<String> {
        let expression = self.check.cel()?;
        Some(match node.binds {
            Binds::Itself => expression.to_owned(),
            Binds::It => format!("[self].all(it, {expression})"),
            Binds::EachItem => format!("self.all(it, {expression})"),
        })
    }
}

/// A rule of the CRD that stands on `spec` and judges every write; a table changes what differs and
/// says [`for_kinds`] it holds.
pub(super) const fn on_spec(
    id: &'static str,
    expression: &'static str,
    field: &'static str,
    reason: Reason,
    sentence: &'static str,
    remedy: &'static str,
    requirements: &'static [&'static str],
) -> Row {
    Row {
        id,
        subjects: &[],
        layer: Layer::Crd,
        effect: Effect::Refuse,
        moment: Moment::Write,
        nodes: &[Node {
            path: "spec",
            binds: Binds::Itself,
        }],
        check: Check::Cel(expression),
        field,
        reason,
        sentence,
        remedy,
        requirements,
    }
}

/// A rule about the spec that only the webhook holds: what CEL cannot say.
pub(super) const fn webhook_only(
    id: &'static str,
    check: Check,
    field: &'static str,
    reason: Reason,
    sentence: &'static str,
    remedy: &'static str,
    requirements: &'static [&'static str],
) -> Row {
    Row {
        layer: Layer::Webhook,
        check,
        ..on_spec(id, "", field, reason, sentence, remedy, requirements)
    }
}

/// A rule about the spec that warns whoever breaks it, and refuses nothing. The remedy stands in the
/// documentation alone: a warning has no room for it.
pub(super) const fn warning(
    id: &'static str,
    check: Check,
    field: &'static str,
    sentence: &'static str,
    remedy: &'static str,
    requirements: &'static [&'static str],
) -> Row {
    Row {
        effect: Effect::Warn,
        ..webhook_only(
            id,
            check,
            field,
            Reason::Invalid,
            sentence,
            remedy,
            requirements,
        )
    }
}

/// The same rows, holding for these kinds.
#[expect(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where iterators are not"
)]
pub(super) const fn for_kinds<const N: usize>(
    subjects: &'static [Subject],
    mut rows: [Row; N],
) -> [Row; N] {
    let mut at = 0;
    while at < N {
        rows[at].subjects = subjects;
        at += 1;
    }
    rows
}
