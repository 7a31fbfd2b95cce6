use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;

use super::*;
use crate::isolation::installed::tests::installed;
use crate::isolation::pull_secret::PullSecret;

/// A stage whose API server allows what `allowed` says.
fn stage(
    pull_secret: Option<PullSecret>,
    allowed: impl Fn(&ResourceAttributes) -> bool + Send + Sync + 'static,
) -> Stage {
    let allowed = Arc::new(allowed);
    let service = tower::service_fn(move |request: Request<Body>| {
        let allowed = Arc::clone(&allowed);
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let mut review: SelfSubjectAccessReview = serde_json::from_slice(&body).unwrap();
            let asked = review.spec.resource_attributes.clone().unwrap();
            review.status.get_or_insert_default().allowed = allowed(&asked);
            let answer = Body::from(serde_json::to_vec(&review).unwrap());
            Ok::<_, Infallible>(Response::new(answer))
        }
    });
    let client = Client::new(service, "default");
    let image = ("sandgate:1".to_owned(), pull_secret);
    Stage::new(client, "run", "test", image, "one".to_owned(), installed())
}

#[tokio::test]
async fn all_rights_that_are_missing_are_told_in_one_sentence() {
    let stage = stage(None, |asked| {
        let resource = asked.resource.as_deref().unwrap();
        let verb = asked.verb.as_deref().unwrap();
        let log = asked.subresource.is_some();
        !(resource == "namespaces" && matches!(verb, "create" | "delete") || log)
    });
    let told = check(&stage).await.unwrap_err().to_string();
    assert_eq!(
        told,
        "may not create or delete namespaces, get pods/log in namespace test-run; run it as somebody who may, such as an administrator"
    );
}

#[tokio::test]
async fn whoever_may_everything_goes_on_and_secrets_are_asked_for_only_to_pull_by_one() {
    let no_secrets = |asked: &ResourceAttributes| asked.resource.as_deref() != Some("secrets");
    check(&stage(None, no_secrets)).await.unwrap();
    let secret = "team/registry".parse().ok();
    let told = check(&stage(secret, no_secrets)).await.unwrap_err();
    assert!(
        told.to_string()
            .contains("create secrets in namespace test-run, get secrets in namespace team"),
        "{told}"
    );
}
