//! The plain HTTP port: `/healthz`, `/readyz`, `/metrics`. Does I/O.
//!
//! It is served once the proxy's own port is bound and an allowlist is loaded, so it is ready until it
//! ends: an allowlist that cannot be read later leaves the last good one in force.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

#[derive(Clone)]
struct Shared {
    metrics: Arc<Metrics>,
    draining: CancellationToken,
}

/// Serves until the task is dropped.
pub async fn serve(listener: TcpListener, metrics: Arc<Metrics>, draining: CancellationToken) {
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(exposition))
        .with_state(Shared { metrics, draining });
    if let Err(error) = axum::serve(listener, router).await {
        tracing::error!(%error, "the admin port is closed");
    }
}

async fn readyz(State(shared): State<Shared>) -> Response {
    if shared.draining.is_cancelled() {
        let told = "ending: open tunnels go on, new ones are refused\n";
        return (StatusCode::SERVICE_UNAVAILABLE, told).into_response();
    }
    "ok\n".into_response()
}

async fn exposition(State(shared): State<Shared>) -> Response {
    const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match shared.metrics.encode() {
        Ok(text) => ([(header::CONTENT_TYPE, TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
