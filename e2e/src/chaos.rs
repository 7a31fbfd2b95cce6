//! Two controllers behind a proxy that spoils what passes, people and accidents around them, all of it
//! drawn from one seed; and a judge who knows nothing but what an independent watch saw. Does I/O.

mod actors;
mod calm;
mod course;
mod deeds;
pub mod history;
pub mod judge;

use std::fmt;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::audit;
use crate::cluster::{Options, OwnCluster};
use crate::controllers::{self, Wanted};
use crate::failure::{Failure, Outcome};
use crate::fault_proxy::{Fate, Proxy, Schedule};
use crate::pair::{GRACE, Pair};
use crate::scene::Scene;
use actors::Actors;
use deeds::{CONTROLLERS, SCENES};
use history::History;
use judge::Finding;

/// Deeds of one seed: some twenty seconds.
pub const DEEDS: u32 = 90;

/// How long everything may take to come to its end once nothing happens any more. A Lease may have to run
/// out, and who found the API server away pauses.
const SETTLES_WITHIN: Duration = Duration::from_mins(2);
/// How long it has to stay as it is then: longer than whoever found a watch broken waits before it is begun anew.
const STAYS: Duration = Duration::from_secs(5);
/// The history is looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long a namespace may be without its baseline policy where nothing else fails.
const BASELINE_BACK: Duration = Duration::from_secs(1);
/// How long a sandbox may be told of a proxy that is not there any more where nothing else fails.
const PROXY_BACK: Duration = Duration::from_secs(5);

/// What one seed came to.
#[derive(Debug)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// How many claims were made.
    pub claims: usize,
    /// How many of them were admitted.
    pub admitted: usize,
    /// How many of those had an egress proxy.
    pub proxies: usize,
    /// Changes seen.
    pub changes: usize,
    /// Faults, in order.
    pub faults: Vec<String>,
    /// Deeds, in order.
    pub deeds: Vec<String>,
    /// Laws that were broken.
    pub findings: Vec<Finding>,
    /// What did not come to its end.
    pub unsettled: Vec<String>,
    /// What became of claims and runtimes, in order.
    pub course: Vec<String>,
    /// How long the baseline policy was away at the end.
    pub baseline_away: Option<Duration>,
    /// How long it took at the end until a sandbox knew another Service of its proxy.
    pub proxy_away: Option<Duration>,
    /// What each controller logged, by its name; only where something was found.
    pub logs: Vec<(String, String)>,
}

impl Report {
    /// Whether every law held and everything came to its end.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
            && self.unsettled.is_empty()
            && self.baseline_away.is_some_and(|away| away <= BASELINE_BACK)
            && self.proxy_away.is_some_and(|away| away <= PROXY_BACK)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "seed {}: {} claims, {} admitted, {} proxies, {} changes, {} deeds, {} faults",
            self.seed,
            self.claims,
            self.admitted,
            self.proxies,
            self.changes,
            self.deeds.len(),
            self.faults.len()
        )?;
        if self.is_sound() {
            let away = [self.baseline_away, self.proxy_away].map(Option::unwrap_or_default);
            let [baseline, proxy] = away.map(|away| away.as_millis());
            return write!(f, ", away for {baseline} ms and {proxy} ms");
        }
        for finding in &self.findings {
            let Finding { law, version, seen } = finding;
            write!(f, "\n  broken at resourceVersion {version}: {law}: {seen}")?;
        }
        for told in &self.unsettled {
            write!(f, "\n  not settled: {told}")?;
        }
        write!(
            f,
            "\n  the baseline policy was away for {:?}, a proxy's Service for {:?}",
            self.baseline_away, self.proxy_away
        )?;
        for told in self.deeds.iter().chain(&self.faults).chain(&self.course) {
            write!(f, "\n  {told}")?;
        }
        Ok(())
    }
}

/// Plays `length` deeds of a seed on a cluster of its own and judges what came of it.
pub async fn run(seed: u64, length: u32) -> Outcome<Report> {
    let mut options = Options::default();
    let arguments = vec![format!("--claim-policy-grace={}s", GRACE.as_secs())];
    options
        .installation
        .controller_arguments
        .clone_from(&arguments);
    let mut cluster = Box::pin(OwnCluster::start(options)).await?;
    Pair::ours(&cluster).in_force().await?;
    if let Some(controller) = cluster.installation.controller.as_mut() {
        controller.service.kill();
    }
    let schedule = Arc::new(Schedule::new(seed));
    let fate = Arc::clone(&schedule) as Arc<dyn Fate>;
    let proxy = Proxy::start(&cluster, fate).await?;
    let mut running = Vec::new();
    for number in 0..CONTROLLERS {
        let (name, pod) = (
            format!("chaos-{number}"),
            format!("sandgate-controller-{number}"),
        );
        let wanted = Wanted {
            name: &name,
            pod: &pod,
            release: "sandgate",
            server: &proxy.server,
            arguments: &arguments,
        };
        running.push(controllers::start(&cluster, &wanted).await?);
    }
    let mut scenes = Vec::new();
    for _ in 0..SCENES {
        scenes.push(Scene::on(&cluster, "chaos").await?);
    }
    let mut actors = Actors::enter(scenes, running, proxy).await?;
    let namespaces: Vec<&str> = actors.scenes.iter().map(|it| it.name()).collect();
    let mut history = History::begin(&cluster.client(), &namespaces).await?;

    let began = Instant::now();
    let mut told = Vec::new();
    for (pause, deed) in deeds::script(seed, length) {
        tokio::time::sleep(pause).await;
        told.push(format!("+{:.3}s {deed:?}", began.elapsed().as_secs_f64()));
        let done = actors.act(&deed).await;
        done.map_err(|why| Failure::saying(format!("seed {seed}: {deed:?}: {why}")))?;
    }
    schedule.calm_down();
    actors.make_up().await?;
    let mut unsettled = settle(&mut history, &actors).await?;
    let (mut baseline_away, mut proxy_away) = (None, None);
    if unsettled.is_empty() {
        baseline_away = calm::baseline_away(&mut history, &actors).await?;
        proxy_away = calm::proxy_away(&mut history, &actors).await?;
        unsettled = settle(&mut history, &actors).await?;
    }
    let changes = history.so_far()?;
    let mut findings = judge::judge(&changes);
    for scene in &actors.scenes {
        // In one that was deleted no mark can be left.
        let asked = audit::up_to_now(actors.lasting()?, scene.name()).await?;
        findings.extend(judge::judge_witnessed(&changes, &asked));
    }
    cluster.control_plane.check()?;
    let mut report = Report {
        seed,
        claims: judge::made(&changes),
        admitted: judge::admitted(&changes),
        proxies: judge::proxies(&changes),
        changes: changes.len(),
        faults: schedule.drawn(),
        deeds: told,
        findings,
        unsettled,
        course: course::course(&changes),
        baseline_away,
        proxy_away,
        logs: Vec::new(),
    };
    if !report.is_sound() {
        for (number, controller) in actors.controllers.iter().enumerate() {
            let log = fs::read_to_string(controller.service.log())?;
            report.logs.push((format!("controller-{number}"), log));
        }
    }
    Ok(report)
}

/// Waits until everything has come to its end and stays so; says what has not.
async fn settle(history: &mut History, actors: &Actors) -> Outcome<Vec<String>> {
    let may_fail = actors.may_fail();
    let deadline = Instant::now() + SETTLES_WITHIN;
    let mut turn = tokio::time::interval(LOOK_EVERY);
    let mut since = Instant::now();
    let mut changes = 0;
    loop {
        turn.tick().await;
        let seen = history.so_far()?;
        let unsettled = judge::unsettled(&seen, &may_fail);
        if !unsettled.is_empty() || seen.len() != changes {
            since = Instant::now();
            changes = seen.len();
        }
        let over = Instant::now() >= deadline;
        if since.elapsed() >= STAYS || over {
            return Ok(if unsettled.is_empty() && over && since.elapsed() < STAYS {
                vec![format!("{} changes, and they go on", seen.len())]
            } else {
                unsettled
            });
        }
    }
}
