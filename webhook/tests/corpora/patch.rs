//! One object, as `{"kind": …, "object": …}`: a patch only adds, only what is absent, leaves all else as
//! it was, and what comes of it needs no second one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use json_patch::{Patch, PatchOperation};
use sandgate_shared::rules::{Phase, Subject};
use serde_json::{Value, json};

use crate::review::response;

/// Asserts the law; whether `text` is such a case.
pub fn holds(text: &[u8]) -> bool {
    let Ok(case) = serde_json::from_slice::<Value>(text) else {
        return false;
    };
    let subject = case
        .get("kind")
        .and_then(Value::as_str)
        .and_then(Subject::from_kind);
    let (Some(subject), Some(Value::Object(fields))) = (subject, case.get("object")) else {
        return false;
    };
    let mut fields = fields.clone();
    fields.insert("kind".to_owned(), json!(subject.kind()));
    let object = Value::Object(fields);
    let first = patch_of(subject, &object);
    let mut patched = object.clone();
    json_patch::patch(&mut patched, &first).expect("our own patch applies to what it was made for");
    for operation in &first.0 {
        let PatchOperation::Add(add) = operation else {
            panic!("nothing is replaced or removed: {operation:?}");
        };
        assert!(
            object.pointer(add.path.as_str()).is_none(),
            "{} is there",
            add.path
        );
        assert_eq!(patched.pointer(add.path.as_str()), Some(&add.value));
    }
    let mut undone = patched.clone();
    for operation in first.0.iter().rev() {
        let removal = json!([{"op": "remove", "path": operation.path().as_str()}]);
        let removal: Patch = serde_json::from_value(removal).expect("a patch");
        json_patch::patch(&mut undone, &removal).expect("what was added can be taken out");
    }
    assert_eq!(undone, object, "something else was changed");
    assert_eq!(
        patch_of(subject, &patched).0,
        vec![],
        "a second pass patched again"
    );
    true
}

fn patch_of(subject: Subject, object: &Value) -> Patch {
    let response = response(Phase::Mutating, subject, None, object);
    let Some(patch) = response["patch"].as_str() else {
        return Patch(Vec::new());
    };
    let patch = STANDARD.decode(patch).expect("a patch is base64");
    serde_json::from_slice(&patch).expect("a patch is RFC 6902")
}
