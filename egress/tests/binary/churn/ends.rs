//! Both ends of a tunnel: a server that sends back what it gets, and a client that judges what comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use socket2::SockRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::fate::{COMING_AND_GOING, End, Fate, HEADER};

/// What became of a tunnel, as its client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// There was none.
    Refused,
    /// All came back as it went, and the server's hash is the client's.
    Whole,
    /// It was broken off, and the client was told so.
    Broken,
}

/// Sends back to each client what it sends, and the hash of it when it is done. Counts in `short` the
/// clients that seemed to be done before they were.
pub async fn answer(listener: TcpListener, short: Arc<AtomicUsize>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let short = Arc::clone(&short);
        tokio::spawn(async move {
            // What the proxy breaks off is an error, which is as it should be.
            let _broken = echo(stream, &short).await;
        });
    }
}

async fn echo(mut stream: TcpStream, short: &AtomicUsize) -> std::io::Result<()> {
    let mut header = [0; HEADER];
    stream.read_exact(&mut header).await?;
    let (broken_after, length) = Fate::of_header(header);
    let (mut hash, mut seen) = (Sha256::new(), 0);
    let mut piece = vec![0; 16 * 1024];
    while seen < broken_after {
        let count = stream.read(&mut piece).await?;
        if count == 0 {
            if seen != length {
                short.fetch_add(1, Ordering::Relaxed);
            }
            return stream.write_all(&hash.finalize()).await;
        }
        seen += count;
        hash.update(&piece[..count]);
        stream.write_all(&piece[..count]).await?;
    }
    SockRef::from(&stream).set_linger(Some(Duration::ZERO))
}

/// A tunnel to `host`, if the proxy lets it be.
pub async fn tunnel(host: &str) -> Option<TcpStream> {
    let mut stream = TcpStream::connect("127.0.0.1:3128").await.unwrap();
    let request = format!("CONNECT {host}:443 HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = [0; 39];
    stream.read_exact(&mut answer).await.ok()?;
    (&answer == b"HTTP/1.1 200 Connection Established\r\n\r\n").then_some(stream)
}

/// Goes through a tunnel as `fate` has it, and judges what came.
pub async fn live(fate: &Fate) -> Became {
    let Some(stream) = tunnel(fate.host).await else {
        assert_eq!(fate.host, COMING_AND_GOING, "it is always on the list");
        return Became::Refused;
    };
    go_through(stream, fate).await
}

/// The same, through a tunnel that is there.
pub async fn go_through(mut stream: TcpStream, fate: &Fate) -> Became {
    let mut got = Vec::new();
    let (mut read, mut write) = stream.split();
    let reading = read.read_to_end(&mut got);
    let writing = async {
        write.write_all(&fate.header()).await?;
        let count = match fate.end {
            End::Client(count) => count,
            End::Whole | End::Server(_) => fate.bytes.len(),
        };
        write.write_all(&fate.bytes[..count]).await?;
        if fate.end == End::Whole {
            write.shutdown().await?;
        }
        std::io::Result::Ok(())
    };
    let broken = if matches!(fate.end, End::Client(_)) {
        tokio::select! {
            _ = reading => {}
            _ = writing => {}
        }
        SockRef::from(&stream)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
        true
    } else {
        // The kernel tells a reset once, to whoever asks first.
        let (read, written) = tokio::join!(reading, writing);
        read.is_err() || written.is_err()
    };
    let whole = [&fate.bytes, Sha256::digest(&fate.bytes).as_slice()].concat();
    assert!(whole.starts_with(&got), "other bytes came back: {fate:?}");
    if !broken {
        assert_eq!(got.len(), whole.len(), "cut short, and not told: {fate:?}");
        return Became::Whole;
    }
    let may_break = fate.end != End::Whole || fate.host == COMING_AND_GOING;
    assert!(may_break, "nobody broke it off: {fate:?}");
    Became::Broken
}
