//! The `ValidatingAdmissionPolicy` and its binding, from the rows about who asks. Pure.

use serde_json::{Value, json};

use super::installation::{Installation, operator_expression};
use crate::{
    names::{self, short_hash},
    rules::{Layer, Moment, OperatorIdentity, Row, table},
};

/// Whom the rules that a policy's name is a hash of are about: nobody, so that every installation with
/// the same rules has the same hash, in whatever namespace and under whatever name it runs.
const ANYBODY: &str = "system:serviceaccount:namespace:name";

/// Policy and binding (P-001 to P-005, P-031). Their name ends in a hash of the rules, so that
/// changed rules arrive as a new object and «never edited since creation» stays true across upgrades
///
pub fn admission_policy(installation: &Installation) -> [Value; 2] {
    let name = admission_policy_name(installation);
    let metadata = json!({"name": name, "labels": installation.labels(names::PART_CLAIM_POLICY)});
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata,
        "spec": spec(&installation.identity()),
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata,
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    });
    [policy, binding]
}

/// Name of policy and binding: the same for every installation with the same rules and release.
fn admission_policy_name(installation: &Installation) -> String {
    let rules = spec(&OperatorIdentity {
        username: ANYBODY.to_owned(),
        ..installation.identity()
    });
    names::policy(&installation.release, &short_hash(&rules.to_string()))
}

/// The policy's rules about this operator.
fn spec(identity: &OperatorIdentity) -> Value {
    let validations: Vec<Value> = table()
        .filter(|row| row.layer == Layer::Policy)
        .filter_map(|row| validation(row, &identity.username))
        .collect();
    json!({
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [{
            "apiGroups": [names::GROUP],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["sandboxclaims", "sandboxclaims/status"],
        }]},
        "variables": [
            {"name": "operator", "expression": operator_expression(identity)},
            {"name": "status", "expression": "has(request.subResource) && request.subResource == 'status'"},
        ],
        "validations": validations,
    })
}

fn validation(row: &Row, operator: &str) -> Option<Value> {
    let expression = row.check.cel()?;
    let elsewhere = match row.moment {
        Moment::Create => "request.operation != 'CREATE' || variables.status",
        Moment::Change => "request.operation != 'UPDATE' || variables.status",
        Moment::StatusChange => "!variables.status",
        Moment::Write => "variables.status",
    };
    Some(json!({
        "expression": format!("{elsewhere} || {expression}"),
        "message": format!("{}: Forbidden: {}", row.field, row.signed_message(operator)),
        "reason": "Forbidden",
    }))
}
