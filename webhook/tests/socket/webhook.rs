//! A running webhook with certificates of its own.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Parser as _;
use rustls::pki_types::CertificateDer;
use sandgate_certs::directory::{TlsDirectory, TlsFiles};
use sandgate_certs::issue::{self, Lifetimes};
use sandgate_certs::store::Authority;
use sandgate_shared::rules::{Attempt, Verdict};
use sandgate_webhook::options::Options;
use sandgate_webhook::review::Judge;
use sandgate_webhook::run::{self, Running};
use sandgate_webhook::server::Limits;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{self, Answer, PATIENCE, Tls};

pub const UID: &str = "705ab4f5-6393-11e8-b7cc-42010a800002";
pub const NAME: &str = "sandgate-webhook.sandgate-system.svc";

/// Judges nothing to be wrong.
pub fn admits(_: &Attempt<'_>) -> Verdict {
    Verdict::default()
}

/// A review of a creation, as the API server writes it: the uid early, the object late.
pub fn review(spec: &Value) -> String {
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"{UID}",{}"#,
        json!({
            "kind": {"group": "omnia.altairalabs.ai", "version": "v1alpha1", "kind": "SandboxClaim"},
            "resource": {
                "group": "omnia.altairalabs.ai", "version": "v1alpha1", "resource": "sandboxclaims",
            },
            "name": "one",
            "namespace": "team",
            "operation": "CREATE",
            "userInfo": {"username": "alice"},
            "object": {
                "apiVersion": "omnia.altairalabs.ai/v1alpha1",
                "kind": "SandboxClaim",
                "metadata": {"name": "one", "namespace": "team"},
                "spec": spec,
            },
            "oldObject": null,
        })
        .to_string()
        .trim_start_matches('{')
    ) + "}"
}

/// A review whose body is about `size` bytes long.
pub fn review_of(size: usize) -> String {
    review(&json!({"padding": "x".repeat(size)}))
}

/// How a test's webhook differs from the usual one.
#[derive(Clone, Copy)]
pub struct Setup {
    pub limits: Limits,
    pub drain: &'static str,
    pub listen: &'static str,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            drain: "1ms",
            listen: "127.0.0.1:0",
        }
    }
}

pub struct Webhook {
    pub running: Running,
    pub directory: TlsDirectory,
    pub authority: Authority,
    _place: TempDir,
}

impl Webhook {
    /// Serving and ready.
    pub async fn start(judge: impl Judge) -> Self {
        Self::start_with(judge, Setup::default()).await
    }

    /// The same; told to stop, it answers on for as long as `drain` says.
    pub async fn start_draining(drain: &'static str) -> Self {
        let setup = Setup {
            drain,
            ..Setup::default()
        };
        Self::start_with(admits, setup).await
    }

    pub async fn start_with(judge: impl Judge, setup: Setup) -> Self {
        let webhook = Self::start_bare(judge, setup);
        webhook
            .directory
            .write(&files(&webhook.authority, &[NAME, "127.0.0.1"]))
            .unwrap();
        webhook.until_ready().await;
        webhook
    }

    /// Serving with an empty TLS directory.
    pub fn start_bare(judge: impl Judge, setup: Setup) -> Self {
        let place = tempfile::tempdir().unwrap();
        let authority =
            issue::authority(Lifetimes::default().authority, SystemTime::now()).unwrap();
        let options = Options::parse_from([
            "sandgate-webhook",
            "--listen",
            setup.listen,
            "--health-listen",
            "127.0.0.1:0",
            "--tls-dir",
            place.path().to_str().unwrap(),
            "--tls-interval",
            "20ms",
            "--operator-username",
            "system:serviceaccount:sandgate-system:sandgate-controller",
            "--drain",
            setup.drain,
        ]);
        let running = run::start(&options, Arc::new(judge), setup.limits).unwrap();
        let directory = TlsDirectory::new(place.path());
        Self {
            running,
            directory,
            authority,
            _place: place,
        }
    }

    pub async fn connect(&self) -> Tls {
        self.try_connect().await.unwrap()
    }

    pub async fn try_connect(&self) -> std::io::Result<Tls> {
        let authority: CertificateDer<'static> = self.authority.certificate.der().clone();
        client::connect(self.running.address, &authority, NAME, &["http/1.1"]).await
    }

    pub async fn health(&self, path: &str) -> Answer {
        client::connect_plain(self.running.health_address)
            .await
            .get(path)
            .await
    }

    pub async fn until_ready(&self) {
        self.until("ready", async || self.health("/readyz").await.code == 200)
            .await;
    }

    /// Waits until `holds`: what a poll of files does has no event to wait for.
    pub async fn until(&self, what: &str, holds: impl AsyncFn() -> bool) {
        let waiting = async {
            while !holds().await {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting)
            .await
            .unwrap_or_else(|_| panic!("never: {what}"));
    }

    /// The value of a metric without labels.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = self.health("/metrics").await.text();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in\n{text}"))
            .parse()
            .unwrap()
    }
}

/// A fresh leaf of `authority` for `names`, and the bundle and names that go with it.
pub fn files(authority: &Authority, names: &[&str]) -> TlsFiles {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let leaf = issue::leaf(
        authority,
        &names,
        Lifetimes::default().leaf,
        SystemTime::now(),
    )
    .unwrap();
    TlsFiles {
        certificate: leaf.certificate.pem(),
        key: leaf.key,
        authorities: authority.certificate.pem(),
        server_names: names,
    }
}
