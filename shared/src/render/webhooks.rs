//! The two webhook configurations. Pure.

use serde_json::{Value, json};

use super::installation::{Installation, WebhookEndpoint, operator_expression};
use crate::{names, rules::Subject};

/// Mutating and validating configuration (X-013, W-030). `caBundle` is left to the controller.
///
/// An annotation holds a hash of the rules as they would be for any installation: by it the controller
/// tells an edit from another version of itself.
pub fn webhook_configurations(installation: &Installation) -> [Value; 2] {
    let anybody = Installation {
        require_pod_bound_token: installation.require_pod_bound_token,
        ..Installation::default()
    };
    let rules = names::short_hash(&json!(webhooks(&anybody)).to_string());
    let [mutating, validating] = webhooks(installation);
    [
        configuration(
            installation,
            "MutatingWebhookConfiguration",
            &mutating,
            &rules,
        ),
        configuration(
            installation,
            "ValidatingWebhookConfiguration",
            &validating,
            &rules,
        ),
    ]
}

/// The mutating webhook and the validating one.
fn webhooks(installation: &Installation) -> [Value; 2] {
    let resources: Vec<&str> = Subject::ALL.map(Subject::plural).to_vec();
    let mut with_status = resources.clone();
    with_status.push("sandboxclaims/status");
    let operator = operator_expression(&installation.identity());
    let unless_leaving = json!({
        "name": "unless-leaving",
        // Removing a finalizer from a deleted object must work while every replica is down. Its status
        // is nobody's but the operator's to the end.
        "expression": "request.operation != 'UPDATE' || (has(request.subResource) && request.subResource == 'status') || !has(object.metadata.deletionTimestamp) || has(object.spec) != has(oldObject.spec) || (has(object.spec) && object.spec != oldObject.spec)",
    });
    let unless_operator_status = json!({
        "name": "unless-operator-status",
        // The controller can write status while its webhook is down.
        "expression": format!("!(has(request.subResource) && request.subResource == 'status') || !({operator})"),
    });
    let unless_probe = json!({
        "name": "unless-probe",
        // The dry run that the policy has to refuse gets as far as the policy (P-029). The validating
        // call refuses it like anyone's, so that nothing but the policy's own words proves it.
        "expression": format!(
            "!(request.operation == 'CREATE' && has(request.dryRun) && request.dryRun && has(request.userInfo.username) && request.userInfo.username == '{}' && request.resource.resource == 'sandboxclaims' && request.namespace == '{}' && request.name == '{}')",
            installation.probe_username(),
            installation.namespace,
            names::PROBE_CLAIM,
        ),
    });
    let mutating = webhook(
        installation,
        "mutate",
        &resources,
        &[unless_leaving.clone(), unless_probe],
        Some("IfNeeded"),
    );
    let validating = webhook(
        installation,
        "validate",
        &with_status,
        &[unless_leaving, unless_operator_status],
        None,
    );
    [mutating, validating]
}

fn configuration(installation: &Installation, kind: &str, webhook: &Value, rules: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {
            "name": names::webhook_configuration(&installation.release),
            "labels": installation.labels("webhook"),
            "annotations": {names::ANNOTATION_WEBHOOK_RULES: rules},
        },
        "webhooks": [webhook],
    })
}

fn webhook(
    installation: &Installation,
    verb: &str,
    resources: &[&str],
    conditions: &[Value],
    reinvocation: Option<&str>,
) -> Value {
    let client = match &installation.webhook {
        WebhookEndpoint::Service { name, port } => json!({"service": {
            "name": name,
            "namespace": installation.namespace,
            "path": format!("/{verb}"),
            "port": port,
        }}),
        WebhookEndpoint::Url(url) => {
            json!({"url": format!("{}/{verb}", url.trim_end_matches('/'))})
        }
    };
    let mut webhook = json!({
        "name": format!("{verb}.sandgate.{}", names::GROUP),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "timeoutSeconds": 10,
        "clientConfig": client,
        "rules": [{
            "apiGroups": [names::GROUP],
            "apiVersions": [names::VERSION],
            "operations": ["CREATE", "UPDATE"],
            "resources": resources,
            "scope": "*",
        }],
        "matchConditions": conditions,
    });
    if let (Some(policy), Some(fields)) = (reinvocation, webhook.as_object_mut()) {
        fields.insert("reinvocationPolicy".into(), json!(policy));
    }
    webhook
}

#[cfg(test)]
mod tests;
