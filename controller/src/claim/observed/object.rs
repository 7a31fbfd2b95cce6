//! The objects that Sandgate builds: their kinds, and what is kept of a live one. Data.

use std::net::IpAddr;

use sandgate_shared::names;

use super::ObservedPod;
use crate::kind::Kind;

/// The objects built for a claim, in the order they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// The un-owned `NetworkPolicy` that shuts every sandbox pod of the namespace (O-037).
    Baseline,
    /// The `NetworkPolicy` of the claim's egress proxy.
    EgressNetworkPolicy,
    /// The `ConfigMap` with the hosts that the proxy lets through.
    EgressAllowlist,
    /// The proxy's Service.
    EgressService,
    /// The proxy's Deployment.
    EgressDeployment,
    /// The claim's own `NetworkPolicy`.
    NetworkPolicy,
    /// The claim's Service.
    Service,
    /// The claim's Deployment.
    Deployment,
}

impl ObjectKind {
    /// The kinds each claim owns, in the order they are made.
    pub const OWNED: &'static [Self] = &[Self::NetworkPolicy, Self::Service, Self::Deployment];

    /// The kinds that a claim with an egress proxy owns beside them, in the order they are made (E-002).
    pub const OF_PROXY: &'static [Self] = &[
        Self::EgressNetworkPolicy,
        Self::EgressAllowlist,
        Self::EgressService,
        Self::EgressDeployment,
    ];

    /// All that a claim can own, in the order they are made.
    pub fn all_owned() -> impl Iterator<Item = Self> {
        Self::OF_PROXY.iter().chain(Self::OWNED).copied()
    }

    /// What the API server calls it.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Baseline | Self::EgressNetworkPolicy | Self::NetworkPolicy => Kind::NetworkPolicy,
            Self::EgressAllowlist => Kind::ConfigMap,
            Self::EgressService | Self::Service => Kind::Service,
            Self::EgressDeployment | Self::Deployment => Kind::Deployment,
        }
    }

    /// The kind, as in a manifest.
    pub fn as_str(self) -> &'static str {
        self.kind().as_str()
    }

    /// What it is called in `status.applied`.
    pub const fn record(self) -> &'static str {
        match self {
            Self::Baseline => "NetworkPolicy/baseline",
            Self::EgressNetworkPolicy => "NetworkPolicy/egress",
            Self::EgressAllowlist => "ConfigMap/egress",
            Self::EgressService => "Service/egress",
            Self::EgressDeployment => "Deployment/egress",
            Self::NetworkPolicy => "NetworkPolicy",
            Self::Service => "Service",
            Self::Deployment => "Deployment",
        }
    }

    /// Whether it belongs to the egress proxy.
    pub const fn is_of_proxy(self) -> bool {
        matches!(
            self,
            Self::EgressNetworkPolicy
                | Self::EgressAllowlist
                | Self::EgressService
                | Self::EgressDeployment
        )
    }

    /// Whether it runs pods: what it was made from stays, whatever would be made now (C-034).
    pub const fn runs_pods(self) -> bool {
        matches!(self, Self::EgressDeployment | Self::Deployment)
    }

    /// Whether it waits for `other` where that is refused: all for the baseline, and else the objects of the
    /// sandbox and those of the proxy each for their own.
    pub const fn comes_behind(self, other: Self) -> bool {
        matches!(other, Self::Baseline) || self.is_of_proxy() == other.is_of_proxy()
    }

    /// Its name, for a claim of this name.
    pub fn name(self, claim: &str) -> String {
        match self {
            Self::Baseline => names::BASELINE_POLICY.to_owned(),
            Self::EgressNetworkPolicy
            | Self::EgressAllowlist
            | Self::EgressService
            | Self::EgressDeployment => names::egress(claim),
            Self::NetworkPolicy | Self::Service | Self::Deployment => names::sandbox(claim),
        }
    }

    /// Whose it is and what, in words.
    pub fn described(self) -> String {
        let whose = if self.is_of_proxy() {
            "egress proxy"
        } else {
            "sandbox"
        };
        format!("{whose}'s {}", self.as_str())
    }
}

impl From<ObjectKind> for Kind {
    fn from(object: ObjectKind) -> Self {
        object.kind()
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
    /// That owner is a claim, and the object bears the name of one of that claim's: it is this claim's, or an
    /// earlier one's of the same name.
    pub of_claim: bool,
    /// Digest of its spec, our labels and its owner references ([`crate::claim::digest`]).
    pub digest: String,
    /// The hash of the intent it was written from, as its annotation says.
    pub intent: Option<String>,
    /// The digest of the Connections that went into it, or of the test hosts where it is a proxy's, as its
    /// annotation says; only on a Deployment.
    pub bindings: Option<String>,
    /// The egress proxy that its pod was told of, as its annotation says; only on a sandbox's Deployment.
    pub proxy: Option<String>,
    /// It has a deletionTimestamp.
    pub deleting: bool,
    /// Names and numbers of its ports; only read for a Service.
    pub ports: Vec<(String, i32)>,
    /// Its cluster IP; only of a Service, and none of a headless one.
    pub address: Option<IpAddr>,
    /// Its content can never be changed again; only of a `ConfigMap`.
    pub immutable: bool,
}

/// What stands of a claim's egress proxy, whoever owns it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedProxy {
    /// Its `NetworkPolicy`.
    pub policy: Option<LiveObject>,
    /// Its allowlist.
    pub allowlist: Option<LiveObject>,
    /// Its Service.
    pub service: Option<LiveObject>,
    /// Its Deployment.
    pub deployment: Option<LiveObject>,
    /// Its pods, terminating ones too.
    pub pods: Vec<ObservedPod>,
}
