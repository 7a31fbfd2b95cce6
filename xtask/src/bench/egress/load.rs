//! What is asked of a proxy: many tunnels one after the other, as fast as it goes or at a fixed rate,
//! and one that carries all it can. Does network I/O, bounded in time.

use std::io::Read;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::super::latency::Latencies;
use super::super::number;
use super::origin::{ECHO, HOLD, STREAM};
use super::tunnel::{HOSTS, Tunnel, Way};

/// Clients at once.
const CLIENTS: u8 = 32;

/// Not counted: caches fill, and memory is asked for.
const WARM_UP: Duration = Duration::from_secs(1);

/// Counted after it.
const COUNTED: Duration = Duration::from_secs(4);

/// Tunnels a second, where what they wait for is measured.
pub const PACE: u32 = 500;

/// Tunnels in all at this pace, a multiple of [`CLIENTS`].
const PACED: u32 = 2016;

/// Tunnels that are open at once, and idle.
pub const IDLE: usize = 2000;

/// What is read at once.
const CHUNK: usize = 256 * 1024;

/// Opens a tunnel and waits for one byte to come back through it.
fn once(way: Way, turn: u8) -> anyhow::Result<()> {
    let mut tunnel = Tunnel::open(way, turn, &[])?;
    tunnel
        .send(&[ECHO, b'?'])
        .context("failed to send a byte")?;
    let mut byte = [0];
    tunnel.read_exact(&mut byte).context("no byte came back")?;
    if byte != *b"?" {
        bail!("another byte came back");
    }
    Ok(())
}

/// Many tunnels, and those that did not come to be.
#[derive(Debug, Default)]
pub struct Counted {
    /// From dialling the proxy to the byte that came back, each.
    pub latencies: Latencies,
    /// How many failed, and why the last of them did.
    pub failed: usize,
    /// Empty if none did.
    pub complaint: String,
}

impl Counted {
    fn of(outcomes: Vec<anyhow::Result<Duration>>) -> Self {
        let mut counted = Self::default();
        let mut took = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(latency) => took.push(latency),
                Err(error) => {
                    counted.failed += 1;
                    counted.complaint = format!("{error:#}");
                }
            }
        }
        counted.latencies = took.into_iter().collect();
        counted
    }
}

/// What all clients together came to, each on a thread of its own.
fn by_clients(
    client: impl Fn(u8) -> Vec<anyhow::Result<Duration>> + Sync,
) -> anyhow::Result<Counted> {
    let client = &client;
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|index| scope.spawn(move || client(index)))
            .collect();
        let mut all = Vec::new();
        for client in clients {
            all.extend(client.join().ok().context("a client died")?);
        }
        Ok(Counted::of(all))
    })
}

/// As many tunnels as it can open, a second.
pub fn saturate(way: Way) -> anyhow::Result<(f64, Counted)> {
    let counted_from = Instant::now() + WARM_UP;
    let end = counted_from + COUNTED;
    let counted = by_clients(|index| {
        let mut outcomes = Vec::new();
        loop {
            let begun = Instant::now();
            if begun >= end {
                return outcomes;
            }
            let outcome = once(way, index).map(|()| begun.elapsed());
            if begun >= counted_from {
                outcomes.push(outcome);
            }
        }
    })?;
    let rate = number(counted.latencies.len()) / COUNTED.as_secs_f64();
    Ok((rate, counted))
}

/// When client `index` opens its `turn`-th tunnel, counted from the start: evenly spread.
fn due(index: u8, turn: u32) -> Duration {
    Duration::from_secs(1) / PACE * (turn * u32::from(CLIENTS) + u32::from(index))
}

/// [`PACE`] tunnels a second, whatever the proxy does. Who comes late because the tunnel before took
/// long has waited since it was due.
pub fn paced(way: Way) -> anyhow::Result<Counted> {
    let start = Instant::now();
    by_clients(|index| {
        (0..PACED / u32::from(CLIENTS))
            .map(|turn| {
                let due = start + due(index, turn);
                let early = due.saturating_duration_since(Instant::now());
                // The pace itself: there is nothing to wait for but the time.
                thread::sleep(early);
                let begun = if early.is_zero() { due } else { Instant::now() };
                once(way, index).map(|()| begun.elapsed())
            })
            .collect()
    })
}

/// MiB a second through one tunnel.
pub fn stream(way: Way) -> anyhow::Result<f64> {
    let mut tunnel = Tunnel::open(way, 0, &[])?;
    tunnel
        .send(&[STREAM])
        .context("failed to ask for a stream")?;
    let mut buffer = vec![0; CHUNK];
    let counted_from = Instant::now() + WARM_UP;
    let (mut bytes, mut begun) = (0_usize, None);
    loop {
        let count = tunnel.read(&mut buffer).context("a stream broke off")?;
        if count == 0 {
            bail!("a stream ended");
        }
        let now = Instant::now();
        match begun {
            None if now >= counted_from => begun = Some(now),
            None => {}
            Some(begun) => {
                bytes += count;
                let took = now.duration_since(begun);
                if took >= COUNTED {
                    return Ok(number(bytes >> 10) / 1024.0 / took.as_secs_f64());
                }
            }
        }
    }
}

/// Opens [`IDLE`] tunnels through each of which a byte has come; fewer where one fails, and why.
pub fn hold(way: Way) -> (Vec<Tunnel>, Option<anyhow::Error>) {
    let mut held = Vec::new();
    for turn in (0..HOSTS).cycle().take(IDLE) {
        let opened = Tunnel::open(way, turn, &[]).and_then(|mut tunnel| {
            tunnel.send(&[HOLD])?;
            tunnel.read_exact(&mut [0])?;
            Ok(tunnel)
        });
        match opened {
            Ok(tunnel) => held.push(tunnel),
            Err(error) => return (held, Some(error)),
        }
    }
    (held, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunnels_are_spread_evenly_over_time_and_clients() {
        let mut all: Vec<Duration> = (0..CLIENTS)
            .flat_map(|index| (0..2).map(move |turn| due(index, turn)))
            .collect();
        all.sort();
        let wanted = (0..u32::from(CLIENTS) * 2).map(|turn| Duration::from_millis(2) * turn);
        assert_eq!(all, wanted.collect::<Vec<_>>());
        assert_eq!(PACED % u32::from(CLIENTS), 0);
    }

    #[test]
    fn a_failure_is_counted_and_told_and_is_no_latency() {
        let millis = Duration::from_millis(3);
        let counted = Counted::of(vec![
            Ok(millis),
            Err(anyhow::anyhow!("refused")),
            Ok(millis),
        ]);
        assert_eq!((counted.latencies.len(), counted.failed), (2, 1));
        assert_eq!(counted.complaint, "refused");
    }
}
