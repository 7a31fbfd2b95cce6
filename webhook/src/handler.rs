//! From an HTTP request to an answer: path, size, time and panics. The judging itself is `review`.
//!
//! Memory that clients can take: up to [`TINY`] on each connection freely; beyond that only so many
//! bodies may be in memory at once, and of the big ones one at a time is parsed, since a parsed body
//! takes several times its size. Others wait their turn, until their deadline.

mod body;
mod deadline;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use sandgate_shared::rules::Phase;
use tokio::sync::Semaphore;

use self::body::{Read, Room, Trouble};
use crate::metrics::Metrics;
use crate::review::{self, Answer, Decision, Judge, Reply};
use crate::server::Handler;

/// The largest body read: two objects of the API server's own 3 MiB limit, and the review around them.
pub const LARGEST: usize = 7 * 1024 * 1024;
/// Up to here a body is parsed where it was read; a bigger one waits for its turn.
pub const SMALL: usize = 256 * 1024;
/// Up to here a body needs no place; most reviews are smaller.
pub const TINY: usize = 16 * 1024;
/// Bodies from [`TINY`] to [`SMALL`] in memory at once.
pub const MIDDLING_BODIES: usize = 256;
/// Bodies over [`SMALL`] in memory at once.
pub const BIG_BODIES: usize = 4;

/// The handler of the TLS port.
#[derive(Clone)]
pub struct Admission {
    judge: Arc<dyn Judge>,
    metrics: Arc<Metrics>,
    room: Room,
    parsing: Arc<Semaphore>,
}

impl Admission {
    /// Answers with the verdicts of `judge`.
    pub fn new(judge: Arc<dyn Judge>, metrics: Arc<Metrics>) -> Self {
        Self {
            judge,
            metrics,
            room: Room::new(),
            parsing: Arc::new(Semaphore::new(1)),
        }
    }

    async fn review(&self, request: Request<Incoming>, phase: Phase) -> Response<Full<Bytes>> {
        let deadline = deadline::of(request.uri().query());
        let read = body::read(request.into_body(), &self.room, deadline).await;
        let started = Instant::now();
        let answer = match read {
            Ok(Read::Whole {
                bytes,
                place: Some(place),
            }) if place.big => self.big(bytes, phase, deadline).await,
            Ok(Read::Whole { bytes, .. }) => self.guarded(&bytes, phase),
            Ok(Read::TooLarge { prefix }) => review::too_large(&prefix, LARGEST),
            Err(Trouble::Busy { prefix }) => review::fault(
                &prefix,
                "other large objects are being judged and time ran out",
            ),
            Err(Trouble::Slow) => {
                return text(
                    StatusCode::REQUEST_TIMEOUT,
                    "the body did not arrive before the deadline of the request",
                );
            }
            Err(Trouble::Broken) => {
                return text(
                    StatusCode::BAD_REQUEST,
                    "failed to read the body of the request",
                );
            }
        };
        self.metrics.answered(&answer, started.elapsed());
        log(&answer, phase);
        http(answer)
    }

    /// Parses one big body at a time, away from the threads that serve connections.
    async fn big(&self, bytes: Vec<u8>, phase: Phase, deadline: tokio::time::Instant) -> Answer {
        let turn = Arc::clone(&self.parsing).acquire_owned();
        let Ok(Ok(turn)) = tokio::time::timeout_at(deadline, turn).await else {
            return review::fault(
                &bytes,
                "other large objects are being judged and time ran out",
            );
        };
        let this = self.clone();
        let bytes = Arc::new(bytes);
        let judged = Arc::clone(&bytes);
        let job = move || {
            // Held by the work, which goes on even if the client leaves.
            let _turn = turn;
            this.guarded(&judged, phase)
        };
        match tokio::task::spawn_blocking(job).await {
            Ok(answer) => answer,
            Err(_) => review::fault(&bytes, "judging was cut off by the server's end"),
        }
    }

    fn guarded(&self, bytes: &[u8], phase: Phase) -> Answer {
        // Nothing of ours is changed while judging, so nothing can be left half changed.
        let judging = AssertUnwindSafe(|| review::answer(bytes, phase, &*self.judge));
        catch_unwind(judging).unwrap_or_else(|_| {
            self.metrics.panics.inc();
            review::fault(bytes, "sandgate failed while judging")
        })
    }
}

impl Handler for Admission {
    async fn handle(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let phase = match request.uri().path() {
            "/mutate" => Phase::Mutating,
            "/validate" => Phase::Validating,
            _ => {
                return text(
                    StatusCode::NOT_FOUND,
                    "there are /mutate and /validate here",
                );
            }
        };
        if request.method() != Method::POST {
            let mut response = text(
                StatusCode::METHOD_NOT_ALLOWED,
                "send an AdmissionReview by POST",
            );
            response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("POST"));
            return response;
        }
        self.review(request, phase).await
    }
}

/// One line for each answer that is not a plain admission, at `info`; the others at `debug`.
fn log(answer: &Answer, phase: Phase) {
    let path = match phase {
        Phase::Mutating => "mutate",
        Phase::Validating => "validate",
    };
    let admitted = matches!(answer.decision, Decision::Allowed | Decision::Patched);
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                path,
                uid = answer.uid.as_deref().unwrap_or_default(),
                kind = answer.kind,
                operation = answer.operation,
                object = answer.object,
                decision = answer.decision.as_str(),
                rules = answer.rules.join(","),
                fields = answer.fields.join(","),
                "admission"
            )
        };
    }
    match answer.decision {
        Decision::Fault => line!(error),
        _ if admitted => line!(debug),
        _ => line!(info),
    }
}

fn http(answer: Answer) -> Response<Full<Bytes>> {
    match answer.reply {
        Reply::Review(bytes) => {
            let mut response = Response::new(Full::new(Bytes::from(bytes)));
            response
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Reply::Text {
            code,
            text: sentence,
        } => text(
            StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST),
            &sentence,
        ),
    }
}

/// A plain error. The connection ends with it: what is left of the body is not worth reading.
fn text(status: StatusCode, sentence: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{sentence}\n"))));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
