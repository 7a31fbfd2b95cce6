//! Names an object within its kind. Pure.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use kube::core::ObjectMeta;
use sandgate_shared::api::SandboxClaim;

/// Namespace and name; the namespace is empty for a kind that has none. Clones share one text: the key of
/// a claim stands in a dozen tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<Names>);

/// What a [`Key`] is made of.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Names {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Deref for Key {
    type Target = Names;

    fn deref(&self) -> &Names {
        &self.0
    }
}

impl Key {
    /// A key.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        let (namespace, name) = (namespace.into(), name.into());
        Self(Arc::new(Names { namespace, name }))
    }

    /// The key of the runtime that a claim belongs to; an enrolment has none.
    pub fn of_runtime(claim: &SandboxClaim) -> Option<Self> {
        let namespace = claim.metadata.namespace.clone().unwrap_or_default();
        let runtime = claim.spec.agent_runtime_ref.as_ref()?;
        Some(Self::new(namespace, &runtime.name))
    }

    /// The key of a live object.
    pub fn of(metadata: &ObjectMeta) -> Self {
        Self::new(
            metadata.namespace.clone().unwrap_or_default(),
            metadata.name.clone().unwrap_or_default(),
        )
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}
