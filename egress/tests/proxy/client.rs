//! What a sandbox sends, byte by byte, and what it is answered.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// An answer of the proxy.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub phrase: String,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect("a whole head");
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap().strip_prefix("HTTP/1.1 ").unwrap();
        let (status, phrase) = first.split_once(' ').unwrap();
        let pair = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), value.to_owned())
        };
        Self {
            status: status.parse().unwrap(),
            phrase: phrase.to_owned(),
            headers: lines.map(pair).collect(),
            body: body.to_owned(),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The status and the reason, the same in header, phrase and body.
    pub fn refusal(&self) -> (u16, &str) {
        let reason = self.header("X-Omnia-Egress-Refused").expect("a reason");
        assert_eq!(self.phrase, format!("Egress refused: {reason}"));
        let begins = format!("Egress refused ({reason}): ");
        assert!(
            self.body.starts_with(&begins) && self.body.ends_with('\n'),
            "{self:?}"
        );
        assert_eq!(self.body.lines().count(), 1);
        assert_eq!(self.header("Connection"), Some("close"));
        (self.status, reason)
    }
}

/// Dials the proxy.
pub async fn dial(proxy: SocketAddr) -> TcpStream {
    TcpStream::connect(proxy).await.unwrap()
}

/// Sends `bytes`, and reads until the proxy has closed.
pub async fn answered(proxy: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = dial(proxy).await;
    stream.write_all(bytes).await.unwrap();
    refused(&mut stream).await
}

/// Reads a refusal to its end.
pub async fn refused(stream: &mut TcpStream) -> Answer {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    Answer::read(&text)
}

/// The head of a request for `target`.
pub fn connect(target: &str) -> String {
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")
}

/// Asks for `target`, which is refused.
pub async fn asked(proxy: SocketAddr, target: &str) -> Answer {
    answered(proxy, connect(target).as_bytes()).await
}

/// What a tunnel begins with, to the byte.
pub const ESTABLISHED: &str = "HTTP/1.1 200 Connection Established\r\n\r\n";

/// Reads the answer to a request that is let through; nothing behind it.
pub async fn established(stream: &mut TcpStream) {
    let mut bytes = vec![0; ESTABLISHED.len()];
    if stream.read_exact(&mut bytes).await.is_err() || bytes != ESTABLISHED.as_bytes() {
        let mut rest = Vec::new();
        let _rest = stream.read_to_end(&mut rest).await;
        bytes.extend(rest);
        panic!("no tunnel: {}", String::from_utf8_lossy(&bytes));
    }
}

/// A tunnel to `target`.
pub async fn tunnel(proxy: SocketAddr, target: &str) -> TcpStream {
    let mut stream = dial(proxy).await;
    let request = connect(target);
    stream.write_all(request.as_bytes()).await.unwrap();
    established(&mut stream).await;
    stream
}

/// Sends `text` through a tunnel to a server that sends it back.
pub async fn is_echoed(stream: &mut TcpStream, text: &str) -> bool {
    let mut back = vec![0; text.len()];
    stream.write_all(text.as_bytes()).await.is_ok()
        && stream.read_exact(&mut back).await.is_ok()
        && back == text.as_bytes()
}
