use sandgate_probe::hardening::Hardening;
use sandgate_probe::line::Contact;
use sandgate_probe::tally::Tally;

use super::*;
use crate::isolation::destination::{destinations, tests::facts};
use crate::isolation::ingress::{LOOPBACK, doors};
use crate::isolation::report::Cell;
use crate::isolation::scenario::scenario;
use crate::isolation::scene::asked;
use crate::isolation::verdict::Measured;

const PERIOD_US: u64 = 4_000_000;

/// A tally of 400 dials, answered from `first` to `last` (µs) or never.
fn tally(label: &str, answered: Option<(u64, u64)>) -> Tally {
    Tally {
        target: label.to_owned(),
        attempts: 400,
        answers: answered.map_or(0, |_| 12),
        timeouts: answered.map_or(400, |_| 388),
        first_attempt_us: Some(180),
        first_answer_us: answered.map(|(first, _)| first),
        last_answer_us: answered.map(|(_, last)| last),
        last_error: Some("timed out".to_owned()),
        ..Tally::default()
    }
}

/// A pod that dials everything and is answered where `open` says.
pub fn dialler(name: &str, rows: &[Destination], open: impl Fn(&Destination) -> bool) -> Sighting {
    let there = rows.iter().filter(|row| row.target.is_ok());
    Sighting {
        name: name.to_owned(),
        started_us: Some(1_000_000),
        dialled: there
            .map(|row| tally(&row.label, open(row).then_some((300, PERIOD_US - 100))))
            .collect(),
        hardening: None,
    }
}

fn nothing_of(scenario: &'static Scenario) -> Trial {
    Trial {
        scenario,
        trouble: None,
        sandboxes: Vec::new(),
        callers: Vec::new(),
        doors: Vec::new(),
        watched: Watched::default(),
        asked: asked(scenario.read_only_root()),
    }
}

/// A run of a cluster that is as it should be, and has no metadata service.
pub fn good() -> Gathered {
    let rows = destinations(&facts(false));
    let witness = |name: &str| dialler(name, &rows, |row| row.label != "metadata-tcp");
    let mut trials = Vec::new();
    for id in ["deny-all", "numbered-port", "parallel"] {
        let scenario = scenario(id).unwrap();
        let mut trial = nothing_of(scenario);
        let count = if id == "parallel" { 15 } else { 1 };
        for index in 1..=count {
            let dialled = rows.iter().filter(|row| scenario.dials(row));
            let dialled: Vec<Destination> = dialled.cloned().collect();
            // Like most network plugins, this one lets a pod reach its own node.
            let sandbox = dialler(&format!("{id}-{index}"), &dialled, |row| {
                scenario.expects(row) != Expected::Shut
            });
            trial.sandboxes.push(sandbox);
        }
        trials.push(trial);
    }
    trials.push(ingress());
    Gathered {
        began: "2026-03-01T12:00:00Z".to_owned(),
        seconds: 95.0,
        cluster: Cluster {
            kubernetes: "v1.36.3".to_owned(),
            nodes: 1,
            kernel: "6.18".to_owned(),
            container_runtime: "containerd://2.4.2".to_owned(),
            os: "Debian GNU/Linux 13 (trixie)".to_owned(),
            architecture: "amd64".to_owned(),
            cpus: "2".to_owned(),
            operator_image: "sandgate.local/sandgate:1".to_owned(),
            probe_image: "sandgate.local/sandgate:1".to_owned(),
        },
        variant: None,
        allow_unmeasured: false,
        period: Duration::from_secs(4),
        witnesses: [witness("witness-before"), witness("witness-after")],
        destinations: rows,
        ledger: Ledger::of_run("run"),
        trials,
    }
}

fn ingress() -> Trial {
    let mut trial = nothing_of(scenario("ingress").unwrap());
    trial.doors = doors(&facts(false).sibling);
    let answered = Some((300, 900));
    trial.sandboxes.push(Sighting {
        dialled: vec![tally(LOOPBACK, answered)],
        ..Sighting::of_pod("ingress")
    });
    for caller in Caller::ALL {
        let dialled = trial.doors.iter().map(|door| {
            let open = caller.expects(door) == Expected::Open;
            tally(&door.label, answered.filter(|_| open))
        });
        let sighting = Sighting {
            started_us: Some(5),
            dialled: dialled.collect(),
            ..Sighting::of_pod(caller.name())
        };
        trial.callers.push((caller, sighting));
    }
    trial
}

/// A run with everything that can go wrong.
pub fn bad() -> Gathered {
    let mut gathered = good();
    // A leak of the first moments, by the sender's own view.
    let deny_all = &mut gathered.trials[0].sandboxes[0];
    *tally_of(deny_all, "forbidden-pod-tcp") = tally("forbidden-pod-tcp", Some((1_200, 27_400)));
    // One of fifteen, known only to the receiver.
    gathered.ledger.enter(&Contact {
        at_us: 1_004_500,
        contact: sandgate_probe::line::Protocol::Udp,
        port: 8080,
        from: "10.0.0.9".to_owned(),
        to: None,
        said: "run/parallel-7>forbidden-pod-udp".to_owned(),
    });
    // What should be open is not.
    let numbered = &mut gathered.trials[1].sandboxes[0];
    *tally_of(numbered, "numbered-svc-tcp") = tally("numbered-svc-tcp", None);
    // The witness lost something on the way.
    *tally_of(&mut gathered.witnesses[1], "dns-pod-dns") = tally("dns-pod-dns", None);
    // A stranger gets in.
    let stranger = &mut gathered.trials[3].callers[2].1;
    *tally_of(stranger, "other-pod") = tally("other-pod", Some((300, 900)));
    let mut failed = nothing_of(scenario("restart").unwrap());
    failed.trouble = Some("claim restart did not become Bound: Unschedulable: no room".to_owned());
    gathered.trials.push(failed);
    gathered.variant = Some("the node is not guarded".to_owned());
    gathered
}

fn tally_of<'a>(sighting: &'a mut Sighting, label: &str) -> &'a mut Tally {
    let mut dialled = sighting.dialled.iter_mut();
    dialled.find(|tally| tally.target == label).unwrap()
}

fn cell<'a>(report: &'a Report, scenario: &str, destination: &str) -> &'a Cell {
    let mut cells = report.cells.iter();
    cells
        .find(|cell| cell.scenario == scenario && cell.destination == destination)
        .unwrap()
}

/// Without hardening, which has tests of its own.
fn judged(gathered: &Gathered) -> Report {
    let mut gathered = gathered.clone();
    for trial in &mut gathered.trials {
        for sighting in &mut trial.sandboxes {
            sighting.hardening = None;
        }
    }
    assemble(&gathered)
}

#[test]
fn a_cluster_that_isolates_has_no_cell_that_fails() {
    let report = judged(&good());
    let wrong: Vec<&Cell> = report
        .cells
        .iter()
        .filter(|cell| cell.outcome.fails(false))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(
        cell(&report, "numbered-port", "numbered-svc-tcp").measured,
        Measured::Open
    );
    assert_eq!(
        cell(&report, "deny-all", "metadata-tcp").outcome,
        Outcome::Absent
    );
    assert_eq!(
        cell(&report, "deny-all", "node-icmp").outcome,
        Outcome::ImplementationDefined
    );
    assert_eq!(
        cell(&report, "parallel", "forbidden-pod-tcp").evidence.pods,
        15
    );
}

#[test]
fn everything_that_is_wrong_is_found() {
    let report = judged(&bad());
    assert!(!report.passed);
    let outcome = |scenario, destination| cell(&report, scenario, destination).outcome;
    assert_eq!(outcome("deny-all", "forbidden-pod-tcp"), Outcome::Leak);
    assert_eq!(outcome("parallel", "forbidden-pod-udp"), Outcome::Leak);
    assert_eq!(
        outcome("numbered-port", "numbered-svc-tcp"),
        Outcome::Blocked
    );
    assert_eq!(outcome("deny-all", "dns-pod-dns"), Outcome::Unmeasured);
    assert_eq!(outcome("ingress", "other-pod"), Outcome::AsExpected);
    let stranger = report
        .cells
        .iter()
        .filter(|cell| cell.from == Caller::NoRuntime.title() && cell.outcome == Outcome::Leak);
    assert_eq!(stranger.count(), 1);
    let restart = report
        .cells
        .iter()
        .filter(|cell| cell.scenario == "restart");
    let (mut left_open, mut judged) = (0, 0);
    for cell in restart {
        assert_eq!(cell.outcome, Outcome::Unmeasured, "{}", cell.destination);
        match cell.expected {
            Expected::ImplementationDefined => left_open += 1,
            _ => judged += 1,
        }
    }
    assert!(left_open > 0 && judged > 0, "{left_open} {judged}");
}

#[test]
fn a_receiver_whose_log_has_holes_is_no_proof_of_silence() {
    let mut gathered = good();
    gathered.ledger.missing = Some("a receiver left 7 lines out of its log".to_owned());
    let report = judged(&gathered);
    assert_eq!(
        cell(&report, "deny-all", "forbidden-pod-tcp").outcome,
        Outcome::Unmeasured
    );
    // Nobody of ours listens there.
    assert_eq!(
        cell(&report, "deny-all", "sibling-pod-tcp").outcome,
        Outcome::AsExpected
    );
}

#[test]
fn a_cluster_without_enforcement_is_told_so_in_one_sentence() {
    let mut gathered = good();
    let rows = gathered.destinations.clone();
    gathered.trials[0].sandboxes = vec![dialler("deny-all-1", &rows, |_| true)];
    assert!(unenforced(&gathered.trials[0], &rows, gathered.period));
    let report = judged(&gathered);
    assert!(!report.passed);
    assert!(
        report
            .sentence
            .starts_with("Nothing here enforces NetworkPolicies"),
        "{}",
        report.sentence
    );
}

#[test]
fn a_leak_of_the_first_moments_is_not_taken_for_a_cluster_without_enforcement() {
    let gathered = bad();
    for trial in &gathered.trials {
        assert!(!unenforced(trial, &gathered.destinations, gathered.period));
    }
}

#[test]
fn a_container_that_tells_nothing_of_itself_fails_the_run() {
    let report = judged(&good());
    assert_eq!(report.hardening.len(), 1);
    assert_eq!(report.counts.unmeasured, 1);
    assert!(!report.passed);
    let mut gathered = good();
    gathered.trials[0].sandboxes[0].hardening = Some(Hardening::default());
    let report = assemble(&gathered);
    assert!(report.counts.weaknesses > 0);
}

#[test]
fn of_a_sandbox_that_never_was_nothing_is_said_to_be_hardened_or_not() {
    let mut gathered = good();
    gathered.trials[0].sandboxes.clear();
    gathered.trials[0].trouble = Some("no pod came".to_owned());
    let report = assemble(&gathered);
    assert!(report.hardening.is_empty(), "{:?}", report.hardening);
    assert!(!report.passed, "its cells are unmeasured, and fail the run");
}
