//! Layers taken away one after another from an installation that has them all: none stands in for
//! another, and what is left goes on refusing. Does I/O.

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
};
use kube::api::DeleteParams;
use kube::{Api, Client};
use sandgate_e2e::binaries::Version;
use sandgate_e2e::installation::Layers;
use sandgate_e2e::{Failure, Outcome, manifests};
use sandgate_shared::names;
use sandgate_shared::render::{self, Installation};
use serde_json::Value;

use crate::corpus::{Answer, Desk, case, named, until};
use crate::layers::layers_alone;

/// Whether the webhook refused for this rule.
fn by_the_webhook(answer: &Answer, rule: &str) -> bool {
    refused(answer, rule) && text(answer).starts_with("admission webhook \"")
}

/// Whether the API server itself refused for this rule, by a policy or a CRD.
fn by_the_api_server(answer: &Answer, rule: &str) -> bool {
    refused(answer, rule) && !text(answer).contains("admission webhook \"")
}

fn refused(answer: &Answer, rule: &str) -> bool {
    named(answer).is_ok_and(|named| named.contains(rule))
}

fn text(answer: &Answer) -> &str {
    answer.as_ref().map_or("", |status| status.message.as_str())
}

async fn delete_the_policy(client: &Client, manifests: &[Value; 2]) -> Outcome {
    let name = manifests[0]["metadata"]["name"].as_str().unwrap();
    let now = DeleteParams::default();
    let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(client.clone());
    bindings.delete(name, &now).await?;
    let policies = Api::<ValidatingAdmissionPolicy>::all(client.clone());
    policies.delete(name, &now).await?;
    Ok(())
}

async fn delete_the_webhooks(client: &Client, names: &Installation) -> Outcome {
    let name = names::webhook_configuration(&names.release);
    let now = DeleteParams::default();
    let mutating = Api::<MutatingWebhookConfiguration>::all(client.clone());
    mutating.delete(&name, &now).await?;
    let validating = Api::<ValidatingWebhookConfiguration>::all(client.clone());
    validating.delete(&name, &now).await?;
    Ok(())
}

/// Takes each layer away in turn, on an API server of this version.
async fn each_taken_away(version: Version) -> Outcome {
    let (cluster, namespace, writers) = layers_alone(Layers::default(), version).await?;
    let desk = Desk::new(&namespace, &writers);
    let client = cluster.client();
    let names = Installation::default();
    let policy = render::admission_policy(&names);
    let (reserved, of_the_operator) = (
        case("a target path by a user"),
        "claim-operator-target-path",
    );
    let (wrong, of_handles) = (case("a handle without a slash"), "claim-handle");
    let expect = async |case, by: fn(&Answer, &str) -> bool, rule: &str, without: &str| {
        let told = desk.answer(0, case).await?;
        if by(&told, rule) {
            return Ok(());
        }
        Err(Failure::saying(format!("without {without}: {told:#?}")))
    };

    delete_the_policy(&client, &policy).await?;
    expect(&reserved, by_the_webhook, of_the_operator, "the policy").await?;
    manifests::apply(&client, &policy).await?;

    let bare = Layers {
        schema_rules: false,
        ..Layers::default()
    };
    manifests::apply(&client, &bare.kinds()).await?;
    expect(&wrong, by_the_webhook, of_handles, "the rules of the CRDs").await?;
    manifests::apply(&client, &Layers::default().kinds()).await?;

    delete_the_webhooks(&client, &names).await?;
    for (case, rule) in [(&reserved, of_the_operator), (&wrong, of_handles)] {
        let ask = || desk.answer(0, case);
        let refuses = |answer: &Answer| by_the_api_server(answer, rule);
        until("the API server alone refuses it", ask, refuses).await?;
    }
    Ok(())
}

// Proves: W-004
#[tokio::test]
async fn whichever_layer_is_taken_away_another_still_refuses_the_same_write() -> Outcome {
    Box::pin(each_taken_away(Version::default())).await
}

mod slow {
    use rstest::rstest;
    use sandgate_e2e::Outcome;
    use sandgate_e2e::binaries::Version;

    use super::each_taken_away;

    // Proves: W-004
    #[rstest]
    #[case::v1_33(Version::V1_33)]
    #[case::v1_30(Version::V1_30)]
    #[tokio::test]
    async fn slow_so_it_is_on_an_older_api_server(#[case] version: Version) -> Outcome {
        Box::pin(each_taken_away(version)).await
    }
}
