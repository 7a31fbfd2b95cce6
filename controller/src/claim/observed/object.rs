//! The objects that Sandgate builds: their kinds, and what is kept of a live one. Data.

use crate::kind::Kind;

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
    /// The kinds each claim owns, in the order they are made.
    pub const OWNED: &'static [Self] = &[Self::NetworkPolicy, Self::Service, Self::Deployment];

    /// What the API server calls it.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Baseline | Self::NetworkPolicy => Kind::NetworkPolicy,
            Self::Service => Kind::Service,
            Self::Deployment => Kind::Deployment,
        }
    }

    /// The kind, as in a manifest and in `status.applied`.
    pub fn as_str(self) -> &'static str {
        self.kind().as_str()
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
    /// Digest of its spec, our labels and its owner references ([`super::plan::digest`]).
    pub digest: String,
    /// The hash of the intent it was written from, as its annotation says.
    pub intent: Option<String>,
    /// The digest of the Connections that went into it, as its annotation says; only on a Deployment.
    pub bindings: Option<String>,
    /// It has a deletionTimestamp.
    pub deleting: bool,
    /// Names and numbers of its ports; only read for a Service.
    pub ports: Vec<(String, i32)>,
}
