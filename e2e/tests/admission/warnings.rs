//! What `kubectl` prints of a write that is admitted with warnings, word for word. Does I/O.

use sandgate_e2e::{Cluster, Failure, Namespace, Outcome};
use serde_json::{Value, json};

fn connection(namespace: &Namespace, hosts: &[&str], session: &Value) -> Value {
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": "Connection",
        "metadata": { "name": "portal", "namespace": namespace.name() },
        "spec": {
            "hosts": hosts,
            "credential": { "kind": "browserSession", "browserSession": session },
        },
    })
}

/// Sends `manifest` and compares the warnings that are printed.
async fn warns(
    namespace: &Namespace,
    arguments: &[&str],
    manifest: &Value,
    expected: &[&str],
) -> Outcome {
    let said = namespace
        .kubectl(arguments, Some(&manifest.to_string()))
        .await?;
    let mut warnings: Vec<&str> = said.stderr.lines().collect();
    warnings.sort_unstable();
    let expected: Vec<String> = expected.iter().map(|it| format!("Warning: {it}")).collect();
    if said.success && warnings == expected {
        return Ok(());
    }
    Err(Failure::saying(format!(
        "{arguments:?}: should be admitted and warn {expected:#?}, but said {said:#?}"
    )))
}

// Proves: W-026, W-027, W-028, W-029
#[tokio::test]
async fn a_connection_that_is_worth_a_warning_is_admitted_with_it_whenever_it_is_written() -> Outcome
{
    const LOCAL: &str = "spec.credential.browserSession.encryption.kmsProvider: local is a key in a Secret and no KMS: never in production";
    const SHARED: &str = "spec.credential.browserSession.scope: shared lets every user of bound agents browse as one account";
    const SIGN_IN: &str = "spec.credential.browserSession.signInURL: its host is not covered by hosts, so no enrolment can start";
    const SIGNED_OUT: &str = "spec.credential.browserSession.signedOutWhen.urlPrefixes[1]: hosts do not cover its host, so claims will fail";
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("warnings").await?;
    let session = json!({
        "scope": "shared",
        "signInURL": "https://sso.example.com/login",
        "signedOutWhen": { "urlPrefixes": [
            "https://portal.example.com/login",
            "https://sso.example.com/login",
        ] },
        "encryption": { "kmsProvider": "local", "keyID": "k" },
    });
    let first = connection(&namespace, &["portal.example.com"], &session);
    let all = [LOCAL, SHARED, SIGN_IN, SIGNED_OUT];
    let create = ["create", "-f", "-"];
    warns(
        &namespace,
        &["create", "--dry-run=server", "-f", "-"],
        &first,
        &all,
    )
    .await?;
    warns(&namespace, &create, &first, &all).await?;
    let mut labelled = first.clone();
    labelled["metadata"]["labels"] = json!({ "team": "a" });
    warns(&namespace, &["replace", "-f", "-"], &labelled, &all).await?;
    let covered = connection(&namespace, &["*.example.com"], &session);
    warns(
        &namespace,
        &["replace", "-f", "-"],
        &covered,
        &[LOCAL, SHARED],
    )
    .await?;
    let mut plain = connection(
        &namespace,
        &["portal.example.com"],
        &json!({ "encryption": { "kmsProvider": "aws-kms", "keyID": "k" } }),
    );
    plain["metadata"]["name"] = json!("plain");
    warns(&namespace, &create, &plain, &[]).await
}
