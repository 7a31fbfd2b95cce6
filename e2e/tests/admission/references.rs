//! The references' example manifests, applied as their readers would. Does I/O.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::DeleteParams;
use sandgate_e2e::scene::manifests::{content_volume, workspace};
use sandgate_e2e::{Cluster, Identity, Namespace, Outcome, manifests};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use serde_json::{Value, json};

use crate::corpus::named;
use crate::writers::let_the_operator_write;

/// An example as a test applies it.
struct Example {
    file: String,
    manifest: Value,
    /// Only the operator may write it, as its header says.
    operators: bool,
}

/// The examples of a folder, in `namespace`; what is cluster-wide is named after it as well.
fn examples(folder: &str, namespace: &Namespace) -> Vec<Example> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(folder);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let examples = files.into_iter().map(|file| {
        let text = fs::read_to_string(&file).unwrap();
        let mut manifest = manifests::parse(&text).unwrap().remove(0);
        place(&mut manifest, namespace.name());
        Example {
            file: file.file_name().unwrap().to_string_lossy().into_owned(),
            manifest,
            operators: text.contains("# Identity: operator"),
        }
    });
    examples.collect()
}

fn place(manifest: &mut Value, namespace: &str) {
    if manifest["metadata"].get("namespace").is_some() {
        manifest["metadata"]["namespace"] = json!(namespace);
    } else if manifest["kind"] != "RuntimeClass" {
        let name = &mut manifest["metadata"]["name"];
        *name = json!(cluster_wide(name, namespace));
    }
    if let Some(class) = manifest.pointer_mut("/spec/classRef")
        && class["kind"] == "ClusterSandboxClass"
    {
        class["name"] = json!(cluster_wide(&class["name"], namespace));
    }
}

fn cluster_wide(name: &Value, namespace: &str) -> String {
    format!("{namespace}-{}", name.as_str().unwrap())
}

/// The rule that reserves each field an example has.
fn reserved(manifest: &Value) -> BTreeSet<&'static str> {
    let fields = [
        ("mounts", "claim-operator-mounts"),
        ("mount", "claim-operator-mounts"),
        ("connections", "claim-operator-connections"),
        ("targetPath", "claim-operator-target-path"),
        ("enrolment", "claim-operator-enrolment"),
    ];
    let present = fields
        .into_iter()
        .filter(|(field, _)| manifest["spec"].get(field).is_some());
    present.map(|(_, rule)| rule).collect()
}

// Proves: X-014, P-002, W-012, W-013, W-014, W-015
#[tokio::test]
async fn every_example_is_admitted_from_its_writer_and_refused_by_name_from_anyone_else() -> Outcome
{
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("references").await?;
    let_the_operator_write(&namespace).await?;
    let operator = namespace.acting_as(&Identity::Operator).await?;
    let user = namespace
        .acting_as(&Identity::User("alice".to_owned()))
        .await?;
    let minted = namespace.acting_as(&Identity::OperatorWithoutPod).await?;
    let mut reserved_ones = 0;
    for example in ["references", "operator"]
        .map(|folder| examples(folder, &namespace))
        .iter()
        .flatten()
    {
        let manifest = &example.manifest;
        if !example.operators {
            user.would_accept(manifest).await?;
            continue;
        }
        reserved_ones += 1;
        operator.would_accept(manifest).await?;
        for anyone_else in [&user, &minted, &namespace] {
            let refusal = anyone_else.would_reject(manifest).await?;
            assert_eq!(refusal.code, 403, "{}: {refusal:?}", example.file);
            let rules = named(&Some(refusal)).unwrap();
            assert_eq!(rules, reserved(manifest), "{}", example.file);
        }
    }
    assert!(
        reserved_ones >= 5,
        "only {reserved_ones} examples are the operator's"
    );
    for example in examples("support", &namespace) {
        if example.manifest["kind"] != "RuntimeClass" {
            namespace.would_accept(&example.manifest).await?;
        }
    }
    Ok(())
}

// Proves: X-014, T-030
#[tokio::test]
async fn an_example_claim_that_needs_no_mount_and_no_connection_becomes_bound() -> Outcome {
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("references").await?;
    let user = namespace
        .acting_as(&Identity::User("alice".to_owned()))
        .await?;
    let mut all = examples("support", &namespace);
    all.extend(examples("references", &namespace));
    let (claims, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .filter(|example| !example.operators)
        .map(|example| example.manifest)
        .partition(|manifest| manifest["kind"] == "SandboxClaim");
    assert!(!claims.is_empty());
    manifests::apply(&namespace.client(), &others).await?;
    // The class has a workspace, so somebody has to keep its content.
    let here = namespace.name();
    namespace.accepts(&content_volume(here, here)).await?;
    namespace.accepts(&workspace(here, here)).await?;
    for claim in &claims {
        let stored = user.accepts(claim).await?;
        let name = stored.metadata.name.unwrap();
        let bound = namespace
            .becomes::<SandboxClaim>(&name, "is Bound", |claim| {
                claim.status.as_ref().and_then(|status| status.phase) == Some(ClaimPhase::Bound)
            })
            .await?;
        let status = bound.status.unwrap();
        let addresses = status.addresses.unwrap_or_default();
        let here = format!("{name}-sandbox.{}.svc", namespace.name());
        let mcp = addresses.get("mcp").map(String::as_str).unwrap_or_default();
        assert!(
            mcp.starts_with(&here) && mcp.ends_with(":8080"),
            "{addresses:?}"
        );
        namespace
            .api::<Deployment>()
            .get(&format!("{name}-sandbox"))
            .await?;
    }
    // What is cluster-wide does not end with the namespace; the RuntimeClass is everybody's.
    for other in others {
        if other["metadata"].get("namespace").is_none() && other["kind"] != "RuntimeClass" {
            let name = other["metadata"]["name"].as_str().unwrap();
            let api = namespace.api_of(&other).await?;
            api.delete(name, &DeleteParams::default()).await?;
        }
    }
    Ok(())
}
