//! HTTP/1.1 on one connection. Does network I/O.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::pace::{Pace, Paced};
use super::{Handler, Lifecycle, Limits};

/// Room for a request's head and for reading a body piece by piece.
const BUFFER: usize = 64 * 1024;

/// Serves requests until the client leaves, is too slow, or the server stops.
pub(super) async fn serve<H, S>(
    stream: S,
    handler: H,
    limits: Limits,
    lifecycle: &Lifecycle,
) -> Result<(), hyper::Error>
where
    H: Handler,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let pace = Arc::new(Pace::default());
    let paced = Paced::new(stream, Arc::clone(&pace), limits.head, limits.idle);
    let service = service_fn(move |request: Request<Incoming>| {
        let (handler, pace) = (handler.clone(), Arc::clone(&pace));
        let draining = lifecycle.draining.clone();
        // On the heap while there is a request: a connection keeps room for what answers it even when
        // it is idle, as nearly all are.
        Box::pin(async move {
            pace.begin();
            let mut response = handler.handle(request).await;
            pace.end();
            if draining.is_cancelled() {
                response
                    .headers_mut()
                    .insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        })
    });
    let mut builder = http1::Builder::new();
    // hyper's own limit starts when a connection falls idle, so it would close idle ones as fast as slow
    // ones; `Paced` tells the two apart.
    builder.header_read_timeout(None).max_buf_size(BUFFER);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(paced), service));
    tokio::select! {
        ended = connection.as_mut() => ended,
        () = lifecycle.stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    }
}
