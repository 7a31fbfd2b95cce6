use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, Response};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Client;
use kube::client::Body;
use serde_json::json;

use super::*;

/// An API server that answers everything so, and how often it was asked.
fn server(code: u16, message: &'static str) -> (Api<ServiceAccount>, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let service = tower::service_fn(move |_: Request<Body>| {
        counted.fetch_add(1, Ordering::Relaxed);
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure",
            "code": code, "reason": "x", "message": message,
        });
        let answer = Response::builder().status(code);
        let answer = answer.body(Body::from(status.to_string().into_bytes()));
        async move { Ok::<_, Infallible>(answer.unwrap()) }
    });
    let client = Client::new(service, "default");
    (Api::namespaced(client, "run"), asked)
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_read_is_not_waited_for() {
    let (accounts, asked) = server(403, "serviceaccounts is forbidden: eve cannot list");
    let vain = follow(accounts, "default", Duration::from_mins(2), |it| {
        it.map(drop)
    })
    .await;
    let trouble = vain
        .unwrap_err()
        .or("never".to_owned(), |_| Trouble::Stopped)
        .to_string();
    assert!(
        trouble.starts_with("may not watch ServiceAccount default: ")
            && trouble.contains("eve cannot list"),
        "{trouble}"
    );
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_is_tried_again_at_growing_distances_and_its_error_is_told() {
    let (accounts, asked) = server(500, "etcd is away");
    let vain = follow(accounts, "default", Duration::from_mins(2), |it| {
        it.map(drop)
    })
    .await;
    let told = vain
        .unwrap_err()
        .or("it never came".to_owned(), Trouble::NoCluster)
        .to_string();
    assert!(
        told.contains("it never came") && told.contains("etcd is away"),
        "{told}"
    );
    let asked = asked.load(Ordering::Relaxed);
    assert!(
        (2..=30).contains(&asked),
        "asked {asked} times in two minutes"
    );
}
