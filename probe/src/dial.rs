//! Dials every target again and again, from the first instant of the process, in one loop on one
//! thread. Does I/O.

mod attempt;
mod schedule;
mod underway;

use std::io;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

pub use self::attempt::{Attempt, Way};
pub use self::underway::{Ended, Underway};

use self::schedule::Schedule;
use crate::line::{Line, whole_us};
use crate::name;
use crate::outcome::Outcome;
use crate::signals::Ending;
use crate::tally::Tally;
use crate::target::Target;
use crate::voice::Voice;

/// How long a target has to answer.
const PATIENCE: Duration = Duration::from_millis(400);
/// How often the tallies so far are told.
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// How often an end that was asked for is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// More tries of one target are never under way; those of the dense first half second fit.
const MOST_PER_TARGET: usize = 256;

/// What dialling needs to know.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Whom to dial.
    pub targets: &'a [Target],
    /// In whose name.
    pub name: &'a str,
    /// Until when, counted from the start; for ever without it.
    pub until: Option<Duration>,
    /// Whether to tell what became of them so far as it goes.
    pub so_far: bool,
    /// How many sockets may be open at once.
    pub sockets: usize,
}

/// Dials.
pub struct Dialler {
    start: Instant,
    lines: Vec<Dialled>,
    underway: Underway,
    so_far: bool,
    /// How many tries of one target may be under way.
    most: usize,
}

/// A target that is being dialled.
struct Dialled {
    /// Unknown where a look-up failed: then nothing is ever sent.
    way: Option<Way>,
    schedule: Schedule,
    tally: Tally,
    underway: usize,
    number: u16,
}

impl Dialler {
    /// Makes ready, and dials each target for the first time.
    pub fn begin(plan: &Plan<'_>, start: Instant) -> io::Result<Self> {
        let lines = plan.targets.iter().map(|target| Dialled::new(target, plan));
        let share = plan.sockets.checked_div(plan.targets.len());
        let mut dialler = Self {
            start,
            lines: lines.collect(),
            underway: Underway::new(PATIENCE)?,
            so_far: plan.so_far,
            most: share.unwrap_or_default().clamp(1, MOST_PER_TARGET),
        };
        dialler.dial_who_is_due()?;
        Ok(dialler)
    }

    /// Dials until the time is over or an end is asked for, and tells what became of each target.
    pub fn run(mut self, voice: &Voice, endings: &Receiver<Ending>) -> io::Result<Option<Ending>> {
        let mut told = Duration::ZERO;
        let ending = loop {
            match endings.try_recv() {
                Ok(ending) => break Some(ending),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
            }
            let Some(time) = self.time_to_wait() else {
                break None;
            };
            let ended = self.underway.wait(Some(time))?;
            self.count(ended);
            let late = self.underway.give_up(self.start.elapsed());
            self.count(late);
            self.dial_who_is_due()?;
            if self.so_far && self.start.elapsed().saturating_sub(told) >= REPORT_EVERY {
                told = self.start.elapsed();
                self.tell(|tally| voice.say(Line::Tally(tally)), true);
            }
        };
        self.tell(|tally| voice.insist(Line::Tally(tally)), false);
        voice.insist(Line::Done { done: true });
        Ok(ending)
    }

    /// How long nothing has to be done; nothing if there is nothing left to do.
    fn time_to_wait(&mut self) -> Option<Duration> {
        let due = self.lines.iter().filter_map(|line| line.schedule.due());
        let next = due.chain(self.underway.gives_up()).min()?;
        let time = next.saturating_sub(self.start.elapsed());
        Some(time.min(LOOK_EVERY))
    }

    fn dial_who_is_due(&mut self) -> io::Result<()> {
        for (target, line) in self.lines.iter_mut().enumerate() {
            let now = self.start.elapsed();
            if line.schedule.due().is_none_or(|due| due > now) {
                continue;
            }
            line.schedule.dialled(now);
            let Some(way) = line.way.as_ref().filter(|_| line.underway < self.most) else {
                continue;
            };
            line.number = line.number.wrapping_add(1);
            match Attempt::begin(way, line.number) {
                Ok(attempt) => {
                    self.underway.add(target, now, attempt)?;
                    line.underway = line.underway.saturating_add(1);
                }
                Err(outcome) => {
                    let ended = self.start.elapsed();
                    line.tally.add(whole_us(now), whole_us(ended), outcome);
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, ended: Vec<Ended>) {
        let now = whole_us(self.start.elapsed());
        for one in ended {
            if let Some(line) = self.lines.get_mut(one.target) {
                line.underway = line.underway.saturating_sub(1);
                line.tally.add(whole_us(one.began), now, one.outcome);
            }
        }
    }

    fn tell(&self, say: impl Fn(Tally), so_far: bool) {
        for line in &self.lines {
            say(Tally {
                so_far,
                ..line.tally.clone()
            });
        }
    }
}

impl Dialled {
    fn new(target: &Target, plan: &Plan<'_>) -> Self {
        let mut tally = Tally::of(&target.label);
        let way = match Way::to(target, &name::greeting(plan.name, &target.label)) {
            Ok(way) => Some(way),
            Err(error) => {
                tally.add(0, 0, Outcome::NotTried(error.to_string()));
                None
            }
        };
        Self {
            way,
            schedule: Schedule::until(plan.until),
            tally,
            underway: 0,
            number: 0,
        }
    }
}
