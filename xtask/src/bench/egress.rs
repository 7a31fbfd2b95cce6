//! What the egress proxy does, beside the proxies that others run for the same end: squid, tinyproxy and
//! smokescreen, with the same allowlist, the same origin and their logs on. Does I/O, bounded in time.
//!
//! They live in a network of their own, where an address of the internet is at hand, so ours is measured
//! as it is shipped: it asks DNS and judges the address. The others read `/etc/hosts`, which is cheaper.

mod correct;
mod dns;
mod judged;
mod load;
mod origin;
mod peers;
mod proxy;
mod tunnel;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use sandgate_e2e::folders::RunFolder;
use sandgate_e2e::progress::Step;
use sandgate_e2e::real_node::internet;
use sandgate_e2e::room::Room;

use self::dns::Dns;
use self::judged::Measured;
use self::load::IDLE;
use self::origin::Origin;
pub use self::peers::Peers;
use self::proxy::{Proxy, Running, Stage};
use self::tunnel::{HOSTS, Way};
use super::figure::Figure;
use super::{machine, number};

/// Each is measured this often, in turns: what disturbs the machine meanwhile disturbs all alike.
const ROUNDS: usize = 3;

/// Where the folder of the run is seen in the room, by whomever the proxies run as.
const STAGE: &str = "/mnt";

/// Where they write, there.
const LOGS: &str = "/mnt/logs";

/// Where what Debian packs is, there.
const DEBIAN: &str = "debian";

/// What came of each proxy, and of dialling without one, round by round.
type Results = BTreeMap<Option<Proxy>, Vec<Measured>>;

/// Measures `binary` beside the others.
pub fn measure(binary: &Path, peers: Peers) -> anyhow::Result<Vec<Figure>> {
    machine::allow_open_files()?;
    let folder = RunFolder::create()?;
    let mut figures = peers.told();
    let room = enter(&folder, peers.debian)?;
    let mut programs = peers.programs;
    programs.insert(Proxy::Sandgate, binary.to_owned());
    let results = room.run(move || rounds(programs))??;
    figures.extend(judged::figures(&results)?);
    Ok(figures)
}

/// A network of its own, in which the proxies' names lead to the origin.
fn enter(folder: &RunFolder, debian: Option<PathBuf>) -> anyhow::Result<Room> {
    let hosts: Vec<String> = (0..HOSTS)
        .map(|turn| format!("{} {}\n", tunnel::address(turn), tunnel::host(turn)))
        .collect();
    let path = folder.path().join("hosts");
    fs::write(&path, format!("127.0.0.1 localhost\n{}", hosts.concat()))
        .context("failed to write the hosts")?;
    // Squid gives up its rights, and then reads and writes there.
    for (folder, mode) in [
        (folder.path().to_owned(), 0o755),
        (folder.folder("logs")?, 0o777),
    ] {
        fs::set_permissions(&folder, Permissions::from_mode(mode))
            .with_context(|| format!("failed to open {} to all", folder.display()))?;
    }
    let mut shown = vec![
        (folder.path().to_owned(), STAGE.into()),
        (path, "/etc/hosts".into()),
    ];
    if let Some(root) = debian {
        folder.folder(DEBIAN)?;
        shown.push((root, Path::new(STAGE).join(DEBIAN)));
    }
    internet::open(shown).context("failed to make a network of its own")
}

/// All rounds, from within the room: threads that are started here are born in it.
fn rounds(programs: BTreeMap<Proxy, PathBuf>) -> anyhow::Result<Results> {
    let origin = Origin::serve()?;
    let dns = Dns::serve()?;
    let stage = Stage {
        room: Room::open(|| Ok(())).context("failed to start a thread")?,
        programs,
        dns: dns.address(),
    };
    let present = Proxy::ALL
        .into_iter()
        .filter(|proxy| stage.programs.contains_key(proxy));
    let all: Vec<Option<Proxy>> = [None].into_iter().chain(present.map(Some)).collect();
    let mut results = Results::new();
    for round in 1..=ROUNDS {
        for who in &all {
            let name = who.map_or("tunnels without a proxy", Proxy::name);
            let step = Step::begin(&format!("measuring {name}, round {round} of {ROUNDS}"));
            let running = who.map(|proxy| stage.start(proxy)).transpose()?;
            let measured = once(running.as_ref(), &origin)
                .with_context(|| format!("failed to measure {name}"))?;
            results.entry(*who).or_default().push(measured);
            step.done();
        }
    }
    Ok(results)
}

/// One round of one of them. The memory comes first: what a load leaves behind would serve tunnels after it.
fn once(running: Option<&Running>, origin: &Origin) -> anyhow::Result<Measured> {
    let way = running.map_or(Way::Direct, |running| running.way);
    let told = |outcome: anyhow::Result<()>| outcome.err().map(|error| format!("{error:#}"));
    let half_close = told(correct::half_close(way));
    let early_bytes = told(correct::early_bytes(way));
    let resident = || running.map_or(Ok(0.0), Running::resident);
    let before = resident()?;
    let (held, broke) = load::hold(way);
    let grown = resident()? - before;
    let mut fault = broke.map(|why| format!("{} of {IDLE} stood: {why:#}", held.len()));
    let tunnel = grown / number(held.len().max(1));
    drop(held);
    origin.let_go();

    let (rate, saturated) = load::saturate(way)?;
    let paced = load::paced(way)?;
    for counted in [&saturated, &paced] {
        if counted.failed > 0 {
            let (failed, why) = (counted.failed, &counted.complaint);
            fault.get_or_insert_with(|| format!("{failed} failed: {why}"));
        }
    }
    let throughput = load::stream(way).or_else(|error| {
        fault.get_or_insert_with(|| format!("{error:#}"));
        anyhow::Ok(0.0)
    })?;
    Ok(Measured {
        rate,
        paced: paced.latencies,
        throughput,
        tunnel,
        faults: [half_close, early_bytes, fault],
    })
}
