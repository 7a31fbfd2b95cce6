//! What may happen to a request. Data only.

use std::time::Duration;

use futures::future::{self, BoxFuture};
use http::StatusCode;

use super::Asked;

/// What happens to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is passed on, and so is its answer.
    None,
    /// It is passed on this much later.
    Late(Duration),
    /// It is passed on once [`Fate::let_go`] has resolved.
    Held,
    /// The connection ends before the API server hears of it.
    Lost,
    /// The API server carries it out; the connection ends before the answer.
    AnswerLost,
    /// The API server never hears of it, and nobody says so.
    Unheard,
    /// The API server carries it out, and nobody says so.
    Unanswered,
    /// The API server hears of it twice; the second answer is passed on.
    Twice,
    /// It is answered like this, in place of the API server.
    Refused(StatusCode),
    /// A list answered by what the same question was answered with before, if it ever was.
    Stale,
    /// A watch that ends after this time.
    CutAfter(Duration),
    /// A watch whose events each come this much later, in order.
    Lagging(Duration),
}

/// Decides what happens to requests.
pub trait Fate: Send + Sync + 'static {
    /// Asked once for each request, in the order they come in.
    fn fault(&self, asked: &Asked) -> Fault;

    /// Called when a request is left without an answer for good: what was to become of it has become.
    fn left_unanswered(&self) {}

    /// Called when a request is held, and awaited.
    fn let_go(&self) -> BoxFuture<'_, ()> {
        Box::pin(future::ready(()))
    }
}
