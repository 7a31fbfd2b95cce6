//! How a fault is carried out. Does I/O.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use futures::{Stream, StreamExt as _, TryStreamExt as _, future};
use http::header::{CONTENT_TYPE, HOST, RETRY_AFTER, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use kube::client::Body;
use serde_json::json;
use tokio::time::Instant;

use super::{Asked, Fault, Question, Shared};

/// Events of one watch that may wait at once.
const WAITING: usize = 10_000;

/// Why an answer ends.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// Its fault: the connection is to end.
    #[error("the connection is lost")]
    Lost,
    /// The API server, or the way to it.
    #[error(transparent)]
    Server(#[from] kube::Error),
    /// The request could not be read to its end.
    #[error("failed to read the request")]
    Read(#[from] hyper::Error),
}

type Answer = Response<UnsyncBoxBody<Bytes, CarryError>>;

/// What lists were answered with, by what was asked.
#[derive(Debug, Default)]
pub struct Lists(Mutex<BTreeMap<String, Bytes>>);

impl Shared {
    /// Passes a request on, or does what its fate is. An error ends the connection.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Result<Answer, CarryError> {
        let (head, body) = request.into_parts();
        let asked = Asked::of(&head.method, &head.uri);
        let fault = self.fate.fault(&asked);
        let body = body.collect().await?.to_bytes();
        match fault {
            Fault::Lost => return Err(CarryError::Lost),
            Fault::Unheard => return self.never().await,
            Fault::Late(by) => tokio::time::sleep(by).await,
            Fault::Held => self.fate.let_go().await,
            Fault::Refused(code) => return Ok(refusal(code)),
            Fault::Stale => {
                if let Some(earlier) = self.lists.earlier(&asked) {
                    return Ok(said(StatusCode::OK, earlier));
                }
            }
            Fault::Twice => {
                let first = self.pass_on(&head, body.clone()).await?;
                first.into_body().collect().await?;
            }
            Fault::None
            | Fault::AnswerLost
            | Fault::Unanswered
            | Fault::CutAfter(_)
            | Fault::Lagging(_) => {}
        }
        let answer = self.pass_on(&head, body).await?;
        match fault {
            Fault::AnswerLost => Err(CarryError::Lost),
            Fault::Unanswered => self.never().await,
            Fault::CutAfter(after) => Ok(answer.map(|body| {
                streamed(
                    body.into_data_stream()
                        .take_until(tokio::time::sleep(after)),
                )
            })),
            Fault::Lagging(by) => {
                Ok(answer.map(|body| streamed(late(body.into_data_stream(), by))))
            }
            _ if asked.question() == Question::List && answer.status().is_success() => {
                let (head, body) = answer.into_parts();
                let body = body.collect().await?.to_bytes();
                self.lists.remember(&asked, &body);
                Ok(Response::from_parts(head, whole(body)))
            }
            _ => Ok(answer),
        }
    }

    async fn never(&self) -> Result<Answer, CarryError> {
        self.fate.left_unanswered();
        future::pending().await
    }

    async fn pass_on(&self, head: &Parts, body: Bytes) -> Result<Answer, CarryError> {
        let mut head = head.clone();
        head.headers.remove(HOST);
        let request = Request::from_parts(head, Body::from(body.to_vec()));
        let mut answer = self.client.send(request).await?;
        answer.headers_mut().remove(TRANSFER_ENCODING);
        Ok(answer.map(|body| body.map_err(CarryError::from).boxed_unsync()))
    }
}

impl Lists {
    fn key(asked: &Asked) -> String {
        format!("{}?{}", asked.path, asked.query)
    }

    fn earlier(&self, asked: &Asked) -> Option<Bytes> {
        let lists = self.0.lock().ok()?;
        lists.get(&Self::key(asked)).cloned()
    }

    fn remember(&self, asked: &Asked, body: &Bytes) {
        if let Ok(mut lists) = self.0.lock() {
            lists.insert(Self::key(asked), body.clone());
        }
    }
}

fn streamed(
    stream: impl Stream<Item = Result<Bytes, CarryError>> + Send + 'static,
) -> UnsyncBoxBody<Bytes, CarryError> {
    StreamBody::new(stream.map_ok(Frame::data)).boxed_unsync()
}

/// Each item comes `by` later than it would; what comes close together stays so.
fn late<S>(stream: S, by: Duration) -> impl Stream<Item = S::Item> + Send
where
    S: Stream + Send,
    S::Item: Send,
{
    let due = stream.map(move |item| {
        let due = Instant::now() + by;
        async move {
            tokio::time::sleep_until(due).await;
            item
        }
    });
    due.buffered(WAITING)
}

fn whole(body: Bytes) -> UnsyncBoxBody<Bytes, CarryError> {
    Full::new(body)
        .map_err(|never| match never {})
        .boxed_unsync()
}

fn said(code: StatusCode, body: Bytes) -> Answer {
    let mut answer = Response::new(whole(body));
    *answer.status_mut() = code;
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}

/// A refusal as the API server words it.
fn refusal(code: StatusCode) -> Answer {
    let (reason, message) = match code {
        StatusCode::CONFLICT => (
            "Conflict",
            "Operation cannot be fulfilled: the object has been modified",
        ),
        StatusCode::GONE => ("Expired", "too old resource version"),
        StatusCode::TOO_MANY_REQUESTS => ("TooManyRequests", "please try again later"),
        StatusCode::SERVICE_UNAVAILABLE => ("ServiceUnavailable", "the server is not ready"),
        _ => ("InternalError", "an error on the server"),
    };
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "reason": reason,
        "message": message,
        "code": code.as_u16(),
    });
    let mut answer = said(code, Bytes::from(status.to_string()));
    if code == StatusCode::TOO_MANY_REQUESTS {
        let second = HeaderValue::from_static("1");
        answer.headers_mut().insert(RETRY_AFTER, second);
    }
    answer
}
