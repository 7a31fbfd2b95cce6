//! Where the requests of one process wait until they are let through: between any two of them something else
//! can happen.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use super::Fault;

/// The gate of one process. Clones are the same gate.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    /// Who asks, as the history has it.
    pub(crate) who: usize,
    waiting: Arc<Mutex<VecDeque<Waiting>>>,
}

#[derive(Debug)]
struct Waiting {
    request: String,
    go: oneshot::Sender<Option<Fault>>,
}

impl Gate {
    /// That of process `who`; nothing waits.
    pub(crate) fn of(who: usize) -> Self {
        Self {
            who,
            waiting: Arc::default(),
        }
    }

    /// Waits to be let through; with what is to go wrong. One whose process is gone waits for ever.
    pub(super) async fn pass(&self, request: &str) -> Option<Fault> {
        let (go, told) = oneshot::channel();
        self.waiting.lock().unwrap().push_back(Waiting {
            request: request.to_owned(),
            go,
        });
        match told.await {
            Ok(fault) => fault,
            Err(_) => std::future::pending().await,
        }
    }

    /// How many wait; whose process has given up on them wait no more.
    pub(crate) fn waiting(&self) -> usize {
        let mut waiting = self.waiting.lock().unwrap();
        waiting.retain(|one| !one.go.is_closed());
        waiting.len()
    }

    /// The request that has waited longest: `PUT /path`.
    pub(crate) fn oldest(&self) -> Option<String> {
        let mut waiting = self.waiting.lock().unwrap();
        waiting.retain(|one| !one.go.is_closed());
        waiting.front().map(|one| one.request.clone())
    }

    /// Lets the `nth` of those that wait through, with what goes wrong with it.
    pub(crate) fn let_through(&self, nth: usize, fault: impl Fn(&str) -> Option<Fault>) {
        let mut waiting = self.waiting.lock().unwrap();
        waiting.retain(|one| !one.go.is_closed());
        if let Some(one) = waiting.remove(nth) {
            let fault = fault(&one.request);
            // Whose process has just given up hears nothing.
            let _ = one.go.send(fault);
        }
    }
}
