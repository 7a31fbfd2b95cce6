//! A thread that stays where it went: in namespaces of its own, where it entered some. What it starts
//! is born there, and ends with it. Starts threads.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

type Job = Box<dyn FnOnce() + Send>;

/// A thread that does what it is handed, one thing after the other. Children that ask the kernel for a
/// death signal get it when this thread ends, which is when the value is dropped or the process ends;
/// a test's own threads come and go.
#[derive(Debug)]
pub struct Room {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Room {
    /// Starts the thread, which first does `enter`.
    pub fn open(enter: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (jobs, inbox) = channel::<Job>();
        let (answer, entered) = channel();
        let thread = thread::Builder::new().spawn(move || {
            let outcome = enter();
            let stays = outcome.is_ok();
            drop(answer.send(outcome));
            if stays {
                for job in inbox {
                    // Whoever asked hears of it; the others still need the thread.
                    drop(catch_unwind(AssertUnwindSafe(job)));
                }
            }
        })?;
        entered.recv().map_err(|_| gone())??;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// The one for whatever needs no place of its own; it lives as long as the process.
    pub fn here() -> io::Result<Arc<Self>> {
        static HERE: OnceLock<Arc<Room>> = OnceLock::new();
        if let Some(here) = HERE.get() {
            return Ok(Arc::clone(here));
        }
        let here = Arc::new(Self::open(|| Ok(()))?);
        Ok(Arc::clone(HERE.get_or_init(|| here)))
    }

    /// Does `job` there and returns what it returned.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let (answer, result) = channel();
        let job: Job = Box::new(move || drop(answer.send(job())));
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(job).map_err(|_| gone())?;
        result.recv().map_err(|_| gone())
    }

    /// Starts `command` there.
    pub fn spawn(&self, mut command: Command) -> io::Result<Child> {
        self.run(move || command.spawn())?
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // Without a sender the thread ends; waited for, so that its namespaces are gone, too.
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread that should do this is gone")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_does_everything_in_one_thread_and_is_gone_when_dropped() {
        let room = Room::open(|| Ok(())).unwrap();
        let first = room.run(|| thread::current().id()).unwrap();
        let second = room.run(|| thread::current().id()).unwrap();
        assert_eq!(first, second);
        assert_ne!(first, thread::current().id());
        let held = Arc::new(());
        let inside = Arc::clone(&held);
        let endless = Room::open(move || {
            // Dropped when the thread ends.
            HELD.with_borrow_mut(|slot| *slot = Some(inside));
            Ok(())
        })
        .unwrap();
        assert_eq!(Arc::strong_count(&held), 2);
        drop(endless);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    thread_local! {
        static HELD: std::cell::RefCell<Option<Arc<()>>> = const { std::cell::RefCell::new(None) };
    }

    #[test]
    fn a_job_that_panics_is_an_error_for_who_asked_and_for_nobody_else() {
        let room = Room::open(|| Ok(())).unwrap();
        assert!(room.run(|| panic!("a test's own assertion")).is_err());
        assert_eq!(room.run(|| 7).unwrap(), 7);
    }

    #[test]
    fn a_room_that_cannot_be_entered_says_why() {
        let refused = Room::open(|| Err(io::Error::other("no key"))).unwrap_err();
        assert_eq!(refused.to_string(), "no key");
    }
}
