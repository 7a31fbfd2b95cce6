//! A mutating webhook that is not ours: answers every review with one patch. Does I/O.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
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

/// One that serves several patches, each at a path of its own.
pub struct ForeignWebhook {
    url: String,
    authority: String,
    shared: Arc<Shared>,
    serving: AbortHandle,
}

struct Shared {
    patches: BTreeMap<&'static str, Value>,
    calls: Mutex<BTreeMap<String, usize>>,
}

impl ForeignWebhook {
    /// Starts one on loopback, under a certificate authority of its own. Patches are RFC 6902.
    pub async fn start(patches: BTreeMap<&'static str, Value>) -> Outcome<Self> {
        let authority = Authority::new()?;
        let pair = authority.server(&["127.0.0.1"])?;
        let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes())?;
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes())?;
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            patches,
            calls: Mutex::default(),
        });
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let serving = tokio::spawn(accept(listener, acceptor, Arc::clone(&shared)));
        Ok(Self {
            url,
            authority: authority.certificate().to_owned(),
            shared,
            serving: serving.abort_handle(),
        })
    }

    /// A configuration called `name` that asks for the patch at `path` for claims with the label
    /// `platform` of that value.
    pub fn configuration(&self, name: &str, path: &str) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": { "name": name },
            "webhooks": [{
                "name": format!("{path}.platform.test"),
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "clientConfig": {
                    "url": format!("{}/{path}", self.url),
                    "caBundle": BASE64_STANDARD.encode(&self.authority),
                },
                "objectSelector": { "matchLabels": { "platform": path } },
                "rules": [{
                    "apiGroups": [sandgate_shared::names::GROUP],
                    "apiVersions": ["*"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["sandboxclaims"],
                }],
            }],
        })
    }

    /// How often the patch at `path` was asked for.
    pub fn calls(&self, path: &str) -> usize {
        let calls = self.shared.calls.lock().unwrap();
        calls.get(path).copied().unwrap_or_default()
    }
}

impl Drop for ForeignWebhook {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
        connections.spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let answer = service_fn(move |request| patched(Arc::clone(&shared), request));
            let http = hyper::server::conn::http1::Builder::new();
            // Whoever asks ends the connection, whichever way.
            drop(http.serve_connection(TokioIo::new(stream), answer).await);
        });
    }
}

async fn patched(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let operations = shared.patches[path.as_str()].to_string();
    *shared.calls.lock().unwrap().entry(path).or_default() += 1;
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": review["request"]["uid"],
            "allowed": true,
            "patchType": "JSONPatch",
            "patch": BASE64_STANDARD.encode(operations),
        },
    });
    let mut response = Response::new(Full::from(answer.to_string()));
    let kind = http::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, kind);
    Ok(response)
}
