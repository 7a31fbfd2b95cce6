//! The report: what the terminal and the JSON file are made from. Pure.
//!
//! The JSON file is this module's types as serde writes them; `docs/doctor-report.schema.json`, which is
//! generated, is their schema. A field that changes its meaning raises [`VERSION`]; a new one does not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::facts::Facts;
use super::held::{Holder, Standing};
use super::holders::holders;
use super::rbac::Subject;
use super::standing::{Check, checks};

/// Version of the JSON file.
pub const VERSION: u32 = 1;

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(title = "Report of `sandgate doctor`")]
pub struct Report {
    /// Version of this format.
    pub version: u32,
    /// What was looked at.
    pub installation: Looked,
    /// Whether the installation stands and nobody unexpected holds a right that matters.
    pub sound: bool,
    /// The result in one sentence.
    pub sentence: String,
    /// What was looked at of the installation.
    pub checks: Vec<Check>,
    /// Who could write as the operator, take the proof away, or get such a right, by RBAC.
    pub holders: Vec<Holder>,
    /// Who could without any role: RBAC does not say so, and nothing here can.
    pub beyond: Vec<String>,
}

/// What was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Looked {
    /// Version of the API server.
    pub kubernetes: String,
    /// Helm release.
    pub release: String,
    /// The operator's namespace.
    pub namespace: String,
    /// The operator's ServiceAccount.
    pub service_account: String,
}

/// Judges what was read; `accepted` are holders whom whoever asks expects.
pub fn judge(facts: &Facts, accepted: &[Subject]) -> Report {
    let checks = checks(facts);
    let holders = holders(&facts.rbac, &facts.site, accepted);
    let broken = checks.iter().filter(|check| !check.holds).count();
    let found = holders
        .iter()
        .filter(|holder| holder.standing == Standing::Finding)
        .count();
    let names = &facts.site.names;
    Report {
        version: VERSION,
        installation: Looked {
            kubernetes: facts.kubernetes.clone(),
            release: names.release.clone(),
            namespace: names.namespace.clone(),
            service_account: names.service_account.clone(),
        },
        sound: broken == 0 && found == 0,
        sentence: verdict(broken, found),
        beyond: beyond(facts),
        checks,
        holders,
    }
}

fn verdict(broken: usize, found: usize) -> String {
    let checks = match broken {
        0 => "The installation stands".to_owned(),
        1 => "One thing is wrong with the installation".to_owned(),
        many => format!("{many} things are wrong with the installation"),
    };
    let holders = match found {
        0 => "nobody unexpected could forge a claim or switch off its proof".to_owned(),
        1 => "one holder of rights could forge a claim or switch off its proof".to_owned(),
        many => format!("{many} holders of rights could forge a claim or switch off its proof"),
    };
    let and = if broken == 0 && found > 0 {
        ", but"
    } else {
        ", and"
    };
    format!("{checks}{and} {holders}.")
}

/// Those whom no role names.
fn beyond(facts: &Facts) -> Vec<String> {
    let mut nodes: Vec<&str> = facts
        .pods
        .iter()
        .filter_map(|pod| pod.spec.as_ref())
        .filter(|pod| pod.service_account_name.as_ref() == Some(&facts.site.names.service_account))
        .filter_map(|pod| pod.node_name.as_deref())
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    let mut beyond =
        vec!["members of group system:masters: the API server asks no role about them".to_owned()];
    if !nodes.is_empty() {
        beyond.push(format!(
            "whoever is root on {}, where the operator runs: its token is there, and the kubelet may ask for more",
            nodes.join(", ")
        ));
    }
    beyond.push(
        "whoever reads or writes etcd, holds a key the API server trusts, or is allowed by an authorizer other than RBAC".to_owned(),
    );
    beyond.push(
        "whoever may act as one of those named here, by rights in other namespaces: such ways are not followed".to_owned(),
    );
    beyond
}

/// The schema of the JSON file.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Report)
}
