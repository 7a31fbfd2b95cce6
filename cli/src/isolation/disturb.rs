//! What only the owner of a node can do to it, for the scenarios that need it. Pure: whoever
//! implements it does I/O.

use std::future::Future;
use std::pin::Pin;

/// Something done to the node that sandboxes run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Restart the network plugin's enforcer; it is done once it runs again.
    RestartEnforcer,
    /// Restart the container runtime; it is done once it answers again.
    RestartContainerd,
    /// Restart the kubelet; it is done once the node is Ready again.
    RestartKubelet,
    /// Leave the node only [`FEW`] addresses for new pods, so that pods soon take over others'.
    NarrowAddresses,
    /// Undo that.
    WidenAddresses,
}

impl Action {
    /// As in "failed to …".
    pub fn words(self) -> &'static str {
        match self {
            Self::RestartEnforcer => "restart the network plugin's enforcer",
            Self::RestartContainerd => "restart the container runtime",
            Self::RestartKubelet => "restart the kubelet",
            Self::NarrowAddresses => "leave the node few addresses",
            Self::WidenAddresses => "give the node its addresses back",
        }
    }
}

/// How many addresses [`Action::NarrowAddresses`] leaves.
pub const FEW: usize = 4;

/// What an action ends with; the text of a failure is one sentence.
pub type Done<'a, T = ()> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// Power over the node. [`NoPower`] is what a cluster's user has.
pub trait Disturb: Send + Sync {
    /// Whether it can do this.
    fn offers(&self, action: Action) -> bool;

    /// Does it.
    fn act(&self, action: Action) -> Done<'_>;

    /// What probes outside the cluster logged so far (lines of `sandgate-probe serve`); `None` if
    /// there are none that could.
    fn heard_outside(&self) -> Done<'_, Option<Vec<String>>>;
}

/// No power over the node at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPower;

impl Disturb for NoPower {
    fn offers(&self, _: Action) -> bool {
        false
    }

    fn act(&self, _: Action) -> Done<'_> {
        Box::pin(async { Err("nobody here owns the node".to_owned()) })
    }

    fn heard_outside(&self) -> Done<'_, Option<Vec<String>>> {
        Box::pin(async { Ok(None) })
    }
}
