//! Lists and watches of one object by its name: what happened to it after a version, and what happens.

use std::convert::Infallible;

use futures::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::json;
use tokio::sync::watch;

use super::history::Happened;
use super::state::is_in;
use super::{Answer, Fake};

/// What a request to a collection asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// The only name of interest.
    pub(super) name: Option<String>,
    /// The version after which a watch begins; `None` if it is a list.
    pub(super) watch_after: Option<u64>,
    /// How many of a list at most.
    pub(super) limit: Option<usize>,
    /// How many of it were told before.
    pub(super) from: usize,
}

impl Asked {
    pub(super) fn read(query: &str) -> Self {
        let field = |name: &str| query.split('&').find_map(|it| it.strip_prefix(name));
        let watches = field("watch=") == Some("true");
        let version = field("resourceVersion=").filter(|_| watches);
        Self {
            name: field("fieldSelector=metadata.name%3D").map(str::to_owned),
            watch_after: version.map(|version| version.parse().unwrap()),
            limit: field("limit=").map(|limit| limit.parse().unwrap()),
            from: field("continue=").map_or(0, |from| from.parse().unwrap()),
        }
    }

    /// Whether an object at `path` is of interest to who asks of `collection`.
    pub(super) fn wants(&self, path: &str, collection: &str) -> bool {
        let name = self.name.as_deref();
        let named = |name: &str| path.rsplit('/').next() == Some(name);
        is_in(path, collection) && name.is_none_or(named)
    }
}

/// A watch that goes on for ever. While the server is cut off it tells nothing.
struct Watching {
    server: Fake,
    collection: String,
    asked: Asked,
    /// How much of the history it has been through.
    read: usize,
    woken: watch::Receiver<()>,
}

pub(super) fn body(server: &Fake, collection: &str, asked: Asked) -> Answer {
    let state = server.0.lock().unwrap();
    let after = asked.watch_after.unwrap_or_default();
    let (collection, woken) = (collection.to_owned(), state.woken.subscribe());
    let read = state.history.partition_point(|it| it.version() <= after);
    let watching = Watching {
        server: server.clone(),
        collection,
        asked,
        read,
        woken,
    };
    StreamBody::new(stream::unfold(watching, next)).boxed_unsync()
}

async fn next(mut watching: Watching) -> Option<(Result<Frame<Bytes>, Infallible>, Watching)> {
    loop {
        if let Some(happened) = watching.take() {
            let what = if happened.gone { "DELETED" } else { "MODIFIED" };
            let line = format!("{}\n", json!({"type": what, "object": &*happened.object}));
            return Some((Ok(Frame::data(line.into())), watching));
        }
        watching.woken.changed().await.ok()?;
    }
}

impl Watching {
    fn take(&mut self) -> Option<Happened> {
        let state = self.server.0.lock().unwrap();
        let all = state.history.get(self.read..).filter(|_| !state.cut)?;
        let wanted = |it: &Happened| self.asked.wants(&it.path, &self.collection);
        let at = all.iter().position(wanted)?;
        let happened = all.get(at).cloned();
        self.read += at + 1;
        happened
    }
}
