use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::isolation::installed::tests::installed;

/// A stage whose API server has the run's namespaces, and answers their deletion so; what it was
/// asked.
fn stage(run: &'static str, deletion: (u16, &'static str)) -> (Stage, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let path = request.uri().path().to_owned();
        noted
            .lock()
            .unwrap()
            .push(format!("{} {path}", request.method()));
        let (code, answer) = match *request.method() {
            Method::GET => (
                200,
                json!({ "metadata": {
                "name": path.rsplit('/').next(), "labels": { LABEL_RUN: run },
            } }),
            ),
            _ => (deletion.0, status(deletion)),
        };
        let answer = Body::from(answer.to_string().into_bytes());
        let answer = Response::builder().status(code).body(answer);
        async move { Ok::<_, Infallible>(answer.unwrap()) }
    });
    let client = Client::new(service, "default");
    let image = ("sandgate:1".to_owned(), None);
    let stage = Stage::new(client, "run", "test", image, "one".to_owned(), installed());
    (stage, asked)
}

fn status((code, message): (u16, &str)) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "reason": "x", "message": message,
    })
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_is_refused_is_told_at_once() {
    let refused = (403, "namespaces is forbidden: eve cannot delete");
    let (stage, _) = stage("run", refused);
    let began = tokio::time::Instant::now();
    let left = stage.clear().await;
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(
        left[0].starts_with("may not delete namespace test-run: "),
        "{left:?}"
    );
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(
        stage.by_hand(),
        "kubectl delete namespace -l sandgate.dev/isolation-run=run"
    );
}

#[tokio::test(start_paused = true)]
async fn a_namespace_of_somebody_elses_run_is_left_alone() {
    let (stage, asked) = stage("another", (500, "never"));
    assert!(stage.clear().await.is_empty());
    let asked = asked.lock().unwrap();
    assert!(asked.iter().all(|it| it.starts_with("GET ")), "{asked:?}");
}
