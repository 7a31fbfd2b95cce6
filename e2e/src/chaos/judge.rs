//! What must hold of every history, whatever was done and whatever failed. Pure: it knows the history
//! alone, and asks no controller.

mod admission;
mod bound;
mod constant;
mod order;
mod pods;
mod proxy;
mod sandbox;
mod seat;
mod secrets;
#[cfg(test)]
mod tests;
mod witness;

use std::collections::BTreeSet;

use super::history::{Change, Kind};
use crate::audit::Request;

pub use proxy::{back as proxy_back, number as proxies, service as proxy_service};
pub use sandbox::unsettled;
pub(super) use seat::Seat;

/// A law and where it was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The law, as a sentence.
    pub law: &'static str,
    /// The resourceVersion at which it was broken.
    pub version: u64,
    /// What was seen.
    pub seen: String,
}

/// A law: its sentence, and what it finds.
type Law = (&'static str, fn(&[Change]) -> Vec<(u64, String)>);

const LAWS: &[Law] = &[
    ("no ceiling is exceeded", admission::ceilings),
    (
        "no claim is admitted before an older one that waits for the same",
        order::overtaken,
    ),
    (
        "no address is published without a ready pod",
        sandbox::addresses,
    ),
    (
        "nothing is built for a claim that is not admitted",
        admission::built,
    ),
    ("an admission is never taken back", admission::taken_back),
    (
        "a claim that failed stays failed, for the same reason",
        constant::failed,
    ),
    (
        "status.volumeSubPath never changes",
        constant::volume_sub_path,
    ),
    ("somebody else's object is never touched", constant::foreign),
    (
        "the first sandbox of a namespace comes after its baseline policy",
        sandbox::baseline_first,
    ),
    (
        "a sandbox that is told of an egress proxy comes after it",
        proxy::late,
    ),
    (
        "a move of an egress proxy is told only of one that had two addresses",
        proxy::told_without_a_move,
    ),
    (
        "no sandbox is rolled, bound or not, unless a stranger edited it",
        constant::templates,
    ),
    ("no value of a Secret is told", secrets::told),
];

/// The same of what controllers asked for.
type Witnessed = (
    &'static str,
    fn(&[Change], &[Request]) -> Vec<(u64, String)>,
);

const WITNESSED: &[Witnessed] = &[
    (
        "no controller writes to somebody else's object",
        witness::foreign,
    ),
    (
        "nobody but controllers writes a claim's status",
        witness::forged,
    ),
    ("no controller tells the value of a Secret", witness::told),
];

/// Everything in this history that breaks a law.
pub fn judge(history: &[Change]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (law, finds) in LAWS {
        findings.extend(finds(history).into_iter().map(|(version, seen)| Finding {
            law,
            version,
            seen,
        }));
    }
    findings
}

/// Everything in the API server's audit log that breaks a law, beside this history.
pub fn judge_witnessed(history: &[Change], asked: &[Request]) -> Vec<Finding> {
    let found = WITNESSED.iter().flat_map(|(law, finds)| {
        let found = finds(history, asked).into_iter();
        found.map(|(version, seen)| Finding { law, version, seen })
    });
    found.collect()
}

/// How many claims were admitted, one that was made again counted again.
pub fn admitted(history: &[Change]) -> usize {
    let mut number = 0;
    admission::each_admission(history, |_, _| number += 1);
    number
}

/// How many claims were made, one that was made again counted again.
pub fn made(history: &[Change]) -> usize {
    let claims = of_kind(history, Kind::Claim).map(Change::uid);
    claims.collect::<BTreeSet<&str>>().len()
}

fn of_kind(history: &[Change], kind: Kind) -> impl Iterator<Item = &Change> {
    history.iter().filter(move |it| it.place.0 == kind)
}
