//! Time limits on what a client sends between requests: a long one while nothing has come, a short one
//! once a request has begun. While a request is being answered its handler sets the limits.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Counts the beginnings and ends of requests on one connection: odd while one is being answered.
#[derive(Debug, Default)]
pub(super) struct Pace(AtomicU64);

impl Pace {
    pub fn begin(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn end(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A stream whose reads fail with `TimedOut` when the client is too slow.
pub(super) struct Paced<S> {
    stream: S,
    pace: Arc<Pace>,
    seen: u64,
    in_head: bool,
    head: Duration,
    idle: Duration,
    limit: Pin<Box<Sleep>>,
}

impl<S> Paced<S> {
    pub fn new(stream: S, pace: Arc<Pace>, head: Duration, idle: Duration) -> Self {
        let limit = Box::pin(tokio::time::sleep(idle));
        Self {
            stream,
            pace,
            seen: 0,
            in_head: false,
            head,
            idle,
            limit,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        let now = this.pace.0.load(Ordering::Relaxed);
        if now != this.seen {
            this.seen = now;
            this.in_head = false;
            this.limit.as_mut().reset(Instant::now() + this.idle);
        }
        let answering = now % 2 == 1;
        if answering {
            return read;
        }
        if read.is_ready() {
            if !this.in_head && buffer.filled().len() > before {
                this.in_head = true;
                this.limit.as_mut().reset(Instant::now() + this.head);
            }
            return read;
        }
        ready!(this.limit.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
