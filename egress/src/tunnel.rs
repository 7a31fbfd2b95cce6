//! Bytes both ways between a client and a server, untouched, until both are done or one breaks (E-015,
//! E-016). Does network I/O.
//!
//! One task, two directions. When one end is done the other is told and may go on: a request that ends
//! with a FIN still gets its answer. Idle is counted for the tunnel and not for a direction, so a long
//! download is no idle tunnel.

use std::io;
use std::net::Shutdown;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, sleep_until};

use crate::carrier::{Carrier, Pipes};
use crate::metrics::Metrics;
use crate::tunnels::{Cause, Open};

/// How long a tunnel may be idle.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// While both ends may send.
    pub idle: Duration,
    /// When one is done.
    pub half_closed: Duration,
}

/// How a tunnel ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Why.
    pub cause: Cause,
    /// Bytes that the server was given.
    pub up: u64,
    /// Bytes that the client was given.
    pub down: u64,
}

/// Which end broke.
enum Broken {
    From,
    To,
}

/// How far one way is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Bytes may come.
    Open,
    /// All came, and were given on with their end.
    Done,
    /// It broke off.
    Broken,
}

/// Why a tunnel ended, and how far each way was.
struct End {
    cause: Cause,
    up: State,
    down: State,
}

/// When bytes last moved, in milliseconds from the beginning of the tunnel.
struct Activity {
    began: Instant,
    last: AtomicU64,
}

impl Activity {
    fn touch(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }

    fn last(&self) -> Instant {
        self.began + Duration::from_millis(self.last.load(Ordering::Relaxed))
    }
}

struct Way<'t> {
    from: &'t TcpStream,
    to: &'t TcpStream,
    activity: &'t Activity,
    pipes: &'t Pipes,
    counter: &'t Counter,
    carried: AtomicU64,
}

impl Way<'_> {
    /// Carries until `from` is done. What `first` holds goes before everything else.
    async fn carry(&self, first: Vec<u8>) -> Result<(), Broken> {
        let mut carrier = if first.is_empty() {
            self.next().await?
        } else {
            Carrier::with(first)
        };
        loop {
            while !carrier.is_empty() {
                match carrier.pour(self.to) {
                    Ok(count) => self.moved(count),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.to.writable().await.map_err(|_| Broken::To)?;
                    }
                    Err(_) => return Err(Broken::To),
                }
            }
            match carrier.fill(self.from) {
                Ok(0) => {
                    self.pipes.put(carrier);
                    return Ok(());
                }
                Ok(_) => self.activity.touch(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.pipes.put(carrier);
                    carrier = self.next().await?;
                }
                Err(_) => return Err(Broken::From),
            }
            // Two fast ends never wait, and would keep a thread from everybody else.
            consume_budget().await;
        }
    }

    /// An empty carrier, once there is something to carry.
    async fn next(&self) -> Result<Carrier, Broken> {
        self.from.readable().await.map_err(|_| Broken::From)?;
        Ok(self.pipes.take())
    }

    fn moved(&self, count: usize) {
        self.activity.touch();
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.carried.fetch_add(count, Ordering::Relaxed);
        self.counter.inc_by(count);
    }

    fn carried(&self) -> u64 {
        self.carried.load(Ordering::Relaxed)
    }
}

/// Carries bytes between `client` and `upstream` until the tunnel ends; `early` is what the client sent
/// behind its request.
pub async fn run(
    client: &TcpStream,
    upstream: &TcpStream,
    early: Vec<u8>,
    patience: Patience,
    open: &Open,
    pipes: &Pipes,
    metrics: &Metrics,
) -> Ended {
    let activity = Activity {
        began: Instant::now(),
        last: AtomicU64::new(0),
    };
    let way = |from, to, counter| Way {
        from,
        to,
        activity: &activity,
        pipes,
        counter,
        carried: AtomicU64::new(0),
    };
    let up = way(client, upstream, &metrics.bytes_up);
    let down = way(upstream, client, &metrics.bytes_down);
    let end = both(&up, &down, early, patience, open).await;
    let broke_off = matches!(end.cause, Cause::ClientReset | Cause::UpstreamReset);
    for (stream, state) in [(client, end.down), (upstream, end.up)] {
        // A clean end would make what was cut short look whole; a reset would take from what is.
        let is_whole = end.cause == Cause::Eof || (broke_off && state == State::Done);
        if !is_whole && let Err(error) = stream.set_zero_linger() {
            tracing::debug!(%error, "failed to pass on a reset");
        }
    }
    Ended {
        cause: end.cause,
        up: up.carried(),
        down: down.carried(),
    }
}

async fn both(
    up: &Way<'_>,
    down: &Way<'_>,
    early: Vec<u8>,
    patience: Patience,
    open: &Open,
) -> End {
    let mut upwards = pin!(up.carry(early));
    let mut downwards = pin!(down.carry(Vec::new()));
    let mut cut = pin!(open.cut());
    let mut states = [State::Open; 2];
    let mut broken = None;
    let mut timer = pin!(sleep_until(up.activity.began + patience.idle));
    let cause = loop {
        let [up_is, down_is] = &mut states;
        if *up_is != State::Open && *down_is != State::Open {
            break Cause::Eof;
        }
        let (ended, state, to, [from_reset, to_reset]) = tokio::select! {
            ended = &mut upwards, if *up_is == State::Open => {
                (ended, up_is, up.to, [Cause::ClientReset, Cause::UpstreamReset])
            }
            ended = &mut downwards, if *down_is == State::Open => {
                (ended, down_is, down.to, [Cause::UpstreamReset, Cause::ClientReset])
            }
            cause = &mut cut => break cause,
            () = &mut timer => {
                let (allowed, cause) = if states == [State::Open; 2] {
                    (patience.idle, Cause::Idle)
                } else {
                    (patience.half_closed, Cause::HalfCloseIdle)
                };
                let until = up.activity.last() + allowed;
                if until <= Instant::now() {
                    break cause;
                }
                timer.as_mut().reset(until);
                continue;
            }
        };
        // One way has just ended, and the other one has less time.
        up.activity.touch();
        timer.as_mut().reset(Instant::now() + patience.half_closed);
        match ended {
            // Behind a break, which is told once, what was cut short ends like what is whole.
            Ok(()) if broken.is_some() => *state = State::Broken,
            Ok(()) => {
                *state = State::Done;
                if let Err(error) = SockRef::from(to).shutdown(Shutdown::Write) {
                    tracing::debug!(%error, "failed to pass on the end of a stream");
                }
            }
            Err(Broken::From) => {
                *state = State::Broken;
                break from_reset;
            }
            // What it had sent before it broke off is still to be had.
            Err(Broken::To) => {
                *state = State::Broken;
                broken.get_or_insert(to_reset);
            }
        }
    };
    let [up, down] = states;
    let cause = broken.filter(|_| !is_cut(cause)).unwrap_or(cause);
    End { cause, up, down }
}

/// Whether the tunnel was ended from outside of it.
fn is_cut(cause: Cause) -> bool {
    matches!(cause, Cause::Revoked | Cause::Drain)
}
