//! A client that says exactly what a test wants said.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Longer than anything a test waits for on purpose.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// An HTTP answer.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// The `AdmissionReview` in it.
    pub fn review(&self) -> Value {
        assert_eq!(self.code, 200, "{}", self.text());
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub fn closes(&self) -> bool {
        self.head
            .to_ascii_lowercase()
            .contains("\r\nconnection: close")
    }
}

/// One HTTP/1.1 connection.
pub struct Connection<S> {
    pub stream: S,
}

pub type Tls = Connection<TlsStream<TcpStream>>;

/// Connects over TLS, trusting `authority` and expecting `name`.
pub async fn connect(
    address: SocketAddr,
    authority: &CertificateDer<'static>,
    name: &str,
    protocols: &[&str],
) -> std::io::Result<Tls> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    connect_by(address, config, name).await
}

/// Connects over TLS as `config` says, expecting `name`.
pub async fn connect_by(
    address: SocketAddr,
    config: ClientConfig,
    name: &str,
) -> std::io::Result<Tls> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let stream = TcpStream::connect(address).await?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await?;
    Ok(Connection { stream })
}

/// Connects without TLS.
pub async fn connect_plain(address: SocketAddr) -> Connection<TcpStream> {
    Connection {
        stream: TcpStream::connect(address).await.unwrap(),
    }
}

impl Tls {
    /// The leaf this connection was made with.
    pub fn leaf(&self) -> CertificateDer<'static> {
        let (_, session) = self.stream.get_ref();
        session.peer_certificates().unwrap()[0].clone().into_owned()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub async fn post(&mut self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        self.post_with(path, "content-type: application/json\r\n", body)
            .await
    }

    /// Posts with these headers, each with the end of its line.
    pub async fn post_with(&mut self, path: &str, headers: &str, body: impl AsRef<[u8]>) -> Answer {
        let body = body.as_ref();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: webhook\r\n{headers}content-length: {}\r\n\r\n",
            body.len()
        );
        self.send(head.as_bytes()).await;
        self.send(body).await;
        self.answer()
            .await
            .expect("the connection was closed without an answer")
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        self.request("GET", path).await
    }

    pub async fn request(&mut self, method: &str, path: &str) -> Answer {
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: webhook\r\ncontent-length: 0\r\n\r\n");
        self.send(head.as_bytes()).await;
        self.answer()
            .await
            .expect("the connection was closed without an answer")
    }

    /// Sends bytes; a server that has already gone is for the answer to tell.
    pub async fn send(&mut self, bytes: &[u8]) {
        let sending = async {
            if self.stream.write_all(bytes).await.is_ok() {
                let _ = self.stream.flush().await;
            }
        };
        tokio::time::timeout(PATIENCE, sending)
            .await
            .expect("the server does not read");
    }

    /// The next answer; `None` if the server closes instead.
    pub async fn answer(&mut self) -> Option<Answer> {
        tokio::time::timeout(PATIENCE, self.read_answer())
            .await
            .expect("no answer in time")
    }

    async fn read_answer(&mut self) -> Option<Answer> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.stream.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).unwrap();
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = head
            .to_ascii_lowercase()
            .lines()
            .find_map(|line| {
                line.strip_prefix("content-length: ")
                    .map(|n| n.parse().unwrap())
            })
            .unwrap_or(0);
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.ok()?;
        Some(Answer { code, head, body })
    }
}

/// Waits until the readiness at `health` fails, as it does from a stop on; the last such answer.
pub async fn until_unready(health: SocketAddr) -> Answer {
    let unready = async {
        loop {
            let answer = connect_plain(health).await.get("/readyz").await;
            if answer.code == 503 {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, unready)
        .await
        .expect("stays ready")
}
