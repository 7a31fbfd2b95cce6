//! Which claims are looked at next: each key at most once in the queue and at most once in work, with
//! a back-off of its own after a failure. Closed at first: only a leader works. Keeps time by tokio's clock; no other I/O.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// First wait after a failure; it doubles with each further one.
pub const BACK_OFF_FIRST: Duration = Duration::from_millis(200);
/// Longest wait after a failure.
pub const BACK_OFF_LONGEST: Duration = Duration::from_mins(1);

/// What becomes of a key whose work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing until something about it changes.
    Settled,
    /// Again after this time, unless something changes before.
    After(Duration),
    /// It failed: again after its back-off.
    Retry,
}

/// A queue of keys.
#[derive(Debug)]
pub struct Queue<K> {
    state: Mutex<State<K>>,
    changed: Notify,
}

#[derive(Debug)]
struct State<K> {
    open: bool,
    ready: VecDeque<K>,
    /// By time, then by key.
    later: BTreeSet<(Instant, K)>,
    entries: HashMap<K, Entry>,
}

/// What is known of a key; dropped when it is settled.
#[derive(Debug, Default)]
struct Entry {
    queued: bool,
    working: bool,
    /// Pushed while in work: it is looked at again.
    again: bool,
    due: Option<Instant>,
    failures: u32,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }
}

impl<K> Default for State<K> {
    fn default() -> Self {
        Self {
            open: false,
            ready: VecDeque::new(),
            later: BTreeSet::new(),
            entries: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Ord + Hash> Queue<K> {
    /// Puts a key in the queue, unless it is in it or the queue is closed.
    pub fn push(&self, key: K) {
        if self.lock().push(key) {
            self.changed.notify_one();
        }
    }

    /// Puts each of these keys in the queue.
    pub fn push_all(&self, keys: impl IntoIterator<Item = K>) {
        for key in keys {
            self.push(key);
        }
    }

    /// The next key, once there is one. It stays in work until [`Self::done`].
    pub async fn next(&self) -> K {
        loop {
            let (next, due, more) = {
                let mut state = self.lock();
                state.wake(Instant::now());
                let next = state.take();
                (
                    next,
                    state.later.first().map(|(due, _)| *due),
                    !state.ready.is_empty(),
                )
            };
            if let Some(key) = next {
                // One notification may have stood for several pushes.
                if more {
                    self.changed.notify_one();
                }
                return key;
            }
            match due {
                Some(due) => {
                    tokio::select! {
                        () = self.changed.notified() => {}
                        () = tokio::time::sleep_until(due) => {}
                    }
                }
                None => self.changed.notified().await,
            }
        }
    }

    /// Ends the work on a key.
    pub fn done(&self, key: &K, next: Next) {
        self.lock().done(key, next, Instant::now());
        // A later key may now be the first that is due.
        self.changed.notify_one();
    }

    /// Begins to take keys. What happens before is of no use to anybody and is not kept.
    pub fn open(&self) {
        self.lock().open = true;
    }

    /// Takes no more keys and forgets those it has, the back-offs too.
    pub fn close(&self) {
        *self.lock() = State::default();
    }

    /// How many keys wait to be worked on now.
    pub fn len(&self) -> usize {
        self.lock().ready.len()
    }

    /// Whether none waits to be worked on now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        // No code that can panic runs under the lock, and the state is whole after each statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Ord + Hash> State<K> {
    /// Whether the key was added to the ready ones.
    fn push(&mut self, key: K) -> bool {
        if !self.open {
            return false;
        }
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.working {
            entry.again = true;
            return false;
        }
        if entry.queued {
            return false;
        }
        entry.queued = true;
        if let Some(due) = entry.due.take() {
            self.later.remove(&(due, key.clone()));
        }
        self.ready.push_back(key);
        true
    }

    fn take(&mut self) -> Option<K> {
        let key = self.ready.pop_front()?;
        let entry = self.entries.entry(key.clone()).or_default();
        entry.queued = false;
        entry.working = true;
        Some(key)
    }

    fn done(&mut self, key: &K, next: Next, now: Instant) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        entry.working = false;
        let again = std::mem::take(&mut entry.again);
        let due = match next {
            Next::Settled => {
                entry.failures = 0;
                None
            }
            Next::After(wait) => {
                entry.failures = 0;
                Some(now + wait)
            }
            Next::Retry => {
                let wait = back_off(entry.failures);
                entry.failures = entry.failures.saturating_add(1);
                Some(now + wait)
            }
        };
        // After a failure even news waits for the back-off: what failed may be what made the news.
        match (again, next, due) {
            (true, Next::Settled | Next::After(_), _) => {
                self.push(key.clone());
            }
            (_, _, Some(due)) => {
                entry.due = Some(due);
                self.later.insert((due, key.clone()));
            }
            (false, _, None) | (true, Next::Retry, None) => {
                self.entries.remove(key);
            }
        }
    }

    /// Moves what is due to the ready ones.
    fn wake(&mut self, now: Instant) {
        while self.later.first().is_some_and(|(due, _)| *due <= now) {
            let Some((_, key)) = self.later.pop_first() else {
                return;
            };
            let entry = self.entries.entry(key.clone()).or_default();
            entry.due = None;
            if !entry.queued && !entry.working {
                entry.queued = true;
                self.ready.push_back(key);
            }
        }
    }
}

/// How long to wait after `failures` earlier failures in a row.
pub fn back_off(failures: u32) -> Duration {
    BACK_OFF_FIRST
        .saturating_mul(2_u32.saturating_pow(failures.min(16)))
        .min(BACK_OFF_LONGEST)
}

#[cfg(test)]
mod tests;
