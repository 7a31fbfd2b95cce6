//! The tunnels that are open, so that some or all can be cut (Q21). In memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::Notify;

use crate::target::Name;

/// Why a tunnel ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Both ends were done.
    Eof,
    /// Nothing went through for too long.
    Idle,
    /// One end was done, and the other sent nothing for too long.
    HalfCloseIdle,
    /// The client broke it off.
    ClientReset,
    /// The server broke it off.
    UpstreamReset,
    /// No Connection names its host any more.
    Revoked,
    /// The proxy ended.
    Drain,
    /// Its ClientHello names another host.
    SniMismatch,
    /// Its ClientHello names no host.
    SniMissing,
    /// It did not begin with a ClientHello.
    NotTls,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 10] = [
        Self::Eof,
        Self::Idle,
        Self::HalfCloseIdle,
        Self::ClientReset,
        Self::UpstreamReset,
        Self::Revoked,
        Self::Drain,
        Self::SniMismatch,
        Self::SniMissing,
        Self::NotTls,
    ];

    /// Its name in logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Eof => "eof",
            Self::Idle => "idle",
            Self::HalfCloseIdle => "half-close-idle",
            Self::ClientReset => "client-reset",
            Self::UpstreamReset => "upstream-reset",
            Self::Revoked => "revoked",
            Self::Drain => "drain",
            Self::SniMismatch => "sni-mismatch",
            Self::SniMissing => "sni-missing",
            Self::NotTls => "not-tls",
        }
    }
}

/// All tunnels that are open.
#[derive(Debug, Default)]
pub struct Tunnels {
    open: Mutex<HashMap<u64, Arc<Ticket>>>,
    emptied: Notify,
}

#[derive(Debug)]
struct Ticket {
    name: Name,
    cause: OnceLock<Cause>,
    cut: Notify,
}

/// One tunnel's place among them, until it is dropped.
#[derive(Debug)]
pub struct Open {
    tunnels: Arc<Tunnels>,
    id: u64,
    ticket: Arc<Ticket>,
}

impl Tunnels {
    /// Takes in the tunnel `id` to `name`. Whoever does must look at the policy *after* it: a reload
    /// first replaces the policy, then cuts.
    pub fn open(self: &Arc<Self>, id: u64, name: Name) -> Open {
        let ticket = Arc::new(Ticket {
            name,
            cause: OnceLock::new(),
            cut: Notify::new(),
        });
        self.locked().insert(id, Arc::clone(&ticket));
        Open {
            tunnels: Arc::clone(self),
            id,
            ticket,
        }
    }

    /// Cuts every tunnel whose host is `chosen`; how many they are.
    pub fn cut(&self, cause: Cause, chosen: impl Fn(&Name) -> bool) -> usize {
        let open = self.locked();
        let cut = open.values().filter(|ticket| chosen(&ticket.name));
        cut.map(|ticket| {
            // A second cause changes nothing.
            let _first = ticket.cause.set(cause);
            ticket.cut.notify_one();
        })
        .count()
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.locked().len()
    }

    /// Whether none is open.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns when none is open.
    pub async fn empty(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.is_empty() {
                return;
            }
            emptied.await;
        }
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Ticket>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Its host.
    pub fn name(&self) -> &Name {
        &self.ticket.name
    }

    /// Returns when it is to end, and why. For one waiter.
    pub async fn cut(&self) -> Cause {
        loop {
            self.ticket.cut.notified().await;
            if let Some(cause) = self.ticket.cause.get() {
                return *cause;
            }
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut open = self.tunnels.locked();
        open.remove(&self.id);
        if open.is_empty() {
            // `notified` is woken from its creation on, so none that is about to wait is missed.
            self.tunnels.emptied.notify_waiters();
            open.shrink_to(64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::read(text).unwrap()
    }

    #[tokio::test]
    async fn only_the_chosen_are_cut_and_they_learn_why_even_if_they_wait_late() {
        let tunnels = Arc::new(Tunnels::default());
        let gone = tunnels.open(1, name("a.example"));
        let stays = tunnels.open(2, name("b.example"));
        let cut = tunnels.cut(Cause::Revoked, |name| name.as_str() == "a.example");
        assert_eq!(cut, 1);
        assert_eq!(gone.cut().await, Cause::Revoked);
        let unharmed = futures::FutureExt::now_or_never(stays.cut());
        assert_eq!(unharmed, None);
    }

    #[tokio::test]
    async fn whoever_waits_for_the_last_one_is_told() {
        let tunnels = Arc::new(Tunnels::default());
        tunnels.empty().await;
        let [first, second] = [1, 2].map(|id| tunnels.open(id, name("a.example")));
        let waiting = tokio::spawn({
            let tunnels = Arc::clone(&tunnels);
            async move { tunnels.empty().await }
        });
        drop(first);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(second);
        waiting.await.unwrap();
    }
}
