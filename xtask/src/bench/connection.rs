//! One keep-alive TLS connection to the webhook, as an API server holds many. Does network I/O.
//!
//! Times are taken where bytes enter and leave the socket, so that what our own decryption costs is
//! not counted as the webhook's.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// As long as an API server waits by default.
const PATIENCE: Duration = Duration::from_secs(10);

/// No answer of the webhook's comes near it.
const LARGEST_ANSWER: usize = 64 * 1024;

/// A socket that notes when bytes pass.
#[derive(Debug)]
struct Stamped {
    socket: TcpStream,
    last_written: Instant,
    first_read: Option<Instant>,
}

impl Read for Stamped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.socket.read(buffer)?;
        self.first_read.get_or_insert_with(Instant::now);
        Ok(count)
    }
}

impl Write for Stamped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.socket.write(bytes)?;
        self.last_written = Instant::now();
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    stream: StreamOwned<ClientConnection, Stamped>,
    answer: Vec<u8>,
}

/// A client's TLS that trusts `authority` (PEM) alone.
pub fn trusting(authority: &str) -> anyhow::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

impl Connection {
    /// Connects and shakes hands.
    pub fn open(address: SocketAddr, tls: &Arc<ClientConfig>) -> anyhow::Result<Self> {
        let socket = TcpStream::connect_timeout(&address, PATIENCE)
            .with_context(|| format!("failed to connect to the webhook at {address}"))?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let mut session =
            ClientConnection::new(Arc::clone(tls), ServerName::IpAddress(address.ip().into()))?;
        let mut stamped = Stamped {
            socket,
            last_written: Instant::now(),
            first_read: None,
        };
        while session.is_handshaking() {
            session
                .complete_io(&mut stamped)
                .context("failed to shake hands with the webhook")?;
        }
        Ok(Self {
            stream: StreamOwned::new(session, stamped),
            answer: Vec::new(),
        })
    }

    /// Sends a whole request and reads the whole answer, which must admit what was asked. Returns the
    /// time from the last byte of the request to the first of the answer.
    pub fn exchange(&mut self, request: &[u8]) -> anyhow::Result<Duration> {
        self.stream
            .write_all(request)
            .and_then(|()| self.stream.flush())
            .context("failed to send a review")?;
        self.stream.sock.first_read = None;
        self.read_answer()?;
        let sent = self.stream.sock.last_written;
        let first = self
            .stream
            .sock
            .first_read
            .context("an answer came before it was read")?;
        Ok(first.saturating_duration_since(sent))
    }

    fn read_answer(&mut self) -> anyhow::Result<()> {
        self.answer.clear();
        let mut chunk = [0; 8192];
        loop {
            let count = self
                .stream
                .read(&mut chunk)
                .context("failed to read the webhook's answer")?;
            if count == 0 {
                bail!("the webhook closed a connection that was in use");
            }
            self.answer
                .extend_from_slice(chunk.get(..count).unwrap_or_default());
            if self.answer.len() > LARGEST_ANSWER {
                bail!("the webhook's answer does not end");
            }
            if let Some(whole) = Answer::parse(&self.answer) {
                return whole.admits();
            }
        }
    }
}

/// An HTTP answer with its body.
#[derive(Debug, PartialEq, Eq)]
struct Answer<'a> {
    head: &'a str,
    body: &'a str,
}

impl<'a> Answer<'a> {
    /// The answer if it is there whole.
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length: usize = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse().ok())?
        })?;
        (body.len() >= length).then_some(Self { head, body })
    }

    /// An error unless it is a 200 that says `allowed`: a refusal would be another measurement.
    fn admits(&self) -> anyhow::Result<()> {
        if self.head.starts_with("HTTP/1.1 200") && self.body.contains(r#""allowed":true"#) {
            return Ok(());
        }
        let status = self.head.lines().next().unwrap_or_default();
        bail!(
            "the webhook did not admit a review: {status}: {}",
            self.body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"allowed\":true}";

    #[test]
    fn an_answer_is_read_when_its_last_byte_is_there() {
        let answer = Answer::parse(WHOLE.as_bytes()).unwrap();
        assert_eq!(answer.body, "{\"allowed\":true}");
        answer.admits().unwrap();
        for end in 0..WHOLE.len() {
            assert_eq!(Answer::parse(&WHOLE.as_bytes()[..end]), None, "{end}");
        }
    }

    #[test]
    fn a_refusal_is_an_error_that_shows_it() {
        for wrong in [
            WHOLE.replace("true}", "null}"),
            WHOLE.replace("200 OK", "500 No"),
        ] {
            let answer = Answer::parse(wrong.as_bytes()).unwrap();
            let error = answer.admits().unwrap_err().to_string();
            assert!(error.contains("did not admit"), "{error}");
        }
    }
}
