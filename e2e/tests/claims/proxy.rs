//! Stands between a controller and the API server and cuts the connection at a chosen write, so that
//! the controller can be killed between any two of its requests. Does I/O.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::header::{HOST, TRANSFER_ENCODING};
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use kube::config::AuthInfo;
use sandgate_e2e::{Outcome, OwnCluster, kubeconfig};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};

/// Where the connection is cut, counted from the first write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// This write never reaches the API server.
    Before(usize),
    /// This write is carried out, and its answer never comes.
    After(usize),
    /// No cut.
    Never,
}

/// A plain HTTP server that passes on what it is asked as who asks.
pub struct Proxy {
    /// `http://127.0.0.1:<port>`
    pub server: String,
    shared: Arc<Shared>,
    serving: AbortHandle,
}

struct Shared {
    client: Client,
    watched: Mutex<Watched>,
    was_cut: Notify,
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
        let mut config = kubeconfig::config(&cluster.access().kubeconfig).await?;
        // Who asks is in each request.
        config.auth_info = AuthInfo::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let server = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            client: Client::try_from(config)?,
            watched: Mutex::new(Watched {
                namespace: String::new(),
                cut: Cut::Never,
                writes: Vec::new(),
            }),
            was_cut: Notify::new(),
        });
        let serving = tokio::spawn(accept(listener, Arc::clone(&shared))).abort_handle();
        Ok(Self {
            server,
            shared,
            serving,
        })
    }

    /// Counts writes into `namespace` from one on and cuts at the chosen one.
    pub fn watch(&self, namespace: &str, cut: Cut) {
        *self.shared.watched.lock().unwrap() = Watched {
            namespace: namespace.to_owned(),
            cut,
            writes: Vec::new(),
        };
    }

    /// Resolves once the cut was made.
    pub async fn was_cut(&self) {
        self.shared.was_cut.notified().await;
    }

    /// Method and path of the writes seen since [`Proxy::watch`].
    pub fn writes(&self) -> Vec<String> {
        self.shared.watched.lock().unwrap().writes.clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        let answer = service_fn(move |request| pass_on(Arc::clone(&shared), request));
        let http = hyper::server::conn::http1::Builder::new();
        connections.spawn(http.serve_connection(TokioIo::new(stream), answer));
    }
}

/// What is to be done with a request.
enum Fate {
    Pass,
    Swallow,
    PassAndSwallowTheAnswer,
}

impl Shared {
    fn fate(&self, request: &Request<Incoming>) -> Fate {
        let mut watched = self.watched.lock().unwrap();
        let path = request.uri().path();
        let reads = [Method::GET, Method::HEAD].contains(request.method());
        if reads || !path.contains(&format!("/namespaces/{}/", watched.namespace)) {
            return Fate::Pass;
        }
        watched.writes.push(format!("{} {path}", request.method()));
        let turn = watched.writes.len();
        match watched.cut {
            Cut::Before(cut) if cut == turn => Fate::Swallow,
            Cut::After(cut) if cut == turn => Fate::PassAndSwallowTheAnswer,
            // Nothing gets through once the cut is made.
            Cut::Before(cut) | Cut::After(cut) if turn > cut => Fate::Swallow,
            _ => Fate::Pass,
        }
    }
}

async fn pass_on(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let fate = shared.fate(&request);
    if matches!(fate, Fate::Swallow) {
        shared.was_cut.notify_one();
        std::future::pending::<()>().await;
    }
    let (mut head, body) = request.into_parts();
    head.headers.remove(HOST);
    let body = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes);
    let request = Request::from_parts(head, Body::from(body.unwrap_or_default()));
    let answer = shared.client.send(request).await;
    if matches!(fate, Fate::PassAndSwallowTheAnswer) {
        shared.was_cut.notify_one();
        std::future::pending::<()>().await;
    }
    let mut answer = answer.unwrap_or_else(|error| {
        let mut answer = Response::new(Body::from(error.to_string().into_bytes()));
        *answer.status_mut() = http::StatusCode::BAD_GATEWAY;
        answer
    });
    answer.headers_mut().remove(TRANSFER_ENCODING);
    Ok(answer)
}
