//! A proxy with its surroundings.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use sandgate_egress::limits::Limits;
use sandgate_egress::options::{Options, normalised};
use sandgate_egress::run::{Running, start};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::dns::{Dns, Say, at};
use crate::origin::{Internet, echo};

/// Where a listed host is, unless a test says otherwise.
pub const PUBLIC: &str = "1.2.3.4";

/// A proxy, its allowlist, its DNS and its internet.
pub struct Proxy {
    pub address: SocketAddr,
    pub admin: SocketAddr,
    pub dns: Arc<Dns>,
    pub internet: Internet,
    pub running: Option<Running>,
    directory: TempDir,
}

/// How a proxy is set up.
pub struct Setup {
    pub hosts: Vec<&'static str>,
    pub flags: Vec<String>,
    pub limits: Limits,
    /// A file of the test's own.
    pub allowlist: Option<PathBuf>,
    /// Another server than the test's.
    pub dns_server: Option<&'static str>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            hosts: vec!["a.example", "*.b.example"],
            flags: Vec::new(),
            limits: Limits::default(),
            allowlist: None,
            dns_server: None,
        }
    }
}

impl Proxy {
    /// Every host is at [`PUBLIC`], and there what comes is sent back.
    pub async fn echoing(setup: Setup) -> Self {
        let dns = Dns::start(|_, _, _| at(&[PUBLIC])).await;
        let proxy = Self::start(setup, dns);
        proxy.internet.put(PUBLIC, echo().await);
        proxy
    }

    /// Every host is what `say` says.
    pub async fn asking(say: Say) -> Self {
        let dns = Dns::start(move |_, _, _| say.clone()).await;
        Self::start(Setup::default(), dns)
    }

    pub fn start(setup: Setup, dns: Arc<Dns>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let allowlist = directory.path().join("allowlist.json");
        std::fs::write(&allowlist, listed(&setup.hosts)).unwrap();
        let server = setup.dns_server.map(str::to_owned);
        let server = server.unwrap_or_else(|| dns.address.to_string());
        let mut arguments: Vec<OsString> = vec![
            "sandgate-egress".into(),
            "--listen=127.0.0.1:0".into(),
            "--admin-listen=127.0.0.1:0".into(),
            "--allowlist".into(),
            setup.allowlist.unwrap_or(allowlist).into(),
            "--dns-server".into(),
            server.into(),
        ];
        arguments.extend(setup.flags.into_iter().map(OsString::from));
        let options = Options::try_parse_from(normalised(arguments)).unwrap();
        let internet = Internet::default();
        let running = start(options, setup.limits, internet.clone(), None).unwrap();
        Self {
            address: running.address,
            admin: running.admin_address,
            dns,
            internet,
            running: Some(running),
            directory,
        }
    }

    /// The file of the allowlist.
    pub fn allowlist(&self) -> PathBuf {
        self.directory.path().join("allowlist.json")
    }

    /// Replaces the allowlist as a whole, as whoever mounts it does.
    pub fn list(&self, hosts: &[&str]) {
        self.write(listed(hosts).as_bytes());
    }

    /// Replaces the file.
    pub fn write(&self, content: &[u8]) {
        let fresh = self.directory.path().join("fresh");
        std::fs::write(&fresh, content).unwrap();
        std::fs::rename(fresh, self.allowlist()).unwrap();
    }

    /// What the admin port says of `path`.
    pub async fn page(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.admin).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    /// The value of a series, such as `open_tunnels` or `requests_total{...}`.
    pub async fn metric(&self, series: &str) -> f64 {
        let page = self.page("/metrics").await;
        let begins = format!("sandgate_egress_{series} ");
        let mut lines = page.lines();
        let line = lines.find_map(|line| line.strip_prefix(&begins));
        let line = line.unwrap_or_else(|| panic!("no {series} in {page}"));
        line.parse().unwrap()
    }

    /// Waits until a series has `wanted`. No event tells it from outside of the proxy.
    pub async fn until_metric(&self, series: &str, wanted: f64) {
        let mut seen = f64::NAN;
        for _ in 0..800 {
            seen = self.metric(series).await;
            if (seen - wanted).abs() < 0.5 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{series} is {seen} and not {wanted}");
    }
}

/// The content of an allowlist.
pub fn listed(hosts: &[&str]) -> String {
    json!({ "hosts": hosts }).to_string()
}
