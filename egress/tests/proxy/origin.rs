//! Servers that stand for addresses of the internet.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use sandgate_egress::dial::Connect;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// What is at an address.
#[derive(Clone, Copy)]
enum There {
    Server(SocketAddr),
    Nobody,
    /// A server that says it is elsewhere.
    Elsewhere(SocketAddr, SocketAddr),
}

type Meanwhile = Box<dyn FnOnce() + Send>;

/// The internet as the proxy sees it: only what a test has put there.
#[derive(Clone, Default)]
pub struct Internet {
    there: Arc<Mutex<HashMap<SocketAddr, There>>>,
    dialled: Arc<Mutex<Vec<SocketAddr>>>,
    meanwhile: Arc<Mutex<Option<Meanwhile>>>,
}

impl Internet {
    /// Puts `server` at `address`, port 443.
    pub fn put(&self, address: &str, server: SocketAddr) {
        self.set(address, There::Server(server));
    }

    /// Puts a black hole at `address`.
    pub fn swallow(&self, address: &str) {
        self.set(address, There::Nobody);
    }

    /// Puts `server` at `address`, answering as `other`.
    pub fn pretend(&self, address: &str, server: SocketAddr, other: &str) {
        self.set(address, There::Elsewhere(server, other.parse().unwrap()));
    }

    /// Does this once between a connection and whoever asked for it, who waits.
    pub fn meanwhile(&self, this: impl FnOnce() + Send + 'static) {
        *self.meanwhile.lock().unwrap() = Some(Box::new(this));
    }

    fn set(&self, address: &str, there: There) {
        let address = SocketAddr::new(address.parse().unwrap(), 443);
        self.there.lock().unwrap().insert(address, there);
    }

    /// What was dialled, in order.
    pub fn dialled(&self) -> Vec<String> {
        let dialled = self.dialled.lock().unwrap();
        dialled.iter().map(ToString::to_string).collect()
    }
}

impl Connect for Internet {
    type Stream = TcpStream;

    async fn connect(&self, address: SocketAddr) -> io::Result<(TcpStream, SocketAddr)> {
        self.dialled.lock().unwrap().push(address);
        let there = self.there.lock().unwrap().get(&address).copied();
        match there {
            Some(There::Server(server)) => {
                let stream = TcpStream::connect(server).await?;
                let meanwhile = self.meanwhile.lock().unwrap().take();
                if let Some(this) = meanwhile {
                    this();
                }
                Ok((stream, address))
            }
            Some(There::Elsewhere(server, other)) => Ok((TcpStream::connect(server).await?, other)),
            Some(There::Nobody) => std::future::pending().await,
            None => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}

/// A server that hands each connection to the test.
pub struct Origin {
    pub address: SocketAddr,
    connections: mpsc::UnboundedReceiver<TcpStream>,
}

impl Origin {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (send, connections) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if send.send(stream).is_err() {
                    return;
                }
            }
        });
        Self {
            address,
            connections,
        }
    }

    /// The next connection.
    pub async fn next(&mut self) -> TcpStream {
        self.connections.recv().await.unwrap()
    }
}

/// A server that sends back what it gets, until it gets no more.
pub async fn echo() -> SocketAddr {
    let mut origin = Origin::start().await;
    let address = origin.address;
    tokio::spawn(async move {
        loop {
            let mut stream = origin.next().await;
            tokio::spawn(async move {
                let mut bytes = vec![0; 64 * 1024];
                while let Ok(count @ 1..) = stream.read(&mut bytes).await {
                    if stream.write_all(&bytes[..count]).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}
