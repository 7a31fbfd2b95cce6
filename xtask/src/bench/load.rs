//! Reviews sent at a fixed rate over a few connections, each by a thread of its own. Does network
//! I/O, bounded in count.

use std::net::SocketAddr;
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustls::ClientConfig;

use super::connection::Connection;
use super::latency::Latencies;

/// Who is asked.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where the webhook listens.
    pub address: SocketAddr,
    /// What its certificate is checked against.
    pub tls: Arc<ClientConfig>,
}

/// How much is asked, and how fast.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Connections that are used in turn.
    pub connections: u32,
    /// Reviews a second, over all connections.
    pub rate: u32,
    /// Reviews in all; a multiple of `connections`.
    pub count: u32,
}

/// What a load came to.
#[derive(Debug)]
pub struct Measured {
    /// From the last request byte to the first response byte.
    pub latencies: Latencies,
    /// From the first review to the end of the last.
    pub took: Duration,
}

impl Load {
    /// When connection `index` sends its `turn`-th review, counted from the start: evenly spread, so
    /// that no two wait for each other by design.
    fn due(self, index: u32, turn: u32) -> Duration {
        Duration::from_secs(1) / self.rate * (turn * self.connections + index)
    }
}

/// Sends `request` again and again as `load` says. A review that comes late because the one before
/// it took long is sent at once. `on_start` runs when all connections stand and have been used once,
/// `on_end` when the last answer is in; both on the calling thread.
pub fn send<S, E>(
    target: &Target,
    request: &[u8],
    load: Load,
    on_start: impl FnOnce() -> S,
    on_end: impl FnOnce() -> E,
) -> anyhow::Result<(Measured, S, E)> {
    let connections: Vec<Connection> = (0..load.connections)
        .map(|_| {
            let mut connection = Connection::open(target.address, &target.tls)?;
            connection.exchange(request)?;
            Ok(connection)
        })
        .collect::<anyhow::Result<_>>()?;
    let parties = connections.len() + 1;
    let (ready, done) = (Barrier::new(parties), Barrier::new(parties));
    let began = Mutex::new(Instant::now());
    thread::scope(|scope| {
        let (ready, done, began) = (&ready, &done, &began);
        let senders: Vec<_> = (0_u32..)
            .zip(connections)
            .map(|(index, mut connection)| {
                scope.spawn(move || {
                    ready.wait();
                    let start = *began.lock().unwrap_or_else(PoisonError::into_inner);
                    let all: anyhow::Result<Vec<Duration>> = (0..load.count / load.connections)
                        .map(|turn| {
                            let due = start + load.due(index, turn);
                            // The pace itself: there is nothing to wait for but the time.
                            thread::sleep(due.saturating_duration_since(Instant::now()));
                            connection.exchange(request)
                        })
                        .collect();
                    done.wait();
                    all
                })
            })
            .collect();
        let at_start = on_start();
        let start = Instant::now();
        *began.lock().unwrap_or_else(PoisonError::into_inner) = start;
        ready.wait();
        done.wait();
        let took = start.elapsed();
        let at_end = on_end();
        let mut all = Vec::new();
        for sender in senders {
            let sent = sender.join().ok().context("a sender of reviews died")?;
            all.extend(sent?);
        }
        let latencies = all.into_iter().collect();
        Ok((Measured { latencies, took }, at_start, at_end))
    })
}

/// Opens `count` connections and keeps all of them open while each sends every one of `requests`;
/// `while_open` runs before the first is closed.
pub fn crowd<T>(
    target: &Target,
    requests: &[&[u8]],
    count: usize,
    while_open: impl FnOnce() -> T,
) -> anyhow::Result<T> {
    let mut connections = (0..count)
        .map(|_| Connection::open(target.address, &target.tls))
        .collect::<anyhow::Result<Vec<_>>>()?;
    for request in requests {
        for connection in &mut connections {
            connection.exchange(request)?;
        }
    }
    let seen = while_open();
    drop(connections);
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reviews_are_spread_evenly_over_time_and_connections() {
        let load = Load {
            connections: 4,
            rate: 1000,
            count: 8,
        };
        let mut due: Vec<Duration> = (0..4)
            .flat_map(|index| (0..2).map(move |turn| load.due(index, turn)))
            .collect();
        due.sort();
        let wanted: Vec<Duration> = (0..8).map(Duration::from_millis).collect();
        assert_eq!(due, wanted);
    }
}
