//! What a person sees while something long is going on. Writes to standard error.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// How long any one part may take to become ready, on a machine that is busy with other things.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// How often a line is printed where nothing can be overwritten (a log, a CI page).
const LOG_EVERY: Duration = Duration::from_secs(15);

/// One thing that takes time: a line that counts up on a terminal, a line now and then elsewhere.
#[derive(Debug)]
pub struct Step {
    what: String,
    began: Instant,
    printed: Instant,
    terminal: bool,
}

impl Step {
    /// Says that `what` begins.
    pub fn begin(what: &str) -> Self {
        let terminal = stderr().is_terminal();
        let step = Self {
            what: what.to_owned(),
            began: Instant::now(),
            printed: Instant::now(),
            terminal,
        };
        step.print("", !terminal);
        step
    }

    /// Says how far it is, such as `412 packages`.
    pub fn advance(&mut self, how_far: &str) {
        if self.terminal || self.printed.elapsed() >= LOG_EVERY {
            self.printed = Instant::now();
            self.print(
                &format!(": {how_far}, {}", seconds(self.began.elapsed())),
                !self.terminal,
            );
        }
    }

    /// Says that it is done, and how long it took.
    pub fn done(self) {
        self.print(&format!(" ✓ {}", seconds(self.began.elapsed())), true);
    }

    fn print(&self, rest: &str, end: bool) {
        let (start, end) = (
            if self.terminal { "\r\x1b[2K" } else { "" },
            if end { "\n" } else { "" },
        );
        let mut out = stderr().lock();
        // A closed terminal is no reason to stop what is being done.
        drop(write!(out, "{start}  {}{rest}{end}", self.what));
        drop(out.flush());
    }
}

/// `0.4 s`, `12.3 s`, `4 min 20 s`
pub fn seconds(time: Duration) -> String {
    let whole = time.as_secs();
    if whole >= 60 {
        format!("{} min {:02} s", whole / 60, whole % 60)
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(Duration::from_millis(440), "0.4 s")]
    #[case(Duration::from_millis(59_960), "60.0 s")]
    #[case(Duration::from_secs(260), "4 min 20 s")]
    fn times_read_as_people_say_them(#[case] time: Duration, #[case] words: &str) {
        assert_eq!(seconds(time), words);
    }
}
