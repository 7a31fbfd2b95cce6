//! `/livez`, `/readyz` and `/metrics` on the plain port. Answers from memory.

use std::sync::Arc;
use std::time::SystemTime;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::reload::Reloader;
use crate::server::Handler;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// The handler of the plain port.
#[derive(Clone, Debug)]
pub struct Health {
    metrics: Arc<Metrics>,
    reloader: Arc<Reloader>,
    draining: CancellationToken,
}

impl Health {
    /// Ready while the served leaf is acceptable and `draining` is not cancelled.
    pub fn new(
        metrics: Arc<Metrics>,
        reloader: Arc<Reloader>,
        draining: CancellationToken,
    ) -> Self {
        Self {
            metrics,
            reloader,
            draining,
        }
    }

    /// Why no review should be sent here, in one sentence.
    pub fn readiness(&self, now: SystemTime) -> Result<(), String> {
        if self.draining.is_cancelled() {
            return Err(
                "stopping: requests are still answered, new ones belong elsewhere".to_owned(),
            );
        }
        self.reloader.readiness(now)
    }

    fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return page(StatusCode::METHOD_NOT_ALLOWED, TEXT, "use GET\n".to_owned());
        }
        match path {
            "/livez" => page(StatusCode::OK, TEXT, "ok\n".to_owned()),
            "/readyz" => match self.readiness(SystemTime::now()) {
                Ok(()) => page(StatusCode::OK, TEXT, "ok\n".to_owned()),
                Err(why) => page(
                    StatusCode::SERVICE_UNAVAILABLE,
                    TEXT,
                    format!("not ready: {why}\n"),
                ),
            },
            "/metrics" => self.metrics.encode().map_or_else(
                |_| {
                    let text = "failed to write the metrics as text\n".to_owned();
                    page(StatusCode::INTERNAL_SERVER_ERROR, TEXT, text)
                },
                |text| page(StatusCode::OK, OPEN_METRICS, text),
            ),
            _ => page(
                StatusCode::NOT_FOUND,
                TEXT,
                "there are /livez, /readyz and /metrics here\n".to_owned(),
            ),
        }
    }
}

impl Handler for Health {
    async fn handle(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        self.answer(request.method(), request.uri().path())
    }
}

fn page(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
