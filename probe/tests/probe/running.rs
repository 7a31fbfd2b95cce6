//! A probe that runs, and the lines it prints.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sandgate_probe::line::{Contact, Line};
use sandgate_probe::tally::Tally;

/// Far longer than anything here takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The probe with these arguments.
pub fn probe(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandgate-probe"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs the probe to its end.
pub fn run(arguments: &[&str]) -> Output {
    probe(arguments).output().unwrap()
}

/// A probe that runs until it ends or is dropped.
pub struct Running {
    child: Child,
    lines: Receiver<Line>,
}

impl Running {
    pub fn start(arguments: &[&str]) -> Self {
        let mut command = probe(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = lines_of(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// A server with one free port of each kind, and their numbers.
    pub fn serving(name: &str) -> (Self, u16, u16) {
        let server = Self::start(&["serve", "--name", name, "--tcp", "0", "--udp", "0"]);
        let (tcp, udp) = server.ports();
        (server, tcp, udp)
    }

    /// The ports it says it has opened.
    pub fn ports(&self) -> (u16, u16) {
        self.first(|line| match line {
            Line::Serving { tcp, udp, .. } => Some((tcp[0], udp[0])),
            _ => None,
        })
    }

    pub fn line(&self) -> Line {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    /// The first line of which `wanted` makes something.
    pub fn first<T>(&self, wanted: impl Fn(Line) -> Option<T>) -> T {
        loop {
            if let Some(found) = wanted(self.line()) {
                return found;
            }
        }
    }

    pub fn contact(&self) -> Contact {
        self.first(|line| match line {
            Line::Contact(contact) => Some(contact),
            _ => None,
        })
    }

    /// The final tallies, in the order of the targets.
    pub fn tallies(&self) -> Vec<Tally> {
        let mut tallies = Vec::new();
        loop {
            match self.line() {
                Line::Tally(tally) if !tally.so_far => tallies.push(tally),
                Line::Done { .. } => return tallies,
                _ => {}
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Whether it has ended.
    pub fn ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn lines_of(out: ChildStdout) -> Receiver<Line> {
    let (send, lines) = channel();
    thread::spawn(move || {
        for text in BufReader::new(out).lines() {
            let text = text.unwrap();
            let line = serde_json::from_str(&text);
            let line = line.unwrap_or_else(|error| panic!("{text}: {error}"));
            if send.send(line).is_err() {
                break;
            }
        }
    });
    lines
}
