//! A webhook of somebody else that refuses everything it is asked about. Does I/O.

use std::convert::Infallible;
use std::sync::Arc;

use http::Response;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sandgate_e2e::Outcome;
use sandgate_e2e::pki::Authority;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// It answers until it is dropped.
pub struct ForeignWebhook {
    /// `https://127.0.0.1:<port>`
    pub url: String,
    /// Who signed its certificate, PEM.
    pub authority: String,
    serving: AbortHandle,
}

impl ForeignWebhook {
    /// Starts one.
    pub async fn start() -> Outcome<Self> {
        let authority = Authority::new()?;
        let pair = authority.server(&["127.0.0.1"])?;
        let chain = vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes())?];
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes())?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://{}", listener.local_addr()?);
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Self {
            url,
            authority: authority.certificate().to_owned(),
            serving: tokio::spawn(accept(listener, acceptor)).abort_handle(),
        })
    }
}

impl Drop for ForeignWebhook {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        connections.spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let http = hyper::server::conn::http1::Builder::new();
            let served = http.serve_connection(TokioIo::new(stream), service_fn(refuse));
            // A caller that goes away is no matter here.
            drop(served.await);
        });
    }
}

async fn refuse(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await;
    let body = body.map(http_body_util::Collected::to_bytes);
    let review: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": review["request"]["uid"],
            "allowed": false,
            "status": { "code": 403, "message": "not on our cluster" },
        },
    });
    Ok(Response::new(Full::from(answer.to_string())))
}
