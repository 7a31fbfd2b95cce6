//! What this process has promised, until the cache shows that it is so. Pure, but for its lock.
//!
//! Several workers judge at once, and what one of them writes is known to the others only when the API
//! server has answered: a place is taken here first, also by whom nothing limits, since he counts for others.
//! A promise whose fate is unknown, since the answer was lost, stands until the claim was read anew: then it is
//! known, and a claim that was not admitted is judged by what is so by then. One of which nothing was written is
//! taken back.
//!
//! Claims of one sandbox may each allow another number of instances. One that would be too many for a claim
//! that is being admitted comes after it, or that one would be written under a limit that is exceeded by then.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sandgate_shared::trust::Trust;

use super::{Admission, Ceilings, Seat, Standing, decide};
use crate::key::Key;

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
    /// Claims whose admission is being written, or is to be, by UID.
    promised: BTreeMap<String, Promise>,
    /// Claims that come after one of these.
    behind: BTreeSet<Key>,
    /// A promise was dropped since these were told last.
    freed: bool,
    /// Kept while it holds, so that a thousand claims which look after their turn every ten seconds cost
    /// one decision and not a thousand.
    decided: Option<Decided>,
}

#[derive(Debug)]
struct Promise {
    to: Seat,
    /// A write was begun.
    written: bool,
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
    /// [`Self::settle`]. `seats` are those of all claims of the runtime. `None`: that is known once one that is
    /// being admitted has its answer; the claim is among those that [`Self::settle`] or [`Self::give_up`] tells then.
    pub fn ask(
        &self,
        runtime: &Key,
        asks: &Seat,
        basis: &Basis,
        seats: impl Fn() -> Vec<Seat>,
    ) -> Option<Admission> {
        let mut accounts = self.lock();
        let account = accounts.entry(runtime.clone()).or_default();
        let limited = asks.is_limited(&basis.ceilings);
        let may = if limited {
            Admission::Granted
        } else {
            Admission::Unlimited
        };
        if account.promised.contains_key(&asks.uid) {
            return Some(may);
        }
        if limited {
            let answer = account.answer(asks, basis, &seats);
            if matches!(answer, Admission::Held { .. }) {
                return Some(answer);
            }
        }
        if account.is_too_many(asks, &seats) {
            account.behind.insert(asks.key.clone());
            return None;
        }
        account.promise(asks);
        Some(may)
    }

    /// The admission of a claim is being written: from now on its fate may be unknown.
    pub fn write(&self, runtime: &Key, uid: &str) {
        let mut accounts = self.lock();
        let account = accounts.get_mut(runtime);
        if let Some(promise) = account.and_then(|account| account.promised.get_mut(uid)) {
            promise.written = true;
        }
    }

    /// Whether it is unknown what became of the claim's admission.
    pub fn is_unsure(&self, runtime: &Key, uid: &str) -> bool {
        let accounts = self.lock();
        let promises = accounts.get(runtime).map(|account| &account.promised);
        promises.is_some_and(|all| all.get(uid).is_some_and(|promise| promise.written))
    }

    /// A look at a claim came to nothing: what was promised to it is taken back, unless it may be written. Whoever
    /// came after it.
    pub fn give_up(&self, runtime: &Key, uid: &str) -> BTreeSet<Key> {
        self.forget(runtime, uid, |promise| !promise.written)
    }

    /// What was promised to a claim is kept or taken back: its status was written, or cannot be any more. Whoever
    /// came after it.
    pub fn settle(&self, runtime: &Key, uid: &str) -> BTreeSet<Key> {
        self.forget(runtime, uid, |_| true)
    }

    /// The claim is gone, and with it what was promised to it. Whoever came after it.
    pub fn gone(&self, claim: &Key) -> BTreeSet<Key> {
        let mut freed = BTreeSet::new();
        self.lock().retain(|_, account| {
            account.behind.remove(claim);
            account.drop_promises(|_, promise| promise.to.key == *claim);
            freed.extend(account.take_freed());
            !account.is_empty()
        });
        freed
    }

    fn forget(&self, runtime: &Key, uid: &str, may: impl Fn(&Promise) -> bool) -> BTreeSet<Key> {
        let mut accounts = self.lock();
        let Some(account) = accounts.get_mut(runtime) else {
            return BTreeSet::new();
        };
        account.drop_promises(|of, promise| of == uid && may(promise));
        let freed = account.take_freed();
        if account.is_empty() {
            accounts.remove(runtime);
        }
        freed
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

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Account>> {
        // No code that can panic runs under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    /// Whether a claim under a limit may have a place.
    fn answer(&mut self, asks: &Seat, basis: &Basis, seats: impl Fn() -> Vec<Seat>) -> Admission {
        let known = self.known(basis);
        let known = known.and_then(|known| known.answers.get(&asks.uid).copied());
        known.unwrap_or_else(|| {
            // The cache may not know yet that this one asks.
            let mut seats = seats();
            seats.retain(|seat| seat.uid != asks.uid);
            seats.push(Seat {
                standing: Standing::Waiting,
                ..asks.clone()
            });
            let decided = self.decide(seats, basis);
            decided.answers.get(&asks.uid).copied().unwrap_or_default()
        })
    }

    /// Whether a claim that is being admitted would exceed its own limit if this one were written first.
    fn is_too_many(&mut self, asks: &Seat, seats: impl Fn() -> Vec<Seat>) -> bool {
        let tightest = |account: &Self| {
            let promises = account.promised.values();
            let others = promises.filter(|promise| promise.to.is_instance_beside(asks));
            others.filter_map(|promise| promise.to.max_instances).min()
        };
        // Its own limit, which it keeps, may be no looser.
        let bears = |most: u32| asks.max_instances.is_some_and(|own| own <= most);
        if tightest(self).is_none_or(bears) {
            return false;
        }
        let seats = seats();
        self.drop_settled(&seats);
        let is_beside = |seat: &&Seat| {
            let has = seat.standing == Standing::Admitted || self.promised.contains_key(&seat.uid);
            has && seat.uid != asks.uid && seat.is_instance_beside(asks)
        };
        let taken = u32::try_from(seats.iter().filter(is_beside).count()).unwrap_or(u32::MAX);
        tightest(self).is_some_and(|most| taken >= most)
    }

    fn promise(&mut self, to: &Seat) {
        // An earlier claim of its name is gone.
        self.drop_promises(|_, promise| promise.to.key == to.key);
        self.behind.remove(&to.key);
        let (to, uid) = (to.clone(), to.uid.clone());
        self.promised.insert(uid, Promise { to, written: false });
        self.decided = None;
    }

    fn drop_promises(&mut self, which: impl Fn(&str, &Promise) -> bool) {
        let before = self.promised.len();
        self.promised.retain(|uid, promise| !which(uid, promise));
        if self.promised.len() < before {
            self.decided = None;
            self.freed = true;
        }
    }

    /// Whoever came after a promise, if one was dropped.
    fn take_freed(&mut self) -> BTreeSet<Key> {
        if std::mem::take(&mut self.freed) {
            std::mem::take(&mut self.behind)
        } else {
            BTreeSet::new()
        }
    }

    fn is_empty(&self) -> bool {
        let decided = self.decided.as_ref();
        let answers = decided.is_some_and(|decided| !decided.answers.is_empty());
        self.promised.is_empty() && self.behind.is_empty() && !answers
    }

    /// A promise ends when the cache shows it kept, or the claim gone or over.
    fn drop_settled(&mut self, seats: &[Seat]) {
        let open = |uid: &str| {
            let mut all = seats.iter();
            all.any(|seat| seat.uid == uid && seat.standing != Standing::Admitted)
        };
        self.drop_promises(|uid, _| !open(uid));
    }

    /// What was decided, if it still rests on what is so.
    fn known(&self, basis: &Basis) -> Option<&Decided> {
        self.decided.as_ref().filter(|decided| decided.on == *basis)
    }

    fn decide(&mut self, seats: Vec<Seat>, basis: &Basis) -> &Decided {
        self.drop_settled(&seats);
        let promised = self.promised.keys().cloned().collect();
        let answers = decide(&seats, &basis.ceilings, &promised);
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
