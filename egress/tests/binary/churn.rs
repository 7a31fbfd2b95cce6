//! Very many short tunnels beside idle ones, some of them broken off by either end, while the allowlist
//! changes all the time: nothing is lost, nothing is kept.

mod ends;
mod fate;

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;

use self::ends::{Became, answer, go_through, live, tunnel};
use self::fate::{COMING_AND_GOING, Fate, KEPT};
use crate::process::{Process, replace, sent};
use crate::room::{dns, run_inside, serve};

const AT_ONCE: usize = 16;
const SEED: u64 = 8;
const BETWEEN_RELOADS: Duration = Duration::from_millis(20);
/// Descriptors that may be more than before: pipes that are kept for the next tunnel, two each.
const KEPT_DESCRIPTORS: usize = 32;
/// KiB that may be more than before.
const KEPT_MEMORY: usize = 3 * 1024;

struct Scale {
    tunnels: usize,
    /// Of those, how many come before memory is measured first.
    warm: usize,
    idle: usize,
}

#[test]
fn twenty_thousand_tunnels_leave_no_descriptor_no_memory_and_no_byte_behind() {
    run_inside("churn::inside");
}

#[test]
#[ignore = "runs in a network of its own, which another test makes"]
fn inside() {
    churn(&Scale {
        tunnels: 20_000,
        warm: 4_000,
        idle: 200,
    });
}

mod slow {
    use super::{Scale, churn, run_inside};

    #[test]
    fn two_hundred_thousand_tunnels_leave_no_descriptor_no_memory_and_no_byte_behind() {
        run_inside("churn::slow::inside");
    }

    #[test]
    #[ignore = "runs in a network of its own, which another test makes"]
    fn inside() {
        churn(&Scale {
            tunnels: 200_000,
            warm: 20_000,
            idle: 2_000,
        });
    }
}

fn churn(scale: &Scale) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(all(scale));
}

async fn all(scale: &Scale) {
    let dns = dns(|_| Some(Ipv4Addr::new(1, 2, 3, 4)));
    let origin = TcpListener::bind("1.2.3.4:443").await.unwrap();
    let short = Arc::new(AtomicUsize::new(0));
    tokio::spawn(answer(origin, Arc::clone(&short)));
    let (directory, process) = serve(&[KEPT], &dns, &["--max-tunnels=4096"]);
    let (descriptors_first, _) = held(process.id());
    let mut idle = Vec::new();
    for _ in 0..scale.idle {
        idle.push(tunnel(KEPT).await.unwrap());
    }
    let reloads = tokio::spawn(reload(directory.path().join("allowlist.json")));

    let began = Instant::now();
    let mut became = many(0..scale.warm).await;
    settled(scale.idle);
    let (descriptors, memory) = held(process.id());
    became.extend(many(scale.warm..scale.tunnels).await);
    settled(scale.idle);
    let (descriptors_after, memory_after) = held(process.id());
    let count = |wanted| became.iter().filter(|became| **became == wanted).count();
    let counts = [Became::Whole, Became::Broken, Became::Refused].map(count);
    println!(
        "seed {SEED}: {} tunnels in {:?}, {counts:?} whole, broken and refused; {descriptors} to {descriptors_after} descriptors, {memory} to {memory_after} KiB",
        scale.tunnels,
        began.elapsed()
    );
    assert_eq!(became.len(), scale.tunnels);
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    assert_eq!(short.load(Ordering::Relaxed), 0, "cut short, and not told");
    assert!(
        descriptors_after <= descriptors + KEPT_DESCRIPTORS,
        "{descriptors} to {descriptors_after} descriptors"
    );
    assert!(
        memory_after <= memory + KEPT_MEMORY,
        "{memory} to {memory_after} KiB"
    );

    reloads.abort();
    for stream in idle {
        let became = go_through(stream, &Fate::whole(b"still here")).await;
        assert_eq!(became, Became::Whole);
    }
    settled(0);
    let (descriptors_last, _) = held(process.id());
    assert!(
        descriptors_last <= descriptors_first + KEPT_DESCRIPTORS,
        "{descriptors_first} to {descriptors_last} descriptors"
    );
    let (status, rest) = ended(process).await;
    assert!(status.success(), "{rest}");
}

/// Puts a host on the allowlist and takes it off it again, for ever.
async fn reload(path: PathBuf) {
    let mut ticks = tokio::time::interval(BETWEEN_RELOADS);
    let hosts: [&[&str]; 2] = [&[KEPT, COMING_AND_GOING], &[KEPT]];
    for hosts in hosts.iter().cycle() {
        ticks.tick().await;
        replace(&path, &serde_json::json!({ "hosts": hosts }).to_string());
    }
}

/// Lives through these tunnels, some at once.
async fn many(numbers: std::ops::Range<usize>) -> Vec<Became> {
    let next = Arc::new(AtomicUsize::new(numbers.start));
    let workers = (0..AT_ONCE).map(|_| {
        let next = Arc::clone(&next);
        tokio::spawn(async move {
            let mut became = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= numbers.end {
                    return became;
                }
                became.push(live(&Fate::draw(SEED, number)).await);
            }
        })
    });
    let mut all = Vec::new();
    for worker in workers.collect::<Vec<_>>() {
        all.extend(worker.await.unwrap());
    }
    all
}

/// Waits until no connections but `wanted` are open.
fn settled(wanted: usize) {
    let wanted = format!("sandgate_egress_open_connections {wanted}");
    for _ in 0..400 {
        let page = sent(
            "127.0.0.1:8083".parse().unwrap(),
            b"GET /metrics HTTP/1.0\r\n\r\n",
        );
        if page.lines().any(|line| line == wanted) {
            return;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    panic!("it did not come to {wanted}");
}

/// Descriptors, and memory in KiB.
fn held(id: u32) -> (usize, usize) {
    let descriptors = fs::read_dir(format!("/proc/{id}/fd")).unwrap().count();
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let memory = memory.unwrap().trim().trim_end_matches(" kB");
    (descriptors, memory.parse().unwrap())
}

async fn ended(process: Process) -> (std::process::ExitStatus, String) {
    tokio::task::spawn_blocking(|| process.stop())
        .await
        .unwrap()
}
