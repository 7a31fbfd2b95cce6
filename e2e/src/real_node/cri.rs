//! Asks the container runtime what a kubelet asks it first. A socket that listens is not enough: until the
//! runtime has read its own state it turns the kubelet away, which then ends. Does I/O.

use std::os::unix::net::UnixStream;

use http::header::{CONTENT_TYPE, TE};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};

/// `runtime.v1.RuntimeService/Version` of the Container Runtime Interface.
const VERSION: &str = "http://localhost/runtime.v1.RuntimeService/Version";

/// A gRPC message of no bytes: not compressed, of length 0. Its one field has a default.
const NOTHING: &[u8] = &[0; 5];

/// The status of a call that went well.
const OK: &str = "0";

/// Why the question had no answer.
#[derive(Debug, thiserror::Error)]
pub enum CriError {
    /// The socket is of no use.
    #[error("failed to use the runtime's socket")]
    Socket(#[from] std::io::Error),
    /// The request is none.
    #[error("failed to write a request to the runtime")]
    Request(#[from] http::Error),
    /// It ended or broke off.
    #[error("failed to speak HTTP/2 with the runtime")]
    Http(#[from] hyper::Error),
}

/// Whether it serves kubelets.
pub(super) async fn serves(stream: UnixStream) -> Result<bool, CriError> {
    stream.set_nonblocking(true)?;
    let stream = TokioIo::new(tokio::net::UnixStream::from_std(stream)?);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
    let request = Request::post(VERSION)
        .header(CONTENT_TYPE, "application/grpc")
        .header(TE, "trailers")
        .body(Full::new(Bytes::from_static(NOTHING)))?;
    let asked = async {
        let response = sender.send_request(request).await?;
        // A refusal has its status among the headers, and no trailers.
        let refused = status(response.headers());
        let body = response.into_body().collect().await?;
        Ok(refused.or_else(|| body.trailers().and_then(status)))
    };
    tokio::select! {
        answer = asked => answer.map(|status| status.as_deref() == Some(OK)),
        ended = connection => ended.map(|()| false).map_err(CriError::from),
    }
}

fn status(fields: &HeaderMap) -> Option<String> {
    let status = fields.get("grpc-status")?;
    Some(status.to_str().ok()?.to_owned())
}
