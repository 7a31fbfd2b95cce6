//! What the enforcer of the real node is known to let through; anything else is news. Pure.

use sandgate_cli::isolation::report::{Cell, Report};
use sandgate_cli::isolation::verdict::Outcome;

/// The first moments of a sandbox: whatever gets out later is news. Whoever learns of a pod learns of it
/// by then.
const FIRST_MOMENTS_MS: f64 = 2_000.0;

/// What kube-network-policies v0.8.0 lets through, and why. Sandgate's own share in it holds: the policies
/// stand before the pod does.
struct Known {
    scenario: &'static str,
    /// Which of its sandboxes start meanwhile, by what follows the scenario's name. Those that ran
    /// already are shut, whatever happens.
    starts: fn(&str) -> bool,
    why: &'static str,
}

const KNOWN: [Known; 2] = [
    Known {
        scenario: "address-reuse",
        starts: |part| part.parse::<usize>().is_ok(),
        why: "it takes a new pod for the finished one that had its address, until the kubelet has told the API server of the new one",
    },
    Known {
        scenario: "containerd-restarted",
        starts: |part| ["fresh", "after"].contains(&part),
        why: "it does not connect again to a containerd that was restarted, and then learns of a pod's address only after the pod has begun",
    },
];

/// Why this cell is no news, if it is none: sandboxes got through that were starting, in their first
/// moments, and then no more.
fn known(cell: &Cell) -> Option<&'static Known> {
    let known = KNOWN.iter().find(|it| it.scenario == cell.scenario)?;
    let evidence = &cell.evidence;
    let part = |name: &str| {
        let part = name.strip_prefix(known.scenario)?.strip_prefix('-')?;
        Some((known.starts)(part))
    };
    let start = |name: &String| part(name) == Some(true);
    let explained = cell.outcome == Outcome::Leak
        && !evidence.reached_by.is_empty()
        && evidence.reached_by.iter().all(start)
        && evidence
            .last_reached_ms
            .is_some_and(|last| last <= FIRST_MOMENTS_MS);
    explained.then_some(known)
}

/// What is to be told of a report's leaks that are known: one sentence a scenario.
pub fn told(report: &Report) -> Vec<String> {
    let leaked = KNOWN.iter().filter(|it| {
        let mut cells = report.cells.iter().filter_map(known);
        cells.any(|known| known.scenario == it.scenario)
    });
    leaked
        .map(|it| {
            format!(
                "{}: known of kube-network-policies: {}",
                it.scenario, it.why
            )
        })
        .collect()
}

/// Whether nothing failed but what is known.
pub fn nothing_else(report: &Report) -> bool {
    let mut cells = report.cells.iter();
    let cells = cells.all(|cell| !cell.outcome.fails(false) || known(cell).is_some());
    let endings = report.endings.iter().all(|it| !it.outcome.fails(false));
    let hardened = report
        .hardening
        .iter()
        .all(|it| !it.checks.is_empty() && it.checks.iter().all(|check| check.holds));
    cells && endings && hardened && report.counts.as_expected > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    /// A report with one cell that is as it should be and one of this outcome and evidence.
    fn report(scenario: &str, outcome: &str, evidence: &Value) -> Report {
        let cell = |scenario: &str, outcome: &str, evidence: &Value| {
            json!({
                "scenario": scenario, "from": "sandbox", "destination": "forbidden-pod-tcp",
                "to": "pod", "via": "pod-ip", "protocol": "TCP", "family": "IPv4",
                "expected": "shut", "measured": "open", "outcome": outcome, "evidence": evidence,
            })
        };
        let shut = cell("deny-all", "as-expected", &json!({}));
        let other = cell(scenario, outcome, evidence);
        serde_json::from_value(json!({
            "version": 1, "began": "", "seconds": 1.0, "passed": false, "sentence": "",
            "cluster": {
                "kubernetes": "", "nodes": 1, "kernel": "", "containerRuntime": "",
                "architecture": "", "operatorImage": "", "probeImage": "",
            },
            "counts": {
                "asExpected": 1, "leaks": 1, "blocked": 0, "unmeasured": 0,
                "implementationDefined": 0, "absent": 0, "weaknesses": 0,
            },
            "scenarios": [],
            "cells": [shut, other],
            "endings": [],
            "hardening": [],
        }))
        .unwrap()
    }

    /// What is seen where these sandboxes got through, until so many milliseconds after their start.
    fn until(last: f64, names: &[&str]) -> Value {
        json!({"pods": 4, "reached": names.len(), "reachedBy": names, "lastReachedMs": last})
    }

    #[rstest]
    #[case::an_heir("address-reuse", until(650.0, &["address-reuse-1", "address-reuse-4"]))]
    #[case::one_that_starts("containerd-restarted", until(90.0, &["containerd-restarted-fresh"]))]
    #[case::one_that_starts_later("containerd-restarted", until(2_000.0, &["containerd-restarted-after"]))]
    fn a_leak_in_the_first_moments_of_a_sandbox_that_starts_is_known_and_told_with_its_cause(
        #[case] scenario: &str,
        #[case] evidence: Value,
    ) {
        let report = report(scenario, "leak", &evidence);
        assert!(nothing_else(&report));
        let told = told(&report);
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with(scenario), "{told:?}");
    }

    #[rstest]
    #[case::an_heir_that_stays_open("address-reuse", until(3_950.0, &["address-reuse-1"]))]
    #[case::one_that_starts_and_stays_open(
        "containerd-restarted",
        until(2_001.0, &["containerd-restarted-fresh"])
    )]
    #[case::one_that_ran_already(
        "containerd-restarted",
        until(90.0, &["containerd-restarted-running"])
    )]
    #[case::one_that_ran_among_others(
        "containerd-restarted",
        until(90.0, &["containerd-restarted-fresh", "containerd-restarted-running"])
    )]
    #[case::somebody_who_dials_a_sandbox("address-reuse", until(90.0, &["neighbour"]))]
    #[case::nobody_knows_who("address-reuse", until(90.0, &[]))]
    #[case::nobody_knows_when("address-reuse", json!({"reachedBy": ["address-reuse-1"]}))]
    #[case::another_scenario("enforcer-restarted", until(90.0, &["enforcer-restarted-fresh"]))]
    #[case::no_disturbance("deny-all", until(90.0, &["deny-all-1"]))]
    fn any_other_leak_is_news(#[case] scenario: &str, #[case] evidence: Value) {
        let report = report(scenario, "leak", &evidence);
        assert!(!nothing_else(&report));
        assert_eq!(told(&report), [""; 0]);
    }

    #[rstest]
    #[case("unmeasured", false)]
    #[case("blocked", false)]
    #[case("absent", true)]
    fn whatever_else_fails_where_leaks_are_known_fails(
        #[case] outcome: &str,
        #[case] passes: bool,
    ) {
        let evidence = until(90.0, &["containerd-restarted-fresh"]);
        let report = report("containerd-restarted", outcome, &evidence);
        assert_eq!(nothing_else(&report), passes);
    }
}
