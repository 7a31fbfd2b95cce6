use super::*;
use crate::isolation::assemble::assemble;
use crate::isolation::assemble::tests::{bad, good};
use crate::isolation::ending;
use crate::isolation::scenario::{Scenario, scenario};

fn tried(scenario: &Scenario) -> Tried {
    Tried {
        id: scenario.id.to_owned(),
        title: scenario.title.to_owned(),
        about: scenario.about.to_owned(),
        trouble: None,
    }
}

/// The report with endings of every kind.
pub fn with_endings(mut report: Report) -> Report {
    for (id, outcome, arrivals, lived) in [
        ("claim-deleted-background", Outcome::AsExpected, 0, 30.2),
        ("claim-deleted-foreground", Outcome::Leak, 5223, 12.0),
        (
            "namespace-deleted",
            Outcome::ImplementationDefined,
            17,
            30.4,
        ),
    ] {
        let scenario = scenario(id).unwrap();
        report.scenarios.push(tried(scenario));
        let mut ended = ending::unmeasured(scenario, "");
        ended.outcome = outcome;
        ended.reason = None;
        ended.lived_on_seconds = Some(lived);
        ended.forbidden_arrivals = arrivals;
        ended.window_seconds = (arrivals > 0).then_some(lived - 0.5);
        ended.allowed_arrivals = 700;
        report.endings.push(ended);
    }
    let failed = scenario("claim-failed").unwrap();
    report.scenarios.push(tried(failed));
    let why = "the workload ended at once, though it ignores SIGTERM";
    report.endings.push(ending::unmeasured(failed, why));
    report
}

#[test]
fn the_json_file_reads_back_as_the_report() {
    let report = with_endings(assemble(&bad()));
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
}

#[test]
fn a_run_that_measured_nothing_does_not_pass() {
    let nothing = Counts::default();
    assert!(!nothing.pass(true));
    assert_eq!(nothing.sentence(true), "Nothing was measured.");
}

#[test]
fn the_sentence_says_what_is_wrong_and_how_much_of_it() {
    let counts = Counts {
        as_expected: 40,
        leaks: 2,
        blocked: 1,
        weaknesses: 3,
        ..Counts::default()
    };
    assert_eq!(
        counts.sentence(false),
        "Not isolated as it should be: 2 reachable that must not be, 1 not reachable that must be, 3 not hardened as they should be; 40 as they should be."
    );
    assert!(!counts.pass(true));
}

#[test]
fn what_is_not_measured_fails_a_run_unless_it_is_allowed() {
    let counts = Counts {
        as_expected: 40,
        unmeasured: 2,
        ..Counts::default()
    };
    assert!(!counts.pass(false));
    assert!(counts.pass(true));
    assert_eq!(
        counts.sentence(true),
        "All 40 measurements are as they should be, 2 not measured."
    );
}

#[test]
fn each_cell_is_counted_once() {
    let report = assemble(&good());
    let counts = report.counts;
    let cells = counts.as_expected
        + counts.leaks
        + counts.blocked
        + counts.unmeasured
        + counts.implementation_defined
        + counts.absent;
    // One for the hardening that was not told.
    assert_eq!(cells, report.cells.len() + 1);
}
