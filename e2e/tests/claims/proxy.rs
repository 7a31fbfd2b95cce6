//! A proxy between a controller and the API server that cuts the connection at a chosen write, so that
//! the controller can be killed between any two of its requests. Does I/O.

use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Method;
use sandgate_e2e::fault_proxy::{self, Asked, Fate, Fault};
use sandgate_e2e::{Outcome, OwnCluster};
use tokio::sync::Notify;

/// Where the connection is cut, counted from the first write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// This write never reaches the API server.
    Before(usize),
    /// This write is carried out, and its answer never comes.
    After(usize),
    /// This write is held until [`Proxy::let_go`], and then carried out.
    Held(usize),
    /// No cut.
    Never,
}

/// A proxy with scissors.
pub struct Proxy {
    /// `http://127.0.0.1:<port>`
    pub server: String,
    scissors: Arc<Scissors>,
    _passes_on: fault_proxy::Proxy,
}

struct Scissors {
    watched: Mutex<Watched>,
    was_cut: Notify,
    let_go: Notify,
}

/// Only writes into this namespace count.
struct Watched {
    namespace: String,
    cut: Cut,
    writes: Vec<String>,
}

impl Proxy {
    /// Starts one in front of the cluster's API server.
    pub async fn start(cluster: &OwnCluster) -> Outcome<Self> {
        let scissors = Arc::new(Scissors {
            watched: Mutex::new(Watched {
                namespace: String::new(),
                cut: Cut::Never,
                writes: Vec::new(),
            }),
            was_cut: Notify::new(),
            let_go: Notify::new(),
        });
        let fate = Arc::clone(&scissors) as Arc<dyn Fate>;
        let proxy = fault_proxy::Proxy::start(cluster, fate).await?;
        Ok(Self {
            server: proxy.server.clone(),
            scissors,
            _passes_on: proxy,
        })
    }

    /// Counts writes into `namespace` from one on and cuts at the chosen one.
    pub fn watch(&self, namespace: &str, cut: Cut) {
        *self.scissors.watched.lock().unwrap() = Watched {
            namespace: namespace.to_owned(),
            cut,
            writes: Vec::new(),
        };
        // What an earlier controller was still waiting for says nothing of this one.
        let _earlier = self.scissors.was_cut.notified().now_or_never();
        let _earlier = self.scissors.let_go.notified().now_or_never();
    }

    /// Passes everything on from now on.
    pub fn pass_all_on(&self) {
        self.scissors.watched.lock().unwrap().cut = Cut::Never;
    }

    /// Passes on what is held.
    pub fn let_go(&self) {
        self.scissors.let_go.notify_one();
    }

    /// Resolves once the cut was made.
    pub async fn was_cut(&self) {
        self.scissors.was_cut.notified().await;
    }

    /// The writes seen since [`Proxy::watch`], as `PUT deployments`.
    pub fn writes(&self) -> Vec<String> {
        self.scissors.watched.lock().unwrap().writes.clone()
    }
}

impl Fate for Scissors {
    fn fault(&self, asked: &Asked) -> Fault {
        let mut watched = self.watched.lock().unwrap();
        let reads = [Method::GET, Method::HEAD].contains(&asked.method);
        if reads
            || !asked
                .path
                .contains(&format!("/namespaces/{}/", watched.namespace))
        {
            return Fault::None;
        }
        watched.writes.push(sentence(asked));
        let turn = watched.writes.len();
        match watched.cut {
            Cut::After(cut) if cut == turn => Fault::Unanswered,
            Cut::Held(cut) if cut == turn => Fault::Held,
            // Nothing gets through once the cut is made.
            Cut::Before(cut) | Cut::After(cut) if turn >= cut => Fault::Unheard,
            _ => Fault::None,
        }
    }

    fn left_unanswered(&self) {
        self.was_cut.notify_one();
    }

    fn let_go(&self) -> BoxFuture<'_, ()> {
        self.was_cut.notify_one();
        Box::pin(self.let_go.notified())
    }
}

/// The verb, and the resource without the name of the object.
fn sentence(asked: &Asked) -> String {
    let below = asked.path.split("/namespaces/").last().unwrap_or_default();
    let parts: Vec<&str> = below.split('/').collect();
    let resource = match parts[..] {
        [_, resource, _, subresource] => format!("{resource}/{subresource}"),
        [_, resource, ..] => resource.to_owned(),
        _ => below.to_owned(),
    };
    let dry_run = if asked.query.contains("dryRun=") {
        " as a dry run"
    } else {
        ""
    };
    format!("{} {resource}{dry_run}", asked.method)
}
