//! Stands between a controller and the API server and spoils what passes, as whoever started it says.
//! Does I/O.

mod asked;
mod carried;
mod fault;
mod schedule;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::config::AuthInfo;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::cluster::Cluster;
use crate::failure::Outcome;
use crate::kubeconfig;

pub use asked::{Asked, Question};
pub use fault::{Fate, Fault};
pub use schedule::Schedule;

/// A plain HTTP server that passes on what it is asked as who asks.
pub struct Proxy {
    /// `http://127.0.0.1:<port>`
    pub server: String,
    address: SocketAddr,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

struct Shared {
    client: Client,
    fate: Arc<dyn Fate>,
    lists: carried::Lists,
}

impl Proxy {
    /// Starts one in front of the cluster's API server; `fate` is asked once for each request.
    pub async fn start(cluster: &Cluster, fate: Arc<dyn Fate>) -> Outcome<Self> {
        let mut config = kubeconfig::config(&cluster.access().kubeconfig).await?;
        // Who asks is in each request.
        config.auth_info = AuthInfo::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            client: Client::try_from(config)?,
            fate,
            lists: carried::Lists::default(),
        });
        let serving = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            server: format!("http://{address}"),
            address,
            shared,
            serving,
        })
    }

    /// Ends every connection and refuses new ones, until [`Proxy::come_back`].
    pub async fn go_away(&mut self) {
        self.serving.abort();
        // An abort is the only way it ends.
        drop((&mut self.serving).await);
    }

    /// Listens again where it did.
    pub async fn come_back(&mut self) -> io::Result<()> {
        let listener = TcpListener::bind(self.address).await?;
        self.serving = tokio::spawn(accept(listener, Arc::clone(&self.shared)));
        Ok(())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Connections end with this.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { return };
                let shared = Arc::clone(&shared);
                let answer = service_fn(move |request| {
                    let shared = Arc::clone(&shared);
                    async move { shared.answer(request).await }
                });
                let http = hyper::server::conn::http1::Builder::new();
                connections.spawn(http.serve_connection(TokioIo::new(stream), answer));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
