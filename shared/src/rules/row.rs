//! What a rule is: one row of the table. Data only.

use super::verdict::{Operation, Subject};

/// One rule. The CEL `expression` is true when the object is right.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Kebab-case, stable, printed in brackets at the end of a denial.
    pub id: &'static str,
    /// The kinds it holds for.
    pub subjects: &'static [Subject],
    /// Which layer beside the webhook holds it.
    pub layer: Layer,
    /// When it is judged.
    pub moment: Moment,
    /// Where in the object it stands. Empty for rows of the policy, which judge the whole object.
    pub nodes: &'static [Node],
    /// CEL over `self`, `oldSelf` and, where the node binds it, `it`; for policy rows over `object`,
    /// `oldObject`, `request` and `variables`.
    pub expression: &'static str,
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

    /// The expression as it stands on `node`, where only `self` and `oldSelf` exist.
    pub fn expression_on(&self, node: &Node) -> String {
        match node.binds {
            Binds::Itself => self.expression.to_owned(),
            Binds::It => format!("[self].all(it, {})", self.expression),
            Binds::EachItem => format!("self.all(it, {})", self.expression),
        }
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
        moment: Moment::Write,
        nodes: &[Node {
            path: "spec",
            binds: Binds::Itself,
        }],
        expression,
        field,
        reason,
        sentence,
        remedy,
        requirements,
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
