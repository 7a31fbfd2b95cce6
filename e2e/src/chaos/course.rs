//! What became of claims and their runtimes, a line for each change, for who looks into a broken law. Pure.

use serde_json::Value;

use super::history::{Change, Kind};
use super::judge::Seat as _;

/// Every change of a claim or a runtime, in the order of resourceVersions.
pub fn course(history: &[Change]) -> Vec<String> {
    let told = history.iter().filter_map(|change| match change.place.0 {
        Kind::Claim => Some((change, of_claim(change))),
        Kind::Runtime => Some((change, of_runtime(change))),
        _ => None,
    });
    told.map(|(change, what)| {
        let (kind, namespace, name) = &change.place;
        let at = change.at.as_secs_f64();
        let version = change.version;
        format!("seen +{at:.3}s at {version}: {kind:?} {namespace}/{name} {what}")
    })
    .collect()
}

fn of_claim(change: &Change) -> String {
    if change.gone {
        return "gone".to_owned();
    }
    let leaves = change.object.pointer("/metadata/deletionTimestamp");
    let marks = [
        (change.is_admitted(), " admitted"),
        (leaves.is_some(), " leaving"),
    ];
    let marks = marks.iter().filter(|(is, _)| *is);
    let marks: String = marks.map(|(_, mark)| *mark).collect();
    format!("{} {}{marks}", change.phase(), change.reason())
}

fn of_runtime(change: &Change) -> String {
    if change.gone {
        return "gone".to_owned();
    }
    let sandbox = change.object.pointer("/spec/sandbox");
    sandbox.unwrap_or(&Value::Null).to_string()
}
