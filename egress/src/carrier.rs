//! What bytes are in on their way from one socket to the other: a pipe of the kernel, which they pass
//! without being copied, or a buffer of ours. Does I/O.
//!
//! A carrier is held only while there are bytes to carry, so an idle tunnel has none. Pipes are scarce:
//! their pages count for all processes of a user on the node. So there are few, what is not in use is
//! closed but for a handful, and whoever gets none copies instead.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::{Errno, retry_on_intr};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most pipes. Their pages are a quarter of what `fs.pipe-user-pages-soft` lets a user have.
const MOST_PIPES: usize = 160;
/// Pipes that are wide, as long as so many are enough: four times the pages, and as many fewer calls.
const WIDE_PIPES: usize = 32;
/// Pipes that stay open while nobody needs them.
const KEPT: usize = 16;
/// As much as a wide pipe takes, in bytes. Any other one takes a quarter: what Linux gives it.
const WIDE: usize = 256 * 1024;
/// As much as a buffer takes, in bytes; a stalled tunnel without a pipe keeps one.
const BUFFER: usize = 16 * 1024;

const FLAGS: SpliceFlags = SpliceFlags::NONBLOCK.union(SpliceFlags::MOVE);

/// An empty pipe.
#[derive(Debug)]
pub struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    /// Whether it was to be wide.
    is_wide: bool,
    _place: OwnedSemaphorePermit,
}

/// All pipes of the process.
#[derive(Debug)]
pub struct Pipes {
    idle: Mutex<Vec<Pipe>>,
    places: Arc<Semaphore>,
    /// So many of the places are for narrow ones.
    narrow: usize,
}

impl Default for Pipes {
    fn default() -> Self {
        Self::of(MOST_PIPES)
    }
}

impl Pipes {
    /// At most `most` of them.
    pub fn of(most: usize) -> Self {
        Self {
            idle: Mutex::default(),
            places: Arc::new(Semaphore::new(most)),
            narrow: most.saturating_sub(WIDE_PIPES),
        }
    }

    /// An empty carrier: a pipe if there is one to be had.
    pub fn take(&self) -> Carrier {
        let idle = self.idle().pop();
        match idle.or_else(|| self.made()) {
            Some(pipe) => Carrier::Pipe { pipe, held: 0 },
            None => Carrier::Buffer {
                bytes: Vec::new(),
                sent: 0,
            },
        }
    }

    /// Takes back a carrier. One that still holds bytes is closed with them, and so is a narrow one: those
    /// that are kept serve when there is little to do, when all may be wide.
    pub fn put(&self, carrier: Carrier) {
        if let Carrier::Pipe { pipe, held: 0 } = carrier {
            let mut idle = self.idle();
            if pipe.is_wide && idle.len() < KEPT {
                idle.push(pipe);
            }
        }
    }

    fn made(&self) -> Option<Pipe> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        // Out of descriptors: then bytes are copied, which takes none.
        let (read, write) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC).ok()?;
        let is_wide = self.places.available_permits() >= self.narrow;
        if is_wide {
            // Where the user has no pages left it stays as it is, and carries less at a time.
            let _ = fcntl_setpipe_size(&write, WIDE);
        }
        Some(Pipe {
            read,
            write,
            is_wide,
            _place: place,
        })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Pipe>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes on their way.
#[derive(Debug)]
pub enum Carrier {
    /// In the kernel.
    Pipe {
        /// Through which they pass.
        pipe: Pipe,
        /// How many are in it.
        held: usize,
    },
    /// In our memory.
    Buffer {
        /// The bytes.
        bytes: Vec<u8>,
        /// How many of them are gone.
        sent: usize,
    },
}

impl Carrier {
    /// Carries `bytes` that were read already.
    pub fn with(bytes: Vec<u8>) -> Self {
        Self::Buffer { bytes, sent: 0 }
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Pipe { held, .. } => *held == 0,
            Self::Buffer { bytes, sent } => *sent == bytes.len(),
        }
    }

    /// Takes in what `from` has; how many bytes, 0 at its end. To be called when empty.
    ///
    /// # Errors
    /// `WouldBlock` while it has none; else `from` broke.
    pub fn fill(&mut self, from: &TcpStream) -> io::Result<usize> {
        match self {
            Self::Pipe { pipe, held } => {
                let filled = from.try_io(Interest::READABLE, || {
                    let filled =
                        retry_on_intr(|| splice(from, None, &pipe.write, None, WIDE, FLAGS));
                    Ok(filled?)
                });
                match filled {
                    Err(error) if is_no_splice(&error) => {
                        *self = Self::with(Vec::new());
                        self.fill(from)
                    }
                    filled => filled.inspect(|count| *held += count),
                }
            }
            Self::Buffer { bytes, sent } => {
                bytes.clear();
                *sent = 0;
                bytes.reserve_exact(BUFFER);
                from.try_read_buf(bytes)
            }
        }
    }

    /// Gives to `to` what it takes; how many bytes. To be called when not empty.
    ///
    /// # Errors
    /// `WouldBlock` while it takes none; else `to` broke.
    pub fn pour(&mut self, to: &TcpStream) -> io::Result<usize> {
        let poured = match self {
            Self::Pipe { pipe, held } => {
                let poured = to.try_io(Interest::WRITABLE, || {
                    let poured = retry_on_intr(|| splice(&pipe.read, None, to, None, *held, FLAGS));
                    Ok(poured?)
                })?;
                *held -= poured.min(*held);
                poured
            }
            Self::Buffer { bytes, sent } => {
                let poured = to.try_write(bytes.get(*sent..).unwrap_or_default())?;
                *sent += poured;
                poured
            }
        };
        if poured == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(poured)
    }
}

/// Whether the kernel cannot splice this socket.
fn is_no_splice(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::INVAL.raw_os_error())
}

#[cfg(test)]
mod tests {
    use rustix::pipe::fcntl_getpipe_size;

    use super::*;

    fn is_pipe(carrier: &Carrier) -> bool {
        matches!(carrier, Carrier::Pipe { .. })
    }

    /// Two ends of a connection.
    async fn ends() -> (TcpStream, TcpStream) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let dialled = TcpStream::connect(listener.local_addr().unwrap());
        let (dialled, accepted) = tokio::join!(dialled, listener.accept());
        (dialled.unwrap(), accepted.unwrap().0)
    }

    #[test]
    fn whoever_gets_no_pipe_gets_a_buffer_until_one_is_back() {
        let pipes = Pipes::of(1);
        let first = pipes.take();
        let second = pipes.take();
        assert!(is_pipe(&first) && !is_pipe(&second));
        pipes.put(second);
        assert!(!is_pipe(&pipes.take()));
        pipes.put(first);
        assert!(is_pipe(&pipes.take()));
    }

    #[test]
    fn few_pipes_are_kept_open_and_those_are_wide() {
        let pipes = Pipes::default();
        let mut all: Vec<Carrier> = (0..2 * WIDE_PIPES).map(|_| pipes.take()).collect();
        assert!(all.iter().all(is_pipe));
        while let Some(carrier) = all.pop() {
            pipes.put(carrier);
        }
        let kept = pipes.idle();
        assert_eq!(kept.len(), KEPT);
        assert!(kept.iter().all(|pipe| pipe.is_wide));
        assert_eq!(pipes.places.available_permits(), MOST_PIPES - KEPT);
    }

    #[test]
    fn the_first_pipes_are_wide_and_all_of_them_leave_most_pages_to_others() {
        let pipes = Pipes::default();
        let all: Vec<Carrier> = (0..=MOST_PIPES).map(|_| pipes.take()).collect();
        let sizes = all.iter().filter_map(|carrier| match carrier {
            Carrier::Pipe { pipe, .. } => Some(fcntl_getpipe_size(&pipe.write).unwrap()),
            Carrier::Buffer { .. } => None,
        });
        let sizes: Vec<usize> = sizes.collect();
        let wide = sizes.iter().take_while(|size| **size == WIDE).count();
        assert_eq!((wide, sizes.len()), (WIDE_PIPES, MOST_PIPES));
        // Of the 16,384 that Linux lets a user have unless it is told otherwise.
        assert_eq!(sizes.iter().sum::<usize>() / 4096, 16_384 / 4);
    }

    #[rstest::rstest]
    #[case::through_a_pipe(1)]
    #[case::by_a_buffer(0)]
    #[tokio::test]
    async fn bytes_come_out_as_they_went_in_and_a_pipe_with_some_left_is_not_used_again(
        #[case] most: usize,
    ) {
        let pipes = Pipes::of(most);
        let ((mut sender, from), (to, mut receiver)) = (ends().await, ends().await);
        let mut carrier = pipes.take();
        assert_eq!(is_pipe(&carrier), most == 1);
        for text in ["one", "and two"] {
            tokio::io::AsyncWriteExt::write_all(&mut sender, text.as_bytes())
                .await
                .unwrap();
            from.readable().await.unwrap();
            assert_eq!(carrier.fill(&from).unwrap(), text.len());
            assert!(!carrier.is_empty());
            to.writable().await.unwrap();
            assert_eq!(carrier.pour(&to).unwrap(), text.len());
            assert!(carrier.is_empty());
            let mut got = vec![0; text.len()];
            tokio::io::AsyncReadExt::read_exact(&mut receiver, &mut got)
                .await
                .unwrap();
            assert_eq!(got, text.as_bytes());
        }
        let waits = carrier.fill(&from).unwrap_err();
        assert_eq!(waits.kind(), io::ErrorKind::WouldBlock);
        tokio::io::AsyncWriteExt::write_all(&mut sender, b"left")
            .await
            .unwrap();
        from.readable().await.unwrap();
        carrier.fill(&from).unwrap();
        pipes.put(carrier);
        assert_eq!(pipes.idle().len(), 0);
        assert_eq!(pipes.places.available_permits(), most);
    }
}
