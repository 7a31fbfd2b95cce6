use kube::core::DynamicObject;
use rstest::rstest;
use sandgate_shared::names;
use serde_json::{Value, json};

use super::{Configuration, bundles, hosts};
use crate::kind::Kind;

fn configuration(kind: Kind, clients: &[Value]) -> Configuration {
    let webhooks: Vec<Value> = clients
        .iter()
        .enumerate()
        .map(|(position, client)| {
            json!({"name": format!("w{position}.sandgate.dev"), "clientConfig": client,
                "sideEffects": "None", "admissionReviewVersions": ["v1"]})
        })
        .collect();
    let object: DynamicObject = serde_json::from_value(json!({
        "metadata": {"name": "zz-sandgate-sandgate", "resourceVersion": "7"},
        "webhooks": webhooks,
    }))
    .unwrap();
    Configuration::read(kind, object).unwrap()
}

// Proves: X-012
#[rstest]
#[case::service(json!({"service": {"name": "sandgate-webhook", "namespace": "sandgate-system"}}),
    "sandgate-webhook.sandgate-system.svc")]
#[case::ipv4_address(json!({"url": "https://127.0.0.1:9443/mutate"}), "127.0.0.1")]
#[case::ipv6_address(json!({"url": "https://[::1]:9443/mutate"}), "::1")]
#[case::name(json!({"url": "https://Webhook.Example.com/validate"}), "webhook.example.com")]
fn the_leaf_is_for_whatever_host_the_configurations_name(
    #[case] client: Value,
    #[case] host: &str,
) {
    let both = [
        configuration(
            Kind::MutatingWebhookConfiguration,
            std::slice::from_ref(&client),
        ),
        configuration(
            Kind::ValidatingWebhookConfiguration,
            &[client.clone(), client],
        ),
    ];
    assert_eq!(hosts(&both), [host]);
    assert_eq!(bundles(&both).len(), 3);
}

// Proves: X-012
#[test]
fn the_apply_carries_the_bundle_of_each_webhook_and_nothing_else() {
    let client = json!({"url": "https://127.0.0.1:9443/mutate"});
    let configuration = configuration(
        Kind::MutatingWebhookConfiguration,
        &[client.clone(), client],
    );
    let fields = configuration.with_bundle("PEM").unwrap();
    assert_eq!(
        fields,
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "zz-sandgate-sandgate", "resourceVersion": "7"},
            "webhooks": [
                {"name": "w0.sandgate.dev", "clientConfig": {"caBundle": "UEVN"}},
                {"name": "w1.sandgate.dev", "clientConfig": {"caBundle": "UEVN"}},
            ],
        })
    );
}

#[test]
fn a_bundle_that_stands_everywhere_is_not_applied_again() {
    let with = json!({"url": "https://127.0.0.1/", "caBundle": "UEVN"});
    let without = json!({"url": "https://127.0.0.1/"});
    let kind = Kind::ValidatingWebhookConfiguration;
    assert_eq!(
        configuration(kind, &[with.clone(), with.clone()]).with_bundle("PEM"),
        None
    );
    assert!(
        configuration(kind, &[with, without])
            .with_bundle("PEM")
            .is_some()
    );
}

#[test]
fn a_configuration_without_webhooks_names_no_host_and_needs_no_bundle() {
    let empty = configuration(Kind::MutatingWebhookConfiguration, &[]);
    assert_eq!(empty.with_bundle("PEM"), None);
    assert!(hosts(&[empty]).is_empty());
}

#[test]
fn an_unreadable_url_names_no_host() {
    let odd = configuration(
        Kind::MutatingWebhookConfiguration,
        &[json!({"url": "http://["})],
    );
    assert!(hosts(&[odd]).is_empty());
}

/// One webhook with this bundle, which `owner` applied.
fn with_bundle_of(owner: &str, bundle: &str) -> Configuration {
    let fields = json!({"f:webhooks": {"k:{\"name\":\"w0.sandgate.dev\"}": {
        ".": {}, "f:clientConfig": {"f:caBundle": {}}, "f:name": {},
    }}});
    let object: DynamicObject = serde_json::from_value(json!({
        "metadata": {"name": "zz-sandgate-sandgate", "managedFields": [
            {"manager": owner, "operation": "Apply", "time": "2026-01-01T00:00:00Z", "fieldsV1": fields},
            {"manager": "kubectl-edit", "operation": "Update", "time": "2026-01-02T00:00:00Z"},
        ]},
        "webhooks": [{"name": "w0.sandgate.dev", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1/", "caBundle": bundle}}],
    }))
    .unwrap();
    Configuration::read(Kind::ValidatingWebhookConfiguration, object).unwrap()
}

// Proves: X-012
#[rstest]
#[case::by_hand("helm", "eA==", false, true)]
#[case::taken_out("helm", "", true, true)]
#[case::not_published_yet("helm", "", false, false)]
#[case::of_an_earlier_ca_of_ours(names::MANAGER_CERTIFICATES, "eA==", true, false)]
#[case::as_it_should_be("helm", "UEVN", true, false)]
fn a_bundle_that_somebody_else_wrote_is_told_from_one_of_ours(
    #[case] owner: &str,
    #[case] stands: &str,
    #[case] published: bool,
    #[case] edited: bool,
) {
    let told = with_bundle_of(owner, stands).edit_of_bundle("PEM", published);
    let wanted = "put right what was edited, last by field manager \"kubectl-edit\": \
                  webhooks[w0.sandgate.dev].clientConfig.caBundle";
    assert_eq!(told.as_deref(), edited.then_some(wanted));
}
