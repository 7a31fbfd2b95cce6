//! Very many short tunnels beside idle ones, some of them broken off: nothing is lost, nothing is kept.

use std::fs;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use socket2::SockRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::process::{Process, sent};
use crate::room::{dns, run_inside, serve};

const TUNNELS: usize = 20_000;
const IDLE: usize = 200;
const AT_ONCE: usize = 16;
/// Of those that are still counted when memory is measured first.
const WARM: usize = 4_000;

#[test]
fn twenty_thousand_tunnels_leave_no_descriptor_no_memory_and_no_byte_behind() {
    run_inside("churn::inside");
}

#[test]
#[ignore = "runs in a network of its own, which another test makes"]
fn inside() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(churn());
}

async fn churn() {
    let dns = dns(|_| Some(Ipv4Addr::new(1, 2, 3, 4)));
    let origin = TcpListener::bind("1.2.3.4:443").await.unwrap();
    tokio::spawn(hashing(origin));
    let (_directory, process) = serve(&["a.example"], &dns, &[]);
    let mut idle = Vec::new();
    for _ in 0..IDLE {
        idle.push(tunnel().await.unwrap());
    }
    let began = Instant::now();
    let taken = many(WARM).await;
    settled();
    let (descriptors, memory) = held(process.id());
    let taken = taken + many(TUNNELS - WARM).await;
    settled();
    let (descriptors_after, memory_after) = held(process.id());
    println!(
        "{TUNNELS} tunnels in {:?}, {taken} bytes; {descriptors} to {descriptors_after} descriptors, {memory} to {memory_after} KiB",
        began.elapsed()
    );
    // Pipes that are kept for the next tunnel are two each.
    assert!(
        descriptors_after <= descriptors + 32,
        "{descriptors} to {descriptors_after}"
    );
    assert!(
        memory_after <= memory + 3 * 1024,
        "{memory} to {memory_after} KiB"
    );
    for stream in &mut idle {
        assert!(is_hashed(stream, b"still here").await);
    }
    drop(idle);
    let (status, rest) = ended(process).await;
    assert!(status.success(), "{rest}");
}

/// Answers what each connection sends with its hash, when it ends; a first byte of 0 breaks it off.
async fn hashing(listener: TcpListener) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut hash = Sha256::new();
            let mut bytes = vec![0; 16 * 1024];
            let mut first = true;
            while let Ok(count @ 1..) = stream.read(&mut bytes).await {
                if first && bytes[0] == 0 {
                    SockRef::from(&stream)
                        .set_linger(Some(Duration::ZERO))
                        .unwrap();
                    return;
                }
                first = false;
                hash.update(&bytes[..count]);
            }
            let _gone = stream.write_all(&hash.finalize()).await;
        });
    }
}

async fn tunnel() -> Option<TcpStream> {
    let mut stream = TcpStream::connect("127.0.0.1:3128").await.unwrap();
    let request = b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut answer = [0; 39];
    stream.read_exact(&mut answer).await.ok()?;
    (&answer == b"HTTP/1.1 200 Connection Established\r\n\r\n").then_some(stream)
}

async fn is_hashed(stream: &mut TcpStream, sent: &[u8]) -> bool {
    stream.write_all(sent).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).await.unwrap();
    got == Sha256::digest(sent).as_slice()
}

/// Opens and ends `count` tunnels, some at once; how many bytes went up.
async fn many(count: usize) -> u64 {
    let next = Arc::new(AtomicUsize::new(0));
    let bytes = Arc::new(AtomicU64::new(0));
    let workers = (0..AT_ONCE).map(|_| {
        let (next, bytes) = (Arc::clone(&next), Arc::clone(&bytes));
        tokio::spawn(async move {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= count {
                    return;
                }
                one(n, &bytes).await;
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    bytes.load(Ordering::Relaxed)
}

async fn one(n: usize, bytes: &AtomicU64) {
    let mut stream = tunnel().await.expect("a tunnel");
    let length = if n.is_multiple_of(100) {
        300_000
    } else {
        1 + n % 3000
    };
    let mut sent: Vec<u8> = (0..length)
        .map(|at| u8::try_from((at * 7 + n) % 255 + 1).unwrap())
        .collect();
    match n % 20 {
        7 => {
            // The client breaks off in the middle.
            stream.write_all(&sent[..length / 2]).await.unwrap();
            SockRef::from(&stream)
                .set_linger(Some(Duration::ZERO))
                .unwrap();
        }
        13 => {
            // The server does.
            sent[0] = 0;
            let _broken = stream.write_all(&sent).await;
            let mut rest = Vec::new();
            let _broken = stream.read_to_end(&mut rest).await;
            assert_eq!(rest, b"");
        }
        _ => {
            assert!(is_hashed(&mut stream, &sent).await, "{length} bytes");
            bytes.fetch_add(u64::try_from(length).unwrap(), Ordering::Relaxed);
        }
    }
}

/// Waits until only the idle tunnels are open.
fn settled() {
    let wanted = format!("sandgate_egress_open_tunnels {IDLE}");
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
    panic!("there are not {IDLE} tunnels in the end");
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
