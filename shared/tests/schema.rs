//! What the generated CRDs say, read as the API server reads it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a failing test stops where it stands, and tables pass their rows by value"
)]

use rstest::rstest;
use sandgate_shared::render;
use serde_json::{Value, json};

fn crd(plural: &str) -> Value {
    render::crds()
        .into_iter()
        .find(|crd| crd.pointer("/spec/names/plural") == Some(&json!(plural)))
        .unwrap_or_else(|| panic!("no CRD for {plural}"))
}

/// The schema node at a path of field names; `[]` steps into the items of a list.
fn node(plural: &str, path: &str) -> Value {
    let mut node = crd(plural)
        .pointer("/spec/versions/0/schema/openAPIV3Schema")
        .cloned()
        .expect("a schema");
    for name in path.split('.') {
        let (name, items) = name
            .strip_suffix("[]")
            .map_or((name, false), |name| (name, true));
        node = node
            .pointer(&format!("/properties/{name}"))
            .cloned()
            .unwrap_or_else(|| panic!("{plural} has no field {name} in {path}"));
        if items {
            node = node
                .get("items")
                .cloned()
                .unwrap_or_else(|| panic!("{name} is no list"));
        }
    }
    node
}

// Proves: T-001, T-002, T-003, T-005, T-006
#[rstest]
#[case::claim("sandboxclaims", "SandboxClaim", "sbclaim", "Namespaced", true)]
#[case::class("sandboxclasses", "SandboxClass", "sbc", "Namespaced", false)]
#[case::cluster_class(
    "clustersandboxclasses",
    "ClusterSandboxClass",
    "csbc",
    "Cluster",
    false
)]
#[case::connection("connections", "Connection", "conn", "Namespaced", false)]
fn each_kind_has_its_group_version_scope_and_short_name(
    #[case] plural: &str,
    #[case] kind: &str,
    #[case] short: &str,
    #[case] scope: &str,
    #[case] status: bool,
) {
    let crd = crd(plural);
    let read = |pointer: &str| crd.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!(read("/spec/group"), json!("omnia.altairalabs.ai"));
    assert_eq!(read("/spec/versions/0/name"), json!("v1alpha1"));
    assert_eq!(read("/spec/names/kind"), json!(kind));
    assert_eq!(read("/spec/names/shortNames"), json!([short]));
    assert_eq!(read("/spec/scope"), json!(scope));
    assert_eq!(
        crd.pointer("/spec/versions/0/subresources/status")
            .is_some(),
        status
    );
}

// Proves: T-004
#[test]
fn both_class_kinds_have_one_schema_and_one_set_of_rules() {
    let spec = |plural| {
        let mut spec = node(plural, "spec");
        spec.as_object_mut()
            .expect("a schema")
            .remove("description");
        spec
    };
    assert_eq!(spec("sandboxclasses"), spec("clustersandboxclasses"));
}

// Proves: T-010, T-011, T-012, T-013, T-014, T-015, T-016, T-021, T-022, T-023, T-024, T-025, T-029
#[rstest]
#[case("spec.agentRuntimeRef.name", "maxLength", json!(253))]
#[case("spec.classRef.kind", "enum", json!(["SandboxClass", "ClusterSandboxClass"]))]
#[case("spec.classRef", "required", json!(["name"]))]
#[case("spec.sessionID", "minLength", json!(1))]
#[case("spec.sessionID", "maxLength", json!(63))]
#[case("spec.sessionID", "pattern", json!("^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"))]
#[case("spec", "required", json!(["classRef", "sessionID"]))]
#[case("spec.handle", "maxLength", json!(127))]
#[case("spec.targetPath", "maxLength", json!(512))]
#[case("spec.mounts", "maxItems", json!(1))]
#[case("spec.mounts[].role", "maxLength", json!(63))]
#[case("spec.mounts[].id", "maxLength", json!(253))]
#[case("spec.mounts[].path", "maxLength", json!(1024))]
#[case("spec.mount.path", "maxLength", json!(1024))]
#[case("spec.connections", "maxItems", json!(16))]
#[case("spec.connections", "x-kubernetes-list-map-keys", json!(["role"]))]
#[case("spec.connections[]", "required", json!(["connection", "role"]))]
#[case("spec.requestedBy.subject", "maxLength", json!(253))]
#[case("spec.requestedBy.agent", "maxLength", json!(253))]
#[case("spec.declaredBy", "maxLength", json!(256))]
#[case("spec.maxInstances", "minimum", json!(1.0))]
#[case("spec.maxInstances", "format", json!("int32"))]
#[case("spec.enrolment.connection", "maxLength", json!(253))]
#[case("spec.enrolment", "required", json!(["connection"]))]
#[case("spec.enrolment.subject", "maxLength", json!(256))]
#[case("status.phase", "enum", json!(["Pending", "Queued", "Bound", "Completed", "Failed"]))]
#[case("status.conditions", "x-kubernetes-list-map-keys", json!(["type"]))]
#[case("status.expiresAt", "format", json!("date-time"))]
fn the_claim_schema_bounds(#[case] path: &str, #[case] keyword: &str, #[case] value: Value) {
    assert_eq!(
        node("sandboxclaims", path).get(keyword),
        Some(&value),
        "{path} {keyword}"
    );
}

// Proves: T-037, T-038, T-039, T-042, T-043, T-045, T-046, T-048, T-049, T-050, T-051, T-052, T-053, T-054, T-055, T-057, T-058, T-078
#[rstest]
#[case("spec", "required", json!(["image", "ports"]))]
#[case("spec.imagePullPolicy", "enum", json!(["Always", "IfNotPresent", "Never"]))]
#[case("spec.args", "maxItems", json!(64))]
#[case("spec.args", "x-kubernetes-list-type", json!("atomic"))]
#[case("spec.env", "maxItems", json!(64))]
#[case("spec.env", "x-kubernetes-list-type", json!("atomic"))]
#[case("spec.env[]", "required", json!(["name"]))]
#[case("spec.ports", "minItems", json!(1))]
#[case("spec.ports", "maxItems", json!(8))]
#[case("spec.ports", "x-kubernetes-list-type", json!("atomic"))]
#[case("spec.ports[].name", "maxLength", json!(15))]
#[case("spec.ports[].port", "minimum", json!(1.0))]
#[case("spec.ports[].port", "maximum", json!(65535.0))]
#[case("spec.readiness.httpGet", "required", json!(["path"]))]
#[case("spec.filesystem.readOnlyRoot", "default", json!(false))]
#[case("spec.trusted", "default", json!(false))]
#[case("spec.filesystem.workspace", "required", json!(["mountPath"]))]
#[case("spec.filesystem.scratch", "maxItems", json!(8))]
#[case("spec.filesystem.scratch", "x-kubernetes-list-type", json!("atomic"))]
#[case("spec.filesystem.scratch[]", "required", json!(["mountPath", "name", "sizeLimit"]))]
#[case("spec.filesystem.scratch[].medium", "enum", json!(["Disk", "Memory"]))]
#[case("spec.runtimeClassName", "maxLength", json!(253))]
#[case("spec.tolerations", "x-kubernetes-list-type", json!("atomic"))]
#[case("spec.egress.allowedServices[]", "required", json!(["name", "ports"]))]
#[case("spec.mounts[].access", "enum", json!(["ReadWrite", "ReadOnly"]))]
#[case("spec.connections", "maxItems", json!(16))]
#[case("spec.connections[]", "required", json!(["role"]))]
#[case("spec.view", "required", json!(["port"]))]
#[case("spec.enrolment.args", "minItems", json!(1))]
#[case("spec.enrolment.args", "maxItems", json!(32))]
fn the_class_schema_bounds(#[case] path: &str, #[case] keyword: &str, #[case] value: Value) {
    for plural in ["sandboxclasses", "clustersandboxclasses"] {
        assert_eq!(
            node(plural, path).get(keyword),
            Some(&value),
            "{plural} {path} {keyword}"
        );
    }
}

// Proves: T-060, T-067, T-071, T-073
#[rstest]
#[case("spec.hosts", "minItems", json!(1))]
#[case("spec.hosts", "maxItems", json!(32))]
#[case("spec", "required", json!(["credential", "hosts"]))]
#[case("spec.credential", "required", json!(["kind"]))]
#[case("spec.credential.kind", "enum", json!(["none", "secret", "browserSession", "gitHost"]))]
#[case("spec.credential.secretRef", "required", json!(["name"]))]
#[case("spec.credential.browserSession", "required", json!(["encryption"]))]
#[case("spec.credential.browserSession.scope", "enum", json!(["perUser", "shared"]))]
#[case("spec.credential.browserSession.scope", "default", json!("perUser"))]
#[case("spec.credential.browserSession.signedOutWhen.urlPrefixes", "minItems", json!(1))]
#[case("spec.credential.browserSession.signedOutWhen.urlPrefixes", "maxItems", json!(16))]
#[case("spec.credential.browserSession.encryption.kmsProvider", "enum", json!(["aws-kms", "azure-keyvault", "gcp-kms", "vault", "local"]))]
#[case("spec.credential.browserSession.encryption", "required", json!(["keyID", "kmsProvider"]))]
#[case("spec.credential.gitHost", "required", json!(["encryption", "provider"]))]
#[case("spec.credential.gitHost.provider", "enum", json!(["github", "gitlab", "token"]))]
#[case("spec.credential.gitHost.oauth", "required", json!(["clientID", "clientSecretRef"]))]
#[case("spec.credential.gitHost.oauth.clientSecretRef.key", "default", json!("clientSecret"))]
#[case("spec.placement.env", "maxItems", json!(32))]
#[case("spec.placement.env[]", "required", json!(["key", "name"]))]
#[case("spec.placement.files", "maxItems", json!(16))]
#[case("spec.placement.files[]", "required", json!(["path"]))]
fn the_connection_schema_bounds(#[case] path: &str, #[case] keyword: &str, #[case] value: Value) {
    assert_eq!(
        node("connections", path).get(keyword),
        Some(&value),
        "{path} {keyword}"
    );
}

// Proves: T-001
#[test]
fn every_schema_is_structural_bounded_and_says_what_each_field_means() {
    for crd in render::crds() {
        let plural = crd
            .pointer("/spec/names/plural")
            .cloned()
            .unwrap_or_default();
        let schema = crd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec");
        walk(schema.expect("a spec"), &format!("{plural}.spec"));
    }
}

fn walk(schema: &Value, path: &str) {
    let has = |keyword: &str| schema.get(keyword).is_some();
    assert!(
        has("type")
            || has("x-kubernetes-int-or-string")
            || has("x-kubernetes-preserve-unknown-fields"),
        "{path} has no type"
    );
    for refused in ["$ref", "nullable", "oneOf", "allOf", "title"] {
        assert!(!has(refused), "{path} has {refused}");
    }
    assert!(
        schema.get("default") != Some(&Value::Null),
        "{path} defaults to null"
    );
    for (name, child) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let path = format!("{path}.{name}");
        let quantity = child.get("x-kubernetes-int-or-string").is_some();
        assert!(
            quantity || child.get("description").is_some(),
            "{path} says nothing of itself"
        );
        let says = child
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        assert!(
            !says.contains("-0"),
            "{path} tells a user of a requirement: {says}"
        );
        walk(child, &path);
    }
    if schema.get("type") == Some(&json!("array")) {
        assert!(has("maxItems"), "{path} is a list without maxItems");
        walk(&schema["items"], &format!("{path}[]"));
    }
}

// Proves: X-010
#[test]
fn this_crate_knows_no_runtime_and_no_client() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = std::process::Command::new(cargo)
        .args([
            "tree",
            "--package",
            "sandgate-shared",
            "--edges",
            "normal",
            "--prefix",
            "none",
        ])
        .args(["--offline", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo tree runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let tree = String::from_utf8_lossy(&output.stdout);
    for refused in [
        "tokio v",
        "hyper v",
        "rustls v",
        "kube-client v",
        "kube-runtime v",
    ] {
        assert!(
            !tree.lines().any(|line| line.starts_with(refused)),
            "depends on {refused}:\n{tree}"
        );
    }
}
