//! What admission adds to a write, as its writer sees it: the same API server and the same claims, with
//! nobody judging, with the policy or the kinds' CEL alone, with all of Sandgate, and with a webhook in
//! Go that holds three of the rules. Does I/O, bounded in count.

mod setup;
mod writers;

use std::collections::BTreeMap;

use anyhow::{Context, anyhow};
use sandgate_e2e::installation::{self, Layers};
use sandgate_e2e::own_binaries::OwnBinaries;
use sandgate_e2e::pki::Authority;
use sandgate_e2e::ports::Port;
use sandgate_e2e::process::{Process, Program};
use sandgate_e2e::service::Service;
use sandgate_e2e::{Options, OwnCluster, binaries, folders};

use self::setup::{Judges, Setup};
use self::writers::{Load, Written};
use super::figure::Figure;
use super::{process, said, webhook};

/// How many write at once, and how many claims each of them writes.
const LOADS: [Load; 3] = [
    Load {
        writers: 1,
        each: 150,
    },
    Load {
        writers: 10,
        each: 40,
    },
    Load {
        writers: 50,
        each: 16,
    },
];

/// Each setup is measured this often, in turns: what disturbs the machine meanwhile disturbs all alike.
const ROUNDS: usize = 3;

/// What one setup came to under one load.
type Results = BTreeMap<(Setup, u32), Vec<Written>>;

/// What a webhook's process used.
#[derive(Clone, Copy, Default)]
struct Used {
    micros: f64,
    writes: f64,
}

/// Measures `own` beside the others.
pub async fn measure(own: &OwnBinaries) -> anyhow::Result<Vec<Figure>> {
    let go = tokio::task::spawn_blocking(binaries::go_webhook).await??;
    let options = Options {
        installation: installation::Options {
            layers: Layers::NONE,
            start: false,
            own: Some(own.clone()),
            ..installation::Options::default()
        },
        ..Options::default()
    };
    let mut cluster = Box::pin(OwnCluster::start(options)).await.map_err(said)?;
    let authority = Authority::new()?;
    let tls = cluster.control_plane.folder().join("writes.tls");
    folders::make(&tls)?;
    webhook::write_certificates(&authority, &tls)?;
    let folder = cluster.control_plane.folder().to_owned();
    let (our_port, go_port) = (Port::free()?, Port::free()?);
    let mut ours = webhook::start(own, &our_port, &tls, &folder, None)?;
    let arguments = [
        format!("--port={}", go_port.number()),
        format!("--cert-dir={}", tls.display()),
    ];
    let log = folder.join("go-webhook.log");
    let peer = Process::start("go-webhook", &Program::new(&go, arguments), &log)?;
    let judges = Judges {
        ours: our_port.address(),
        go: go_port.address(),
        authority: authority.certificate().to_owned(),
    };

    let (results, used) = rounds(&cluster, &judges, &ours, &peer).await?;
    ours.check()?;
    cluster.check().map_err(said)?;
    figures(&results, &used)
}

async fn rounds(
    cluster: &OwnCluster,
    judges: &Judges,
    ours: &Service,
    peer: &Process,
) -> anyhow::Result<(Results, BTreeMap<Setup, Used>)> {
    let namespace = cluster.namespace("writes").await.map_err(said)?;
    let kubeconfig = &cluster.access().kubeconfig;
    let id = |setup| match setup {
        Setup::Sandgate => ours.id(),
        Setup::Go => Some(peer.id()),
        Setup::Nothing | Setup::Policy | Setup::Rules => None,
    };
    let mut results = Results::new();
    let mut used: BTreeMap<Setup, Used> = BTreeMap::new();
    for round in 0..ROUNDS {
        for setup in Setup::ALL {
            setup.establish(&namespace, judges).await?;
            for load in LOADS {
                let prefix = format!("{}-{round}-{}", setup.name(), load.writers);
                let before = id(setup).map(process::cpu_time).transpose()?;
                let written = writers::write(kubeconfig, namespace.name(), &prefix, load).await?;
                if let (Some(id), Some(before)) = (id(setup), before) {
                    let took = process::cpu_time(id)?.saturating_sub(before);
                    let used = used.entry(setup).or_default();
                    used.micros += took.as_secs_f64() * 1e6;
                    used.writes += f64::from(load.writers * load.each);
                }
                let all = results.entry((setup, load.writers)).or_default();
                all.push(written);
            }
        }
    }
    Ok((results, used))
}

fn figures(results: &Results, used: &BTreeMap<Setup, Used>) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for load in LOADS {
        let of = |setup| {
            results
                .get(&(setup, load.writers))
                .and_then(|all| writers::median(all))
                .with_context(|| format!("{setup:?} was not measured"))
        };
        let nothing = of(Setup::Nothing)?;
        let go = of(Setup::Go)?;
        let name = |what: &str, setup: Setup| {
            let count = load.writers;
            format!("write_{what}_{}_{count}_at_once", setup.name())
        };
        for setup in Setup::ALL {
            let seen = of(setup)?;
            figures.push(Figure::shown(name("p50", setup), seen.p50, "ms"));
            figures.push(Figure::shown(name("p99", setup), seen.p99, "ms"));
            figures.push(Figure::shown(name("rate", setup), seen.rate, "writes/s"));
        }
        let added = of(Setup::Sandgate)?.p50 - nothing.p50;
        figures.push(Figure::within(
            name("added_p50", Setup::Sandgate),
            added,
            "ms",
            go.p50 - nothing.p50,
        ));
    }
    // Each write is asked about twice: mutate, validate.
    let cpu = |setup| {
        let used = used.get(&setup).filter(|used| used.writes > 0.0);
        let used = used.ok_or_else(|| anyhow!("{setup:?} judged no write"))?;
        anyhow::Ok(used.micros / used.writes / 2.0)
    };
    let go = cpu(Setup::Go)?;
    figures.push(Figure::shown("write_cpu_per_review_go", go, "µs"));
    figures.push(Figure::within(
        "write_cpu_per_review_sandgate",
        cpu(Setup::Sandgate)?,
        "µs",
        go,
    ));
    Ok(figures)
}
