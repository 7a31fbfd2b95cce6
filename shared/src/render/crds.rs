//! The CRDs, from the types and the rows. Pure.

use std::sync::LazyLock;

use kube::CustomResourceExt;
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::{
    api::{
        ClusterSandboxClass, Connection, SandboxClaim, SandboxClass,
        outside::{AgentRuntime, ToolRegistry, Workspace},
    },
    rules::{Binds, Layer, Moment, Node, Reason, Row, Subject, table},
};

/// Where docs name the requirements behind them: for readers of the code, not of `kubectl explain`.
static REQUIREMENTS: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(
        clippy::expect_used,
        reason = "a constant that every test of the CRDs compiles"
    )]
    Regex::new(r" \([A-Z]-?[0-9][^)]*\)").expect("a pattern")
});

/// The four kinds of Sandgate (T-001).
pub fn crds() -> Vec<Value> {
    Subject::ALL.into_iter().map(crd).collect()
}

/// The kinds that another platform owns, as far as we read them: for tests, and for clusters without
/// that platform.
pub fn outside_crds() -> Vec<Value> {
    [AgentRuntime::crd(), ToolRegistry::crd(), Workspace::crd()]
        .into_iter()
        .map(|crd| {
            let mut crd = manifest(crd);
            each_version(&mut crd, |schema| {
                if let Some(spec) = schema
                    .pointer_mut("/properties/spec")
                    .and_then(Value::as_object_mut)
                {
                    spec.clear();
                    spec.insert("type".into(), json!("object"));
                    spec.insert("x-kubernetes-preserve-unknown-fields".into(), json!(true));
                }
                if let Some(properties) = schema
                    .pointer_mut("/properties")
                    .and_then(Value::as_object_mut)
                {
                    properties.insert(
                        "status".into(),
                        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
                    );
                }
            });
            if let Some(version) = crd
                .pointer_mut("/spec/versions/0")
                .and_then(Value::as_object_mut)
            {
                version.insert("subresources".into(), json!({"status": {}}));
            }
            crd
        })
        .collect()
}

/// The schema of `spec`, as the CRD of `subject` has it.
pub(crate) fn spec_schema(subject: Subject) -> Value {
    crd(subject)
        .pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec")
        .cloned()
        .unwrap_or_default()
}

fn crd(subject: Subject) -> Value {
    let mut crd = manifest(match subject {
        Subject::SandboxClaim => SandboxClaim::crd(),
        Subject::SandboxClass => SandboxClass::crd(),
        Subject::ClusterSandboxClass => ClusterSandboxClass::crd(),
        Subject::Connection => Connection::crd(),
    });
    each_version(&mut crd, |schema| {
        tidy(schema);
        for row in table().filter(|row| row.layer == Layer::Crd && row.subjects.contains(&subject))
        {
            for node in row.nodes {
                attach(schema, row, node);
            }
        }
    });
    crd
}

fn manifest(crd: impl serde::Serialize) -> Value {
    serde_json::to_value(crd).unwrap_or_default()
}

fn each_version(crd: &mut Value, change: impl Fn(&mut Value)) {
    let versions = crd
        .pointer_mut("/spec/versions")
        .and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            change(schema);
        }
    }
}

/// Removes what the derives write and Kubernetes does not mean: `nullable` (a null would beat a
/// default), titles, null defaults, and formats the API server warns of.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let is_schema = fields.contains_key("type")
                || fields.contains_key("properties")
                || fields.contains_key("anyOf");
            if is_schema {
                tidy_node(fields);
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

fn tidy_node(fields: &mut Map<String, Value>) {
    fields.remove("nullable");
    if fields.get("title").is_some_and(Value::is_string) {
        fields.remove("title");
    }
    if fields.get("default").is_some_and(Value::is_null) {
        fields.remove("default");
    }
    if let Some(values) = fields.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::String(text)) = fields.get_mut("description") {
        *text = REQUIREMENTS.replace_all(text, "").into_owned();
    }
    let unsigned = |format: &Value| {
        format
            .as_str()
            .is_some_and(|format| format.starts_with("uint"))
    };
    if fields.get("format").is_some_and(unsigned) {
        fields.remove("format");
    }
}

/// Puts a row on its node as `x-kubernetes-validations`.
fn attach(schema: &mut Value, row: &Row, node: &Node) {
    let target = node
        .path
        .split('.')
        .filter(|name| !name.is_empty())
        .try_fold(schema, |schema, name| {
            schema.get_mut("properties")?.get_mut(name)
        });
    let Some(target) = target.and_then(Value::as_object_mut) else {
        return;
    };
    let Some(rule) = row.expression_on(node) else {
        return;
    };
    // For a duplicate the API server prints the value and drops the message.
    let reason = match row.reason {
        Reason::Duplicate => Reason::Invalid,
        other => other,
    };
    let mut validation = json!({
        "rule": rule,
        "message": row.signed_message(""),
        "reason": reason.as_str(),
    });
    // A fieldPath cannot name an item of a list or a part of metadata; such rows point at their node.
    if node.binds != Binds::EachItem
        && !node.path.is_empty()
        && let Some(fields) = validation.as_object_mut()
    {
        fields.insert("fieldPath".into(), json!(row.field));
    }
    if row.moment == Moment::Create
        && let Some(fields) = validation.as_object_mut()
    {
        // A root rule never ratchets: without this it would freeze claims that are older than it.
        fields.insert(
            "rule".into(),
            json!(format!("oldSelf.hasValue() || ({rule})")),
        );
        fields.insert("optionalOldSelf".into(), json!(true));
    }
    if let Some(rules) = target
        .entry("x-kubernetes-validations")
        .or_insert_with(|| json!([]))
        .as_array_mut()
    {
        rules.push(validation);
    }
}
