//! The server behind all proxies. The first byte that comes says what it is to do. Does network I/O on
//! threads of its own, which are born where it is started.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::Context;

use super::tunnel::{self, HOSTS, PORT};

/// Sends back what comes after this byte.
pub const ECHO: u8 = b'e';
/// Sends until nobody reads any more.
pub const STREAM: u8 = b's';
/// Reads to the end, then answers with [`ANSWER`] bytes.
pub const LISTEN: u8 = b'l';
/// Sends this byte back, and nothing after it.
pub const HOLD: u8 = b'h';

/// How much is answered to who has said all; more than what sockets keep by themselves.
pub const ANSWER: usize = 200_000;

/// Threads for each address. As many can be busy at once, besides those that are only held.
const THREADS: usize = 8;

/// What is written at once.
const CHUNK: usize = 256 * 1024;

/// The running server; it ends when dropped.
#[derive(Debug)]
pub struct Origin {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    ends: AtomicBool,
    held: Mutex<Vec<TcpStream>>,
}

impl Origin {
    /// Serves all addresses.
    pub fn serve() -> anyhow::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut threads = Vec::new();
        for turn in 0..HOSTS {
            let listener = TcpListener::bind((tunnel::address(turn), PORT))
                .context("failed to listen where the origin is")?;
            for _ in 0..THREADS {
                let (listener, shared) = (listener.try_clone()?, Arc::clone(&shared));
                threads.push(thread::spawn(move || serve(&listener, &shared)));
            }
        }
        Ok(Self { shared, threads })
    }

    /// Closes what is held.
    pub fn let_go(&self) {
        self.shared.lock().clear();
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        // Each thread waits for somebody to come, and then sees that it is over.
        for turn in 0..HOSTS {
            for _ in 0..THREADS {
                drop(TcpStream::connect((tunnel::address(turn), PORT)));
            }
        }
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve(listener: &TcpListener, shared: &Shared) {
    let mut buffer = vec![0; CHUNK];
    while !shared.ends.load(Ordering::Relaxed) {
        let Ok((mut stream, _)) = listener.accept() else {
            // Most often no more files may be open for now; the client tells that nobody answered.
            continue;
        };
        // Whoever breaks off is no fault of the origin's: the client tells what came.
        if answer(&mut stream, &mut buffer) == Some(true) {
            shared.lock().push(stream);
        }
    }
}

/// Does what is asked; whether the connection is to be held, if all went well.
fn answer(stream: &mut TcpStream, buffer: &mut [u8]) -> Option<bool> {
    stream.set_nodelay(true).ok()?;
    let count = stream.read(buffer).ok()?;
    let (&asked, after) = buffer.get(..count)?.split_first()?;
    match asked {
        HOLD => {
            stream.write_all(&[HOLD]).ok()?;
            return Some(true);
        }
        STREAM => while stream.write_all(buffer).is_ok() {},
        LISTEN => {
            while stream.read(buffer).ok()? > 0 {}
            stream.write_all(buffer.get(..ANSWER)?).ok()?;
        }
        ECHO => {
            stream.write_all(after).ok()?;
            while let count @ 1.. = stream.read(buffer).ok()? {
                stream.write_all(buffer.get(..count)?).ok()?;
            }
        }
        _ => {}
    }
    Some(false)
}
