//! What the webhook costs: time and CPU a review, memory idle and crowded. It runs alone, on a core
//! of its own where the machine has two. Does I/O.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use sandgate_e2e::folders::{self, RunFolder};
use sandgate_e2e::own_binaries::OwnBinaries;
use sandgate_e2e::pki::Authority;
use sandgate_e2e::ports::Port;
use sandgate_e2e::process::Program;
use sandgate_e2e::service::Service;
use sandgate_shared::render::Installation as Names;

use super::figure::Figure;
use super::latency::Latencies;
use super::load::{self, Load, Target};
use super::reviews::{self, Review};
use super::{connection, machine, process};

/// Each path gets this load twice: half with claims created, half with classes changed.
const LOAD: Load = Load {
    connections: 16,
    rate: 2000,
    count: 8000,
};

/// As many connections as a large control plane might hold.
const CROWD: usize = 1000;

/// Reviews that weigh as much as any that is read, from many API servers at once.
const HEAVY: Load = Load {
    connections: 8,
    rate: 200,
    count: 32,
};

/// How long it may take to become ready.
const START: Duration = Duration::from_secs(30);

/// A path of the webhook and what one review on it may cost.
struct Asked {
    name: &'static str,
    /// CPU a review in µs: what a Go webhook with three rules took.
    cpu: f64,
}

const PATHS: [Asked; 2] = [
    Asked {
        name: "validate",
        cpu: 217.0,
    },
    Asked {
        name: "mutate",
        cpu: 336.0,
    },
];

/// Measures everything about the webhook in `own`.
pub fn measure(own: &OwnBinaries) -> anyhow::Result<Vec<Figure>> {
    machine::allow_open_files()?;
    let cores = machine::cores()?;
    let folder = RunFolder::create()?;
    let authority = Authority::new()?;
    let port = Port::free()?;
    let tls_folder = folder.folder("tls")?;
    write_certificates(&authority, &tls_folder)?;
    let mut webhook = start(
        own,
        &port,
        &tls_folder,
        folder.path(),
        cores.first().copied(),
    )?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start an async runtime")?;
    runtime.block_on(webhook.answers("/readyz", START))?;
    let id = webhook.id().context("the webhook does not run")?;
    let target = Target {
        address: SocketAddr::from(([127, 0, 0, 1], port.number())),
        tls: connection::trusting(authority.certificate())?,
    };

    let idle = process::resident(id)?;
    let mut figures = vec![Figure::within(
        "webhook_memory_idle",
        idle / 1024.0,
        "MiB",
        15.0,
    )];
    // The webhook has its core, the senders have the others.
    if let Some(others) = cores.get(1..).filter(|others| !others.is_empty()) {
        machine::stay_on(others)?;
    }
    let measured = reviews_of(id, &target);
    let peak = crowded(id, &target);
    let heavy_peak = heavy(id, &target);
    machine::stay_on(&cores)?;
    figures.extend(measured?);
    figures.push(Figure::within(
        format!("webhook_memory_with_{CROWD}_connections"),
        peak? / 1024.0,
        "MiB",
        40.0,
    ));
    figures.push(Figure::within(
        "webhook_memory_with_heavy_reviews",
        heavy_peak? / 1024.0,
        "MiB",
        160.0,
    ));
    webhook.check()?;
    Ok(figures)
}

fn reviews_of(id: u32, target: &Target) -> anyhow::Result<Vec<Figure>> {
    let reviews = [reviews::claim_created()?, reviews::class_changed()?];
    let mut figures = Vec::new();
    for path in &PATHS {
        let mut slowest_rate = f64::MAX;
        let mut costs = Vec::new();
        for review in &reviews {
            let request = review.request(path.name);
            let cpu = || process::cpu_time(id);
            let (measured, before, after) = load::send(target, &request, LOAD, cpu, cpu)?;
            let count = f64::from(LOAD.count);
            slowest_rate = slowest_rate.min(count / measured.took.as_secs_f64());
            figures.extend(times(path, review, &measured.latencies)?);
            let used = after?.saturating_sub(before?);
            costs.push((review, used.as_secs_f64() * 1e6 / count));
        }
        figures.extend(costs.into_iter().map(|(review, cost)| {
            let name = format!("webhook_{}_{}_cpu", path.name, review.name);
            Figure::within(name, cost, "µs", path.cpu)
        }));
        let name = format!("webhook_{}_rate", path.name);
        figures.push(Figure::shown(name, slowest_rate, "reviews/s"));
    }
    Ok(figures)
}

fn times(path: &Asked, review: &Review, latencies: &Latencies) -> anyhow::Result<[Figure; 2]> {
    let micros = |percent| {
        latencies
            .percentile(percent)
            .map(|latency| latency.as_secs_f64() * 1e6)
            .context("no review was answered")
    };
    let name = |which: &str| format!("webhook_{}_{}_{which}", path.name, review.name);
    Ok([
        Figure::within(name("p50"), micros(50)?, "µs", 150.0),
        Figure::within(name("p99"), micros(99)?, "µs", 1000.0),
    ])
}

fn crowded(id: u32, target: &Target) -> anyhow::Result<f64> {
    let mut requests = Vec::new();
    for review in [reviews::claim_created()?, reviews::class_changed()?] {
        requests.extend(PATHS.iter().map(|path| review.request(path.name)));
    }
    let requests: Vec<&[u8]> = requests.iter().map(Vec::as_slice).collect();
    load::crowd(target, &requests, CROWD, || process::resident_peak(id))?
}

/// The peak after a load of [`HEAVY`] reviews, of which one at a time is parsed. It comes last: it is
/// higher than any other.
fn heavy(id: u32, target: &Target) -> anyhow::Result<f64> {
    let review = reviews::heavy_class_changed()?;
    for path in &PATHS {
        load::send(target, &review.request(path.name), HEAVY, || (), || ())?;
    }
    process::resident_peak(id)
}

/// Writes what a webhook on 127.0.0.1 serves, signed by `authority`.
pub(super) fn write_certificates(authority: &Authority, folder: &Path) -> anyhow::Result<()> {
    let host = "127.0.0.1";
    let pair = authority.server(&[host])?;
    for (name, text) in [
        ("tls.crt", pair.certificate.as_str()),
        ("tls.key", &pair.key),
        ("ca.crt", authority.certificate()),
        ("server-names", host),
    ] {
        folders::write_private(&folder.join(name), text)?;
    }
    Ok(())
}

/// Starts the webhook in `own`, on one core alone if it is named.
pub(super) fn start(
    own: &OwnBinaries,
    port: &Port,
    tls_folder: &Path,
    folder: &Path,
    core: Option<usize>,
) -> anyhow::Result<Service> {
    let health = Port::free()?;
    let names = Names::default();
    let arguments = [
        format!("--listen={}", port.address()),
        format!("--health-listen={}", health.address()),
        format!("--tls-dir={}", tls_folder.display()),
        format!("--operator-username={}", names.identity().username),
    ];
    let program = match core {
        Some(core) => Program::new(
            Path::new("taskset"),
            [
                "--cpu-list".to_owned(),
                core.to_string(),
                own.webhook.display().to_string(),
            ]
            .into_iter()
            .chain(arguments),
        ),
        None => Program::new(&own.webhook, arguments),
    };
    let log = folder.join("sandgate-webhook.log");
    Ok(Service::start_new(
        "sandgate-webhook",
        program,
        &log,
        health,
    )?)
}
