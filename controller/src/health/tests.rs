use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use prometheus_client::registry::Registry;
use tower::ServiceExt as _;

use super::router;
use crate::kind::Kind;
use crate::metrics::{Metrics, Outcome, Verb};
use crate::watch::{Source, Watches};

async fn get(watches: &Arc<Watches>, registry: Registry, path: &str) -> (StatusCode, String) {
    let router = router(Arc::clone(watches), Arc::new(registry));
    let request = Request::get(path).body(Body::empty()).unwrap();
    let response = router.oneshot(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_controller_is_alive_at_once_and_ready_when_every_watch_was_whole() {
    let watches = Arc::new(Watches::default());
    let alive = get(&watches, Registry::default(), "/livez").await;
    assert_eq!(alive.0, StatusCode::OK);
    for source in Source::ALL {
        let (status, body) = get(&watches, Registry::default(), "/readyz").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(body.contains(source.kind().as_str()), "{body}");
        watches.synced.mark(source);
    }
    let (status, _) = get(&watches, Registry::default(), "/readyz").await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn requests_are_shown_by_verb_kind_and_outcome() {
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    metrics.request(Verb::Create, Kind::Deployment, Outcome::Done);
    metrics.leads(true);
    let (status, body) = get(&Arc::default(), registry, "/metrics").await;
    assert_eq!(status, StatusCode::OK);
    let line = r#"sandgate_controller_api_requests_total{verb="create",kind="Deployment",outcome="done"} 1"#;
    assert!(body.contains(line), "{body}");
    assert!(body.contains("sandgate_controller_leader 1"), "{body}");
}

#[tokio::test]
async fn another_path_is_not_found() {
    let (status, _) = get(&Arc::default(), Registry::default(), "/debug").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}
