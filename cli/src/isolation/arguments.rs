//! Command lines of the probe. Pure.

use std::time::Duration;

use super::destination::{Destination, port};
use super::ingress::{Door, LOOPBACK};

/// The probe in Sandgate's image.
pub const PROBE: &str = "/sandgate-probe";

/// A receiver that says what reaches it.
pub fn receiver(name: &str) -> Vec<String> {
    let mut words = words(&[PROBE, "serve", "--name", name]);
    for tcp in [port::RECEIVER, port::NAMED, port::OTHER] {
        words.extend(["--tcp".to_owned(), tcp.to_string()]);
    }
    words.extend(["--udp".to_owned(), port::RECEIVER.to_string()]);
    words
}

/// Longer than any end takes. Whatever becomes of a run, nothing that it leaves behind dials on
/// after this.
const ENDLESS: Duration = Duration::from_mins(15);

/// How a pod dials.
#[derive(Clone, Debug, Default)]
pub struct Dial<'a> {
    /// The name it calls itself by.
    pub name: &'a str,
    /// `LABEL=TARGET` each.
    pub targets: Vec<String>,
    /// For how long; `None` for as long as its end is waited for, telling what it saw as it goes.
    pub period: Option<Duration>,
    /// Ports that it serves.
    pub serve: Vec<u16>,
    /// Tell what the container sees of itself.
    pub hardening: bool,
    /// Go on after SIGTERM.
    pub ignore_term: bool,
}

impl Dial<'_> {
    /// The command line.
    pub fn words(&self) -> Vec<String> {
        let mut words = words(&[PROBE, "dial", "--name", self.name, "--for"]);
        let period = self.period.unwrap_or(ENDLESS);
        let milliseconds = period.as_millis();
        words.push(if milliseconds.is_multiple_of(1000) {
            format!("{}s", milliseconds / 1000)
        } else {
            format!("{milliseconds}ms")
        });
        for port in &self.serve {
            words.extend(["--serve".to_owned(), port.to_string()]);
        }
        for (flag, wanted) in [
            ("--so-far", self.period.is_none()),
            ("--hardening", self.hardening),
            ("--ignore-term", self.ignore_term),
        ] {
            words.extend(wanted.then(|| flag.to_owned()));
        }
        for target in &self.targets {
            // One word each: a class has at most 64.
            words.push(format!("--target={target}"));
        }
        words
    }
}

/// These destinations, those that there are.
pub fn targets<'a>(rows: impl IntoIterator<Item = &'a Destination>) -> Vec<String> {
    let there = rows.into_iter().filter_map(|row| {
        let target = row.target.as_ref().ok()?;
        Some(format!("{}={target}", row.label))
    });
    there.collect()
}

/// These doors.
pub fn door_targets(doors: &[Door]) -> Vec<String> {
    let written = doors
        .iter()
        .map(|door| format!("{}=tcp:{}", door.label, door.socket));
    written.collect()
}

/// The sandbox's own port that is not in its class, from within.
pub fn loopback() -> String {
    format!("{LOOPBACK}=tcp:127.0.0.1:{}", port::NOT_CLASS)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_dials_without_a_period_stops_by_itself_and_tells_what_it_saw_until_then() {
        let dial = Dial {
            name: "run/claim-failed",
            ignore_term: true,
            ..Dial::default()
        };
        let words = dial.words().join(" ");
        assert_eq!(
            words,
            "/sandgate-probe dial --name run/claim-failed --for 900s --so-far --ignore-term"
        );
    }
}
