//! The matrices, cell by cell. Pure.

use super::{Gathered, Trial, witness};
use crate::isolation::destination::{Presence, Via};
use crate::isolation::evidence::{Evidence, Sighting};
use crate::isolation::facts::{Family, Protocol};
use crate::isolation::ingress::{self, Caller};
use crate::isolation::ledger::Ledger;
use crate::isolation::report::Cell;
use crate::isolation::scenario::Expected;
use crate::isolation::verdict::{self, Verdict};

pub(super) fn egress(gathered: &Gathered, trial: &Trial) -> Vec<Cell> {
    let scenario = trial.scenario;
    let dialled = gathered
        .destinations
        .iter()
        .filter(|row| scenario.dials(row) || scenario.dials_for_ever(row));
    dialled
        .map(|row| {
            let expected = scenario.expects(row);
            let logged = row.logged;
            let evidence = Evidence::gather(&trial.sandboxes, &row.label, logged, &gathered.ledger);
            let mut verdict = match &row.target {
                Err(absent) if row.presence == Presence::Perhaps => Verdict::absent(absent),
                Err(missing) => verdict::judge(
                    expected,
                    row.presence,
                    &Evidence::default(),
                    Some(missing),
                    &Ok(()),
                ),
                Ok(_) => verdict::judge(
                    expected,
                    row.presence,
                    &evidence,
                    trial.trouble.as_deref(),
                    &witness(gathered, row),
                ),
            };
            if verdict.reason.is_none() {
                verdict.reason = row.undefined.map(str::to_owned);
            }
            Cell {
                scenario: scenario.id.to_owned(),
                from: "sandbox".to_owned(),
                destination: row.label.clone(),
                to: row.to.clone(),
                via: row.via,
                protocol: row.protocol,
                family: row.family,
                target: row.target.clone().ok(),
                expected,
                measured: verdict.measured,
                outcome: verdict.outcome,
                reason: verdict.reason,
                evidence,
            }
        })
        .collect()
}

pub(super) fn ingress(trial: &Trial) -> Vec<Cell> {
    let own = trial
        .callers
        .iter()
        .find(|(caller, _)| *caller == Caller::OwnRuntime);
    let own = own.map(|(_, sighting)| sighting);
    let nobody = Sighting::default();
    let sandbox = trial.sandboxes.first().unwrap_or(&nobody);
    let mut cells = Vec::new();
    for (caller, sighting) in &trial.callers {
        for door in &trial.doors {
            let expected = caller.expects(door);
            let evidence = Evidence::gather(
                std::slice::from_ref(sighting),
                &door.label,
                false,
                &Ledger::default(),
            );
            let verdict = verdict::judge(
                expected,
                Presence::Always,
                &evidence,
                trial.trouble.as_deref(),
                &ingress::witness(*caller, door, own, sandbox),
            );
            cells.push(Cell {
                scenario: trial.scenario.id.to_owned(),
                from: caller.title().to_owned(),
                destination: door.label.clone(),
                to: door.to.to_owned(),
                via: door.via,
                protocol: Protocol::Tcp,
                family: door.family,
                target: Some(format!("tcp:{}", door.socket)),
                expected,
                measured: verdict.measured,
                outcome: verdict.outcome,
                reason: verdict.reason,
                evidence,
            });
        }
    }
    if cells.is_empty() {
        cells.push(no_ingress(trial));
    }
    cells
}

/// What stands for a matrix that could not even be begun.
fn no_ingress(trial: &Trial) -> Cell {
    let trouble = trial.trouble.as_deref().unwrap_or("nobody dialled");
    let expected = Expected::Open;
    let evidence = Evidence::default();
    let verdict = verdict::judge(
        expected,
        Presence::Always,
        &evidence,
        Some(trouble),
        &Ok(()),
    );
    Cell {
        scenario: trial.scenario.id.to_owned(),
        from: Caller::OwnRuntime.title().to_owned(),
        destination: "class-pod".to_owned(),
        to: "class port".to_owned(),
        via: Via::PodIp,
        protocol: Protocol::Tcp,
        family: Family::IPv4,
        target: None,
        expected,
        measured: verdict.measured,
        outcome: verdict.outcome,
        reason: verdict.reason,
        evidence,
    }
}
