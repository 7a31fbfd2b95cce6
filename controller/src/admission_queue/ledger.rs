//! What this process has promised, until the cache shows that it is so. Pure, but for its lock.
//!
//! Several workers judge at once, and what one of them writes is known to the others only when the API
//! server has answered: a place is taken here first. A promise whose fate is unknown, since the answer was
//! lost, stands: the claim is granted its place again until a write of its status has an answer. One of which
//! nothing was written is taken back.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sandgate_shared::trust::Trust;

use super::{Admission, Ceilings, Seat, Standing, decide};
use crate::watch::Key;

/// Promises, by runtime; and what was last decided about its claims.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<HashMap<Key, Account>>);

/// What a decision about all claims of a runtime rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// Changes with every seat.
    pub revision: u64,
    /// The runtime's limits.
    pub ceilings: Ceilings,
    /// What is known of who wrote claims: some ask for a place only once that is proved.
    pub trust: Trust,
}

#[derive(Debug, Default)]
struct Account {
    /// UIDs of claims whose admission is being written, or is to be.
    promised: BTreeSet<String>,
    /// Those of them for which a write was begun.
    written: BTreeSet<String>,
    /// Kept while it holds, so that a thousand claims which look after their turn every ten seconds cost
    /// one decision and not a thousand.
    decided: Option<Decided>,
}

#[derive(Debug)]
struct Decided {
    on: Basis,
    answers: HashMap<String, Admission>,
    /// Whose turn it is.
    next: Vec<Key>,
}

impl Ledger {
    /// Whether a claim that asks for a place may have it. If it may, the place is taken until
    /// [`Self::settle`]. `seats` are those of all claims of the runtime.
    pub fn ask(
        &self,
        runtime: &Key,
        asks: &Seat,
        basis: &Basis,
        seats: impl FnOnce() -> Vec<Seat>,
    ) -> Admission {
        if !asks.is_limited(&basis.ceilings) {
            return Admission::Unlimited;
        }
        let mut accounts = self.lock();
        let account = accounts.entry(runtime.clone()).or_default();
        if account.promised.contains(&asks.uid) {
            return Admission::Granted;
        }
        let known = account
            .known(basis)
            .and_then(|known| known.answers.get(&asks.uid).copied());
        let answer = known.unwrap_or_else(|| {
            // The cache may not know yet that this one asks.
            let mut seats = seats();
            seats.retain(|seat| seat.uid != asks.uid);
            seats.push(Seat {
                standing: Standing::Waiting,
                ..asks.clone()
            });
            let decided = account.decide(seats, basis);
            decided.answers.get(&asks.uid).copied().unwrap_or_default()
        });
        if answer == Admission::Granted {
            account.promised.insert(asks.uid.clone());
            account.decided = None;
        }
        answer
    }

    /// The admission of a claim is being written: from now on its fate may be unknown.
    pub fn write(&self, runtime: &Key, uid: &str) {
        if let Some(account) = self.lock().get_mut(runtime)
            && account.promised.contains(uid)
        {
            account.written.insert(uid.to_owned());
        }
    }

    /// A look at a claim came to nothing: what was promised to it is taken back, unless it may be written.
    pub fn give_up(&self, runtime: &Key, uid: &str) {
        if let Some(account) = self.lock().get_mut(runtime)
            && !account.written.contains(uid)
        {
            account.forget(uid);
        }
    }

    /// What was promised to a claim is kept or taken back: its status was written, or cannot be any more.
    pub fn settle(&self, runtime: &Key, uid: &str) {
        if let Some(account) = self.lock().get_mut(runtime) {
            account.forget(uid);
        }
    }

    /// The claims whose turn it is and that do not know it yet: as many as there are places.
    pub fn next(
        &self,
        runtime: &Key,
        basis: &Basis,
        seats: impl FnOnce() -> Vec<Seat>,
    ) -> Vec<Key> {
        let mut accounts = self.lock();
        let account = accounts.entry(runtime.clone()).or_default();
        if let Some(known) = account.known(basis) {
            return known.next.clone();
        }
        let seats = seats();
        if seats.is_empty() {
            accounts.remove(runtime);
            return Vec::new();
        }
        account.decide(seats, basis).next.clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Account>> {
        // No code that can panic runs under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    fn forget(&mut self, uid: &str) {
        self.written.remove(uid);
        if self.promised.remove(uid) {
            self.decided = None;
        }
    }

    /// What was decided, if it still rests on what is so.
    fn known(&self, basis: &Basis) -> Option<&Decided> {
        self.decided.as_ref().filter(|decided| decided.on == *basis)
    }

    fn decide(&mut self, seats: Vec<Seat>, basis: &Basis) -> &Decided {
        // A promise ends when the cache shows it kept, or the claim gone or over.
        let open = |uid: &String| {
            let mut all = seats.iter();
            all.any(|seat| seat.uid == *uid && seat.standing != Standing::Admitted)
        };
        self.promised.retain(open);
        self.written.retain(|uid| self.promised.contains(uid));
        let answers = decide(&seats, &basis.ceilings, &self.promised);
        let has_turn = |seat: &Seat| {
            let answer = answers.get(&seat.uid);
            answer.is_some_and(|answer| !matches!(answer, Admission::Held { .. }))
        };
        let next = seats.into_iter().filter(has_turn).map(|seat| seat.key);
        let next = next.collect();
        self.decided.insert(Decided {
            on: basis.clone(),
            answers,
            next,
        })
    }
}
