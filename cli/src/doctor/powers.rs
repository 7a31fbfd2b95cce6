//! Rights by which somebody could write as the operator, take the proof away, or get such a right. Data
//! only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod table;

pub use table::{POWERS, SIGNERS};

/// What a right is good for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// To write as the operator.
    Forge,
    /// To take a layer of admission, or the record of its proof, away.
    SwitchOff,
    /// To get rights like these.
    Escalate,
}

/// Where a right counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the cluster.
    Cluster,
    /// In the operator's namespace.
    Namespace,
}

/// Which names of objects matter, for a rule that is limited to some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Names {
    /// All of them.
    Any,
    /// The operator's ServiceAccount.
    Account,
    /// The Secret with the webhook's CA, and those that hold tokens of the operator's ServiceAccount.
    Secrets,
    /// The admission policies of this installation, and their bindings.
    Policies,
    /// Our webhook configurations.
    Configurations,
    /// The four kinds.
    Kinds,
    /// The version of the API group that they are served in.
    ApiService,
    /// The records of the policy's first refusal.
    Records,
    /// Users who hold one of these rights.
    Users,
    /// Groups that hold one of these rights.
    Groups,
    /// ClusterRoles and Roles that hold one of these rights.
    Roles,
    /// Signers of client certificates.
    Signers,
}

/// Some rights that come to the same.
#[derive(Clone, Copy, Debug)]
pub struct Power {
    /// Its name in the report.
    pub id: &'static str,
    /// What it is good for.
    pub effect: Effect,
    /// Where it counts.
    pub place: Place,
    /// API groups and resources, the subresource after a slash.
    pub resources: &'static [(&'static str, &'static str)],
    /// Any of these verbs.
    pub verbs: &'static [&'static str],
    /// Which objects.
    pub names: Names,
    /// What the holder may do; reads after "may".
    pub allows: &'static str,
}
