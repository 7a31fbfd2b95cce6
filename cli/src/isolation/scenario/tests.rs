use std::collections::BTreeSet;

use rstest::rstest;

use super::*;
use crate::isolation::destination::{destinations, tests::facts};

fn labels(rows: &[Destination], keep: impl Fn(&Destination) -> bool) -> Vec<&str> {
    let kept = rows.iter().filter(|row| keep(row));
    kept.map(|row| row.label.as_str()).collect()
}

#[rstest]
#[case("deny-all", &[])]
#[case("dns", &["dns-pod-dns", "dns-svc-dns", "dns-pod-tcp", "dns-svc-tcp"])]
#[case("numbered-port", &["numbered-pod-tcp", "numbered-svc-tcp"])]
#[case("named-port", &["named-pod-tcp", "named-svc-tcp"])]
#[case("other-namespace", &["elsewhere-pod-tcp", "elsewhere-svc-tcp"])]
#[case("parallel", &[])]
#[case("restart", &[])]
#[case("address-reuse", &[])]
#[case("enforcer-restarted", &["numbered-pod-tcp", "numbered-svc-tcp"])]
fn each_class_opens_what_it_names_and_nothing_else(#[case] id: &str, #[case] open: &[&str]) {
    let rows = destinations(&facts(false));
    let scenario = scenario(id).unwrap();
    let opens = labels(&rows, |row| scenario.expects(row) == Expected::Open);
    assert_eq!(opens, open);
    let undefined = labels(&rows, |row| {
        scenario.expects(row) == Expected::ImplementationDefined
    });
    assert_eq!(
        undefined,
        [
            "resolver-1-dns",
            "resolver-1-tcp",
            "node-tcp",
            "node-icmp",
            "gateway-tcp",
            "gateway-icmp",
            "api-pod-tcp",
            "api-svc-tcp"
        ]
    );
}

#[test]
fn no_two_scenarios_share_a_name() {
    let ids: BTreeSet<&str> = SCENARIOS.iter().map(|scenario| scenario.id).collect();
    assert_eq!(ids.len(), SCENARIOS.len());
}

#[test]
fn many_sandboxes_dial_the_tripwires_which_no_class_opens() {
    let rows = destinations(&facts(false));
    let parallel = scenario("parallel").unwrap();
    let dialled = labels(&rows, |row| parallel.dials(row));
    for label in ["forbidden-pod-tcp", "forbidden-svc-udp", "metadata-tcp"] {
        assert!(dialled.contains(&label), "{label}");
    }
    let opened = rows.iter().filter(|row| parallel.dials(row));
    assert!(opened.into_iter().all(|row| row.opened_by.is_none()));
}

#[test]
fn a_sandbox_that_dials_for_ever_dials_only_what_is_heard_at_the_other_end() {
    let rows = destinations(&facts(false));
    for scenario in SCENARIOS {
        let mut endless = rows.iter().filter(|row| scenario.dials_for_ever(row));
        assert!(endless.all(|row| row.logged), "{}", scenario.id);
        if let Kind::Ending(_) = scenario.kind {
            // Without something it may reach nobody could tell whether it dials at all.
            let open = rows
                .iter()
                .any(|row| scenario.dials_for_ever(row) && scenario.expects(row) == Expected::Open);
            assert!(open, "{}", scenario.id);
        }
    }
}

#[test]
fn only_a_nodes_owner_can_disturb_it() {
    let needing = SCENARIOS
        .iter()
        .filter(|scenario| scenario.needs_the_node());
    let needing: Vec<&str> = needing.map(|scenario| scenario.id).collect();
    assert_eq!(
        needing,
        [
            "enforcer-restarted",
            "kubelet-restarted",
            "address-reuse",
            "containerd-restarted"
        ]
    );
}
