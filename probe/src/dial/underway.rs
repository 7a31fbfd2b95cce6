//! The tries that are under way, and what became of them. Does I/O.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::time::Duration;

use mio::{Events, Poll, Token};

use super::attempt::Attempt;
use crate::outcome::Outcome;

/// How many events are taken at once.
const EVENTS: usize = 1024;

/// All tries under way. Times count from the start of the process.
pub struct Underway {
    poll: Poll,
    events: Events,
    patience: Duration,
    tries: HashMap<usize, Try>,
    /// In the order in which they began, and so in that in which they give up.
    by_age: VecDeque<(Duration, usize)>,
    next: usize,
}

/// A try of the target with this number.
struct Try {
    target: usize,
    began: Duration,
    attempt: Attempt,
}

/// A try that ended.
#[derive(Debug)]
pub struct Ended {
    /// The number of its target.
    pub target: usize,
    /// When it began.
    pub began: Duration,
    /// How it ended.
    pub outcome: Outcome,
}

impl Underway {
    /// None yet; each will have `patience` to end.
    pub fn new(patience: Duration) -> io::Result<Self> {
        Ok(Self {
            poll: Poll::new()?,
            events: Events::with_capacity(EVENTS),
            patience,
            tries: HashMap::new(),
            by_age: VecDeque::new(),
            next: 0,
        })
    }

    /// Whether none is under way.
    pub fn is_empty(&self) -> bool {
        self.tries.is_empty()
    }

    /// Looks after a try that began at `began`.
    pub fn add(&mut self, target: usize, began: Duration, attempt: Attempt) -> io::Result<()> {
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        attempt.watch(self.poll.registry(), Token(id))?;
        self.by_age.push_back((began, id));
        let tried = Try {
            target,
            began,
            attempt,
        };
        self.tries.insert(id, tried);
        Ok(())
    }

    /// When the oldest gives up, if there is one.
    pub fn gives_up(&mut self) -> Option<Duration> {
        while let Some((began, id)) = self.by_age.front() {
            if self.tries.contains_key(id) {
                return Some(began.saturating_add(self.patience));
            }
            self.by_age.pop_front();
        }
        None
    }

    /// Waits until something happens, at most for `time`, and returns what ended.
    pub fn wait(&mut self, time: Option<Duration>) -> io::Result<Vec<Ended>> {
        match self.poll.poll(&mut self.events, time) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let ids: Vec<usize> = self.events.iter().map(|event| event.token().0).collect();
        Ok(ids.into_iter().filter_map(|id| self.look(id)).collect())
    }

    /// Gives up those whose time is over at `now`, after a last look at each.
    pub fn give_up(&mut self, now: Duration) -> Vec<Ended> {
        let mut ended = Vec::new();
        while let Some(id) = self.oldest_until(now) {
            if let Some(answered) = self.look(id) {
                ended.push(answered);
            } else if let Some(tried) = self.tries.remove(&id) {
                let patience = self.patience.as_millis();
                let outcome = Outcome::TimedOut(format!("no answer within {patience} ms"));
                ended.push(tried.ended(outcome));
            }
        }
        ended
    }

    /// The oldest, if its time is over at `now`.
    fn oldest_until(&mut self, now: Duration) -> Option<usize> {
        if self.gives_up()? > now {
            return None;
        }
        self.by_age.pop_front().map(|(_, id)| id)
    }

    fn look(&mut self, id: usize) -> Option<Ended> {
        let outcome = self.tries.get_mut(&id)?.attempt.look()?;
        Some(self.tries.remove(&id)?.ended(outcome))
    }
}

impl Try {
    fn ended(&self, outcome: Outcome) -> Ended {
        Ended {
            target: self.target,
            began: self.began,
            outcome,
        }
    }
}
