//! What matters of a Service that a class allows. Data.

use std::net::IpAddr;

/// Names a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What matters of a Service named in `egress.allowedServices`. Read with [`AllowedTarget::read`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedTarget {
    /// Its pod selector; empty when it selects no pods itself, as an `ExternalName` never does.
    pub selector: Vec<(String, String)>,
    /// Its cluster addresses, one a family; none for a headless one.
    pub addresses: Vec<IpAddr>,
    /// Its ports.
    pub ports: Vec<TargetPort>,
}

/// One port of a Service named in `egress.allowedServices`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetPort {
    /// The Service's port number.
    pub port: i32,
    /// Where it leads in the pod.
    pub target: Target,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
}

/// A port of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// By number.
    Number(i32),
    /// By the name a container gives it.
    Name(String),
}

impl Default for Target {
    fn default() -> Self {
        Self::Number(0)
    }
}
