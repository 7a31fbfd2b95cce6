//! What only the owner of a node can do to it, for the scenarios that need it. Pure: whoever
//! implements it does I/O.

use std::future::Future;
use std::pin::Pin;

use sandgate_probe::line::Contact;

/// Something done to the node that sandboxes run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Restart the network plugin's enforcer; it is done once it runs again.
    RestartEnforcer,
    /// Restart the container runtime; it is done once it answers again.
    RestartContainerd,
    /// Restart the kubelet; it is done once the node is Ready again.
    RestartKubelet,
}

impl Action {
    /// As in "failed to …".
    pub fn words(self) -> &'static str {
        match self {
            Self::RestartEnforcer => "restart the network plugin's enforcer",
            Self::RestartContainerd => "restart the container runtime",
            Self::RestartKubelet => "restart the kubelet",
        }
    }
}

/// What an action ends with; the text of a failure is one sentence.
pub type Done<'a, T = ()> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// Power over the node. [`NoPower`] is what a cluster's user has.
pub trait Disturb: Send + Sync {
    /// Does it.
    fn act(&self, action: Action) -> Done<'_>;

    /// How many addresses the node has for pods, if so few that they are used again soon.
    fn addresses(&self) -> Option<usize>;

    /// Who came to probes outside the cluster so far; `None` if there are none.
    fn heard_outside(&self) -> Done<'_, Option<Vec<Contact>>>;
}

/// No power over the node at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPower;

impl Disturb for NoPower {
    fn act(&self, _: Action) -> Done<'_> {
        Box::pin(async { Err("nobody here owns the node".to_owned()) })
    }

    fn addresses(&self) -> Option<usize> {
        None
    }

    fn heard_outside(&self) -> Done<'_, Option<Vec<Contact>>> {
        Box::pin(async { Ok(None) })
    }
}
