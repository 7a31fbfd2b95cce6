//! The rules about who asks. Data only; they become the `ValidatingAdmissionPolicy` (P-001 to P-005).
//!
//! `variables.operator` is true for the operator's ServiceAccount and for nobody else.

use super::{
    check::Check,
    row::{Effect, Layer, Moment, Reason, Row},
    verdict::Subject,
};

const LEAVE_OUT: &str =
    "leave the field out; what may ask for it, the Sandbox API, is not part of this version";

/// A row that reserves something for the operator.
const fn operator_only(
    id: &'static str,
    moment: Moment,
    expression: &'static str,
    field: &'static str,
    sentence: &'static str,
    remedy: &'static str,
    requirements: &'static [&'static str],
) -> Row {
    Row {
        id,
        subjects: &[Subject::SandboxClaim],
        layer: Layer::Policy,
        effect: Effect::Refuse,
        moment,
        nodes: &[],
        check: Check::Cel(expression),
        field,
        reason: Reason::Forbidden,
        sentence,
        remedy,
        requirements,
    }
}

/// The table.
pub(super) const ROWS: &[Row] = &[
    operator_only(
        "claim-operator-mounts",
        Moment::Create,
        "variables.operator || ((!has(object.spec.mounts) || object.spec.mounts.all(m, !has(m.role) || m.role in ['', 'scratch'])) && (!has(object.spec.mount) || !has(object.spec.mount.role) || object.spec.mount.role in ['', 'scratch']))",
        "spec.mounts",
        "only the sandbox operator ({operator}) may create a claim that mounts anything but scratch",
        LEAVE_OUT,
        &["W-012", "P-002"],
    ),
    operator_only(
        "claim-operator-connections",
        Moment::Create,
        "variables.operator || !has(object.spec.connections) || object.spec.connections.size() == 0",
        "spec.connections",
        "only the sandbox operator ({operator}) may create a claim that binds a Connection",
        LEAVE_OUT,
        &["W-013", "P-002"],
    ),
    operator_only(
        "claim-operator-target-path",
        Moment::Create,
        "variables.operator || !has(object.spec.targetPath)",
        "spec.targetPath",
        "only the sandbox operator ({operator}) may create a claim that names a targetPath",
        LEAVE_OUT,
        &["W-014", "P-002"],
    ),
    operator_only(
        "claim-operator-enrolment",
        Moment::Create,
        "variables.operator || !has(object.spec.enrolment)",
        "spec.enrolment",
        "only the sandbox operator ({operator}) may create an enrolment",
        "leave the field out; signing in for an agent is not part of this version",
        &["W-015", "P-002"],
    ),
    operator_only(
        "claim-operator-spec",
        Moment::Change,
        "variables.operator || object.spec == oldObject.spec",
        "spec",
        "only the sandbox operator ({operator}) may change a claim's spec; labels, annotations and finalizers stay editable",
        "delete this claim and create a new one",
        &["W-016", "W-017", "P-003"],
    ),
    operator_only(
        "claim-operator-status",
        Moment::StatusChange,
        "variables.operator",
        "status",
        "only the sandbox operator ({operator}) may write a claim's status, which it reads back as its own record",
        "delete the claim if the sandbox should go",
        &["P-031"],
    ),
];
