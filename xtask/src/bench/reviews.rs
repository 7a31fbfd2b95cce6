//! The reviews the webhook is measured with: whole objects as an API server sends them, of about
//! 4 KiB. Pure.

use anyhow::{Context, bail};
use sandgate_e2e::manifests;
use sandgate_shared::names::{GROUP, VERSION};
use sandgate_shared::render::Installation;
use sandgate_shared::rules::{Attempt, Operation, Phase, Rulebook, Subject};
use serde_json::{Map, Value, json};

/// Size of each review in bytes.
const SIZE: usize = 4096;

const CLAIM: &str =
    include_str!("../../../e2e/tests/fixtures/references/sandbox-claim-codegen.yaml");
const CLASS: &str = include_str!(
    "../../../e2e/tests/fixtures/references/cluster-sandbox-class-codegen-default.yaml"
);

/// A review.
#[derive(Debug)]
pub struct Review {
    /// What is tried, as part of a figure's name.
    pub name: &'static str,
    body: Vec<u8>,
}

impl Review {
    /// The whole HTTP request that asks for it on a path.
    pub fn request(&self, path: &str) -> Vec<u8> {
        let mut request = format!(
            "POST /{path}?timeout=5s HTTP/1.1\r\nHost: sandgate-webhook.sandgate-system.svc\r\n\
             Content-Type: application/json\r\nAccept: application/json, */*\r\n\
             User-Agent: kube-apiserver-admission\r\nContent-Length: {}\r\n\r\n",
            self.body.len()
        )
        .into_bytes();
        request.extend_from_slice(&self.body);
        request
    }
}

/// The reference's plain claim, created by a person.
pub fn claim_created() -> anyhow::Result<Review> {
    let claim = stored(CLAIM)?;
    let request = request("sandboxclaims", "CREATE", &claim, &Value::Null);
    review("claim_created", &request)
}

/// The reference's class, one limit of which is raised.
pub fn class_changed() -> anyhow::Result<Review> {
    let old = stored(CLASS)?;
    let mut new = old.clone();
    *new.pointer_mut("/spec/resources/limits/memory")
        .context("the class has no memory limit")? = json!("768Mi");
    let request = request("clustersandboxclasses", "UPDATE", &new, &old);
    review("class_changed", &request)
}

/// Small objects within each object of [`heavy_class_changed`]: the tree of a few more would not be
/// built any more.
const HEAVY_OBJECTS: usize = 60_000;

/// Text in each object of [`heavy_class_changed`], so that both together come near the largest review
/// that is read.
const HEAVY_TEXT: usize = 2 * 1024 * 1024;

/// A class changed that is almost as large as any that is read, and of almost as many values. No API
/// server would store it; anybody who reaches the port can send it.
pub fn heavy_class_changed() -> anyhow::Result<Review> {
    let mut old = stored(CLASS)?;
    let objects = (0..HEAVY_OBJECTS).map(|at| (format!("object-{at}"), json!({})));
    old.pointer_mut("/metadata")
        .and_then(Value::as_object_mut)
        .context("the class has no metadata")?
        .extend([
            ("objects".to_owned(), Value::Object(objects.collect())),
            (
                "annotations".to_owned(),
                json!({ "example.org/text": "x".repeat(HEAVY_TEXT) }),
            ),
        ]);
    let mut new = old.clone();
    *new.pointer_mut("/spec/resources/limits/memory")
        .context("the class has no memory limit")? = json!("768Mi");
    let review = json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": request("clustersandboxclasses", "UPDATE", &new, &old),
    });
    Ok(Review {
        name: "heavy_class_changed",
        body: serde_json::to_vec(&review)?,
    })
}

/// A manifest with what the API server adds to it.
fn stored(yaml: &str) -> anyhow::Result<Value> {
    let mut object = manifests::parse(yaml)?
        .into_iter()
        .next()
        .context("a fixture is empty")?;
    fill_in_defaults(&mut object)?;
    let fields = json!({
        "f:metadata": fields_of(object.get("metadata").unwrap_or(&Value::Null)),
        "f:spec": fields_of(object.get("spec").unwrap_or(&Value::Null)),
    });
    let version = object.get("apiVersion").cloned().unwrap_or_default();
    let metadata = object
        .get_mut("metadata")
        .and_then(Value::as_object_mut)
        .context("a fixture has no metadata")?;
    metadata.insert("uid".into(), json!("6b7c3d1e-5a0f-4c43-9a55-0f2f7a3b9c11"));
    metadata.insert("creationTimestamp".into(), json!("2026-01-01T00:00:00Z"));
    metadata.insert("generation".into(), json!(1));
    metadata.insert(
        "managedFields".into(),
        json!([{
            "manager": "kubectl-client-side-apply",
            "operation": "Update",
            "apiVersion": version,
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }]),
    );
    Ok(object)
}

/// Fills in what the schema says, as an API server does before it asks anybody.
fn fill_in_defaults(object: &mut Value) -> anyhow::Result<()> {
    let subject = object
        .get("kind")
        .and_then(Value::as_str)
        .and_then(Subject::from_kind)
        .context("a fixture is of none of our kinds")?;
    let rules = Rulebook::compile(&Installation::default().identity())?;
    let verdict = rules.judge(&Attempt {
        subject,
        operation: Operation::Create,
        subresource: None,
        phase: Phase::Mutating,
        object,
        old_object: None,
        user_info: &json!({}),
    });
    json_patch::patch(object, &verdict.patch).context("failed to fill in the defaults")
}

/// The names of all fields, as `managedFields` lists them.
fn fields_of(value: &Value) -> Value {
    let Some(fields) = value.as_object() else {
        return json!({});
    };
    let named = fields
        .iter()
        .map(|(name, value)| (format!("f:{name}"), fields_of(value)));
    let own = [(".".to_owned(), json!({}))];
    Value::Object(own.into_iter().chain(named).collect::<Map<_, _>>())
}

fn request(plural: &str, operation: &str, object: &Value, old: &Value) -> Value {
    let kind = json!({ "group": GROUP, "version": VERSION, "kind": object.get("kind") });
    let resource = json!({ "group": GROUP, "version": VERSION, "resource": plural });
    let options = match operation {
        "CREATE" => "CreateOptions",
        _ => "UpdateOptions",
    };
    json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": object.pointer("/metadata/name"),
        "namespace": object.pointer("/metadata/namespace"),
        "operation": operation,
        "userInfo": {
            "username": "jane@example.org",
            "groups": ["sandbox-users", "system:authenticated"],
        },
        "object": object,
        "oldObject": old,
        "dryRun": false,
        "options": { "kind": options, "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl" },
    })
}

/// Pads the object with an annotation until the review has [`SIZE`] bytes.
fn review(name: &'static str, request: &Value) -> anyhow::Result<Review> {
    let mut review = json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": request,
    });
    let annotation = "example.org/description";
    review
        .pointer_mut("/request/object/metadata")
        .and_then(Value::as_object_mut)
        .context("a review has no object")?
        .insert("annotations".into(), json!({ annotation: "" }));
    let bare = serde_json::to_vec(&review)?.len();
    let Some(missing) = SIZE.checked_sub(bare) else {
        bail!("the review {name} has {bare} bytes, more than {SIZE}");
    };
    *review
        .pointer_mut("/request/object/metadata/annotations/example.org~1description")
        .context("a review has no annotation")? = Value::String("x".repeat(missing));
    let body = serde_json::to_vec(&review)?;
    Ok(Review { name, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_review_has_the_size_the_budget_speaks_of() {
        for review in [claim_created().unwrap(), class_changed().unwrap()] {
            assert_eq!(review.body.len(), SIZE, "{}", review.name);
        }
    }

    #[test]
    fn the_heavy_review_is_just_below_what_is_still_read() {
        let size = heavy_class_changed().unwrap().body.len();
        let most = 7 * 1024 * 1024;
        assert!(size < most && size > most * 3 / 4, "{size} bytes");
    }

    #[test]
    fn a_changed_class_carries_the_old_and_the_new_limit() {
        let review: Value = serde_json::from_slice(&class_changed().unwrap().body).unwrap();
        let limit = |object: &str| {
            review
                .pointer(&format!("/request/{object}/spec/resources/limits/memory"))
                .cloned()
        };
        assert_eq!(limit("object"), Some(json!("768Mi")));
        assert_eq!(limit("oldObject"), Some(json!("512Mi")));
    }

    #[test]
    fn a_request_announces_the_length_of_its_body() {
        let request = claim_created().unwrap().request("mutate");
        let text = String::from_utf8(request).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("POST /mutate?timeout=5s HTTP/1.1\r\n"),
            "{head}"
        );
        assert!(
            head.contains(&format!("Content-Length: {}", body.len())),
            "{head}"
        );
    }
}
