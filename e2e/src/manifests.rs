//! Manifests put onto a cluster as an administrator would, by server-side apply. Does I/O.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use crate::progress::PATIENCE;

/// Who is said to own the fields a test's administrator applies.
const MANAGER: &str = "sandgate-install";

/// Why manifests could not be put onto a cluster.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The text is not YAML.
    #[error("failed to read YAML")]
    Yaml(#[source] serde_saphyr::Error),
    /// A manifest lacks `apiVersion`, `kind` or `metadata.name`.
    #[error("a manifest has no {0}")]
    Missing(&'static str),
    /// The API server refused it.
    #[error("failed to apply {0}")]
    Apply(String, #[source] kube::Error),
    /// A CRD was not established in time.
    #[error("the CustomResourceDefinition {0} was not established")]
    NotEstablished(String),
}

/// The documents in a YAML text.
pub fn parse(text: &str) -> Result<Vec<Value>, ManifestError> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).map_err(ManifestError::Yaml)?;
    Ok(documents
        .into_iter()
        .filter(|document| !document.is_null())
        .collect())
}

/// The resource a manifest is of, its plural guessed from its kind as the API's conventions have it.
pub fn resource_of(manifest: &Value) -> Result<ApiResource, ManifestError> {
    let text = |field: &'static str| {
        manifest
            .get(field)
            .and_then(Value::as_str)
            .ok_or(ManifestError::Missing(field))
    };
    let (version, kind) = (text("apiVersion")?, text("kind")?);
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    Ok(ApiResource::from_gvk(&GroupVersionKind::gvk(
        group, version, kind,
    )))
}

/// Applies each manifest in order; those without a namespace are taken as cluster-wide. Then waits
/// until the API server serves the kinds among them.
pub async fn apply(client: &Client, manifests: &[Value]) -> Result<(), ManifestError> {
    for manifest in manifests {
        let resource = resource_of(manifest)?;
        let metadata = |field: &str| {
            manifest
                .pointer(&format!("/metadata/{field}"))
                .and_then(Value::as_str)
        };
        let name = metadata("name").ok_or(ManifestError::Missing("metadata.name"))?;
        let api: Api<DynamicObject> = match metadata("namespace") {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let how = PatchParams::apply(MANAGER).force();
        api.patch(name, &how, &Patch::Apply(manifest))
            .await
            .map_err(|error| ManifestError::Apply(format!("{} {name}", resource.kind), error))?;
    }
    for manifest in manifests {
        if manifest.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition") {
            let name = manifest.pointer("/metadata/name").and_then(Value::as_str);
            established(client, name.unwrap_or_default()).await?;
        }
    }
    Ok(())
}

async fn established(client: &Client, name: &str) -> Result<(), ManifestError> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let served = await_condition(crds, name, conditions::is_crd_established());
    match tokio::time::timeout(PATIENCE, served).await {
        Ok(Ok(Some(crd))) if !crd.name_any().is_empty() => Ok(()),
        _ => Err(ManifestError::NotEstablished(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[rstest::rstest]
    #[case("v1", "Service", "services")]
    #[case("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")]
    #[case(
        "omnia.altairalabs.ai/v1alpha1",
        "ClusterSandboxClass",
        "clustersandboxclasses"
    )]
    #[case("omnia.altairalabs.ai/v1alpha1", "ToolRegistry", "toolregistries")]
    fn a_kind_finds_its_resource(#[case] version: &str, #[case] kind: &str, #[case] plural: &str) {
        let resource = resource_of(&json!({ "apiVersion": version, "kind": kind })).unwrap();
        assert_eq!(resource.plural, plural);
    }

    #[test]
    fn empty_documents_are_no_manifests() {
        let documents = parse("---\n---\nkind: A\n---\nkind: B\n").unwrap();
        assert_eq!(documents, [json!({ "kind": "A" }), json!({ "kind": "B" })]);
    }
}
