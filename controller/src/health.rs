//! The plain HTTP port: `/livez`, `/readyz`, `/metrics`. Does I/O.
//!
//! Readiness is a question of this process alone: its watches have been whole once. It depends
//! neither on leadership nor, from then on, on the API server: pod readiness is the AND of both
//! containers, and a slow API server must not take the webhook out of its Service.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

use crate::cause::Chain;
use crate::metrics::exposition;
use crate::watch::Watches;

#[derive(Clone)]
struct Shared {
    watches: Arc<Watches>,
    registry: Arc<Registry>,
}

/// Serves until the task is dropped.
pub async fn serve(listener: TcpListener, watches: Arc<Watches>, registry: Arc<Registry>) {
    let router = router(watches, registry);
    // Ends only on an error of accept that cannot be survived; the caller treats that as fatal.
    if let Err(error) = axum::serve(listener, router).await {
        tracing::error!(
            error = %Chain(&error),
            "the health port is closed"
        );
    }
}

fn router(watches: Arc<Watches>, registry: Arc<Registry>) -> Router {
    Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(Shared { watches, registry })
}

async fn readyz(State(shared): State<Shared>) -> Response {
    let missing = shared.watches.synced.missing();
    if missing.is_empty() {
        return "ok\n".into_response();
    }
    let kinds: Vec<&str> = missing
        .iter()
        .map(|source| source.kind().as_str())
        .collect();
    let body = format!("not listed yet: {}\n", kinds.join(", "));
    (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
}

async fn metrics(State(shared): State<Shared>) -> Response {
    const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match exposition(&shared.registry) {
        Ok(text) => ([(header::CONTENT_TYPE, TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests;
