//! What became of the writes of a load, and when. Pure, but for the clock.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What should become of a write.
#[derive(Clone, Copy, Debug)]
pub enum Wish<'a> {
    /// It is admitted.
    Admitted,
    /// It is refused with these words.
    Refused(&'a str),
}

/// Why a write did not come to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The API server got no answer from a webhook.
    CallFailed,
    /// Nobody answered, or the API server said that it cannot now.
    NoServer,
    /// A layer refused what is good, or for another reason than the one it should have.
    WronglyRefused,
    /// What is bad was admitted.
    WronglyAdmitted,
}

/// What an API server says of a webhook that did not answer.
pub const CALL_FAILED: &str = "failed calling webhook";

/// A write that did not come to what it should have.
#[derive(Clone, Debug)]
pub struct Failed {
    what: String,
    pub trouble: Trouble,
    words: String,
    span: Range<Instant>,
}

impl Failed {
    /// Whether it was under way in this time.
    pub fn within(&self, time: &Range<Instant>) -> bool {
        self.span.start < time.end && time.start < self.span.end
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = self.span.end - self.span.start;
        write!(
            formatter,
            "{:?}: {} (took {took:?}): {}",
            self.trouble, self.what, self.words
        )
    }
}

/// What a write came to, if not to what it should have.
pub fn trouble(wish: Wish<'_>, answer: &Result<(), kube::Error>) -> Option<(Trouble, String)> {
    let said = match answer {
        Ok(()) => {
            return match wish {
                Wish::Admitted => None,
                Wish::Refused(words) => Some((
                    Trouble::WronglyAdmitted,
                    format!("was to be refused: {words}"),
                )),
            };
        }
        Err(kube::Error::Api(said)) => said,
        Err(other) => return Some((Trouble::NoServer, other.to_string())),
    };
    let words = format!("{} {}", said.code, said.message);
    // "denied the request" says a webhook, "denied request" a policy, and a 422 the schema.
    let denied = ["denied the request", "denied request"];
    let judged = said.code == 422 || denied.iter().any(|denied| words.contains(denied));
    let trouble = if words.contains(CALL_FAILED) {
        Trouble::CallFailed
    } else if judged {
        Trouble::WronglyRefused
    } else {
        Trouble::NoServer
    };
    match wish {
        Wish::Refused(expected) if judged && words.contains(expected) => None,
        _ => Some((trouble, words)),
    }
}

/// What all writers wrote.
#[derive(Debug)]
pub struct Ledger {
    began: Instant,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    /// When each writer was done with a write, in order.
    done: BTreeMap<&'static str, Vec<Instant>>,
    failed: Vec<Failed>,
}

impl Ledger {
    pub fn new() -> Self {
        Self {
            began: Instant::now(),
            noted: Mutex::default(),
        }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        // A writer that panicked fails the test by itself.
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A write of this writer came to what it should have.
    pub fn done(&self, writer: &'static str) {
        let mut noted = self.noted();
        noted.done.entry(writer).or_default().push(Instant::now());
    }

    /// A write did not.
    pub fn failed(&self, what: &str, (trouble, words): (Trouble, String), began: Instant) {
        let span = began..Instant::now();
        let at = (began - self.began).as_secs_f64();
        self.noted().failed.push(Failed {
            what: format!("at {at:.1} s {what}"),
            trouble,
            words,
            span,
        });
    }

    /// How many writes each writer has done.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let noted = self.noted();
        let all = noted.done.iter();
        all.map(|(writer, done)| (*writer, done.len())).collect()
    }

    /// All that failed so far.
    pub fn failures(&self) -> Vec<Failed> {
        self.noted().failed.clone()
    }

    /// How long a writer was without a write that came to what it should have, counting from the last one
    /// before this time to the first one after it.
    pub fn longest_gap(&self, time: &Range<Instant>) -> (Duration, &'static str) {
        let noted = self.noted();
        let all = noted.done.iter().map(|(writer, done)| {
            let gaps = done.iter().zip(done.iter().skip(1));
            let within = gaps.filter(|(from, to)| **from < time.end && time.start < **to);
            let longest = within.map(|(from, to)| *to - *from).max();
            (longest.unwrap_or(Duration::MAX), *writer)
        });
        all.max().unwrap_or((Duration::MAX, "nobody"))
    }
}
