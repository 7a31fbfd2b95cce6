//! What the enforcer of the real node is known to let through; anything else is news. Pure.

use sandgate_cli::isolation::report::Report;
use sandgate_cli::isolation::verdict::Outcome;

/// Scenarios in which kube-network-policies v0.8.0 leaks, and why. Sandgate's own share in them holds:
/// the policies stand before the pod does.
const KNOWN: [(&str, &str); 2] = [
    (
        "address-reuse",
        "it takes a new pod for the finished one that had its address, until the kubelet has told the API server of the new one",
    ),
    (
        "containerd-restarted",
        "it does not connect again to a containerd that was restarted, and then learns of a pod's address only after the pod has begun",
    ),
];

/// What is to be told of a report's leaks that are known: one sentence a scenario.
pub fn told(report: &Report) -> Vec<String> {
    let leaked = KNOWN.into_iter().filter(|(scenario, _)| {
        let mut cells = report.cells.iter();
        cells.any(|cell| cell.scenario == *scenario && cell.outcome == Outcome::Leak)
    });
    leaked
        .map(|(scenario, why)| format!("{scenario}: known of kube-network-policies: {why}"))
        .collect()
}

/// Whether nothing failed but what is known.
pub fn nothing_else(report: &Report) -> bool {
    let known = |scenario: &str| KNOWN.iter().any(|(id, _)| *id == scenario);
    let cells = report.cells.iter().all(|cell| {
        !cell.outcome.fails(false) || (cell.outcome == Outcome::Leak && known(&cell.scenario))
    });
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
    use serde_json::json;

    /// A report with one cell that is as it should be and one of this outcome.
    fn report(scenario: &str, outcome: &str) -> Report {
        let cell = |scenario: &str, outcome: &str| {
            json!({
                "scenario": scenario, "from": "sandbox", "destination": "forbidden-pod-tcp",
                "to": "pod", "via": "pod-ip", "protocol": "TCP", "family": "IPv4",
                "expected": "shut", "measured": "open", "outcome": outcome, "evidence": {},
            })
        };
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
            "cells": [cell("deny-all", "as-expected"), cell(scenario, outcome)],
            "endings": [],
            "hardening": [],
        }))
        .unwrap()
    }

    #[rstest]
    #[case("address-reuse", "leak", true)]
    #[case("containerd-restarted", "leak", true)]
    #[case("containerd-restarted", "unmeasured", false)]
    #[case("containerd-restarted", "blocked", false)]
    #[case("enforcer-restarted", "leak", false)]
    #[case("deny-all", "leak", false)]
    #[case("deny-all", "absent", true)]
    fn only_a_leak_that_is_known_is_let_pass(
        #[case] scenario: &str,
        #[case] outcome: &str,
        #[case] passes: bool,
    ) {
        assert_eq!(nothing_else(&report(scenario, outcome)), passes);
    }

    #[test]
    fn a_known_leak_is_told_with_its_cause() {
        let told = told(&report("address-reuse", "leak"));
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("finished one"), "{told:?}");
    }
}
