//! The objects that Sandgate builds: their kinds, and what is kept of a live one. Data.

use std::collections::BTreeMap;

/// The objects built for a claim, in the order they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// The un-owned `NetworkPolicy` that shuts every sandbox pod of the namespace (O-037).
    Baseline,
    /// The claim's own `NetworkPolicy`.
    NetworkPolicy,
    /// The claim's Service.
    Service,
    /// The claim's Deployment.
    Deployment,
}

impl ObjectKind {
    /// The three kinds each claim owns, in the order they are made.
    pub const OWNED: [Self; 3] = [Self::NetworkPolicy, Self::Service, Self::Deployment];

    /// The kind, as in a manifest and in `status.applied`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Baseline | Self::NetworkPolicy => "NetworkPolicy",
            Self::Service => "Service",
            Self::Deployment => "Deployment",
        }
    }

    /// The apiVersion, as in a manifest.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::Baseline | Self::NetworkPolicy => "networking.k8s.io/v1",
            Self::Service => "v1",
            Self::Deployment => "apps/v1",
        }
    }

    /// The plural, as in a URL.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Baseline | Self::NetworkPolicy => "networkpolicies",
            Self::Service => "services",
            Self::Deployment => "deployments",
        }
    }
}

/// One live object of a kind that Sandgate builds. Read with [`LiveObject::read`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveObject {
    /// Its UID.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
    /// UID of its controller owner, if it has one.
    pub controller: Option<String>,
    /// Digest of its spec, our labels and its owner references ([`super::plan::digest`]).
    pub digest: String,
    /// The hash of the intent it was written from, as its annotation says.
    pub intent: Option<String>,
    /// It has a deletionTimestamp.
    pub deleting: bool,
    /// Port numbers by name; only read for a Service.
    pub ports: BTreeMap<String, i32>,
}
