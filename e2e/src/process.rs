//! Child processes that cannot outlive us: killed when dropped, and by the kernel when we are
//! killed. Does I/O.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::room::Room;

/// How long a process may take to end after it was told to: longer than the webhook drains.
const PATIENCE: Duration = Duration::from_mins(1);

/// Why a process did not start, or is no more.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The system refused to start it.
    #[error("failed to start {name}")]
    Start {
        /// What was started.
        name: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It ended though it should run on.
    #[error("{name} ended ({status}); the end of its log:\n{tail}")]
    Ended {
        /// What was started.
        name: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines of it.
        tail: String,
    },
    /// It did not end though it should.
    #[error("{name} did not end within {} s of being told to, and was killed; the end of its log:\n{tail}", patience.as_secs())]
    Stuck {
        /// What was started.
        name: String,
        /// How long was waited.
        patience: Duration,
        /// The last lines of its log.
        tail: String,
    },
    /// It ended because it had no room to write.
    #[error("{name} ended because the disk is full: free some space and start again")]
    DiskFull {
        /// What was started.
        name: String,
    },
}

/// A running child.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `program` with its output appended to `log`.
    pub fn start(name: &str, program: &Program, log: &Path) -> Result<Self, ProcessError> {
        let here = Room::here().map_err(|source| ProcessError::Start {
            name: name.to_owned(),
            source,
        })?;
        Self::start_in(&here, name, program, log)
    }

    /// The same, born in `room`.
    pub fn start_in(
        room: &Room,
        name: &str,
        program: &Program,
        log: &Path,
    ) -> Result<Self, ProcessError> {
        let failed = |source| ProcessError::Start {
            name: name.to_owned(),
            source,
        };
        let output = File::options()
            .create(true)
            .append(true)
            .open(log)
            .map_err(failed)?;
        let mut command = program.command();
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(output);
        let child = room.spawn(command).map_err(failed)?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log: log.to_owned(),
        })
    }

    /// An error with the end of the log if it has ended.
    pub fn check(&mut self) -> Result<(), ProcessError> {
        let name = self.name.clone();
        let Some(status) = self
            .child
            .try_wait()
            .map_err(|source| ProcessError::Start {
                name: name.clone(),
                source,
            })?
        else {
            return Ok(());
        };
        // A crash's stack traces come after its reason.
        if disk_is_full(&tail(&self.log, 200)) {
            return Err(ProcessError::DiskFull { name });
        }
        let tail = tail(&self.log, 15);
        Err(ProcessError::Ended { name, status, tail })
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it as a power cut would, and waits until it is gone.
    pub fn kill(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Asks it to end (SIGTERM) and waits until it has. One that does not is killed, and an error.
    pub fn stop(&mut self) -> Result<ExitStatus, ProcessError> {
        self.stop_within(PATIENCE)
    }

    fn stop_within(&mut self, patience: Duration) -> Result<ExitStatus, ProcessError> {
        let failed = |source| ProcessError::Start {
            name: format!("kill -TERM {}", self.name),
            source,
        };
        let id = self.child.id();
        signal("TERM", id).map_err(failed)?;
        let (ended, until_ended) = mpsc::channel::<()>();
        let watch = thread::spawn(move || {
            let stuck = until_ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout);
            stuck.then(|| signal("KILL", id))
        });
        let status = self.child.wait().map_err(failed)?;
        drop(ended);
        match watch.join() {
            Ok(None) => Ok(status),
            _ => Err(ProcessError::Stuck {
                name: self.name.clone(),
                patience,
                tail: tail(&self.log, 15),
            }),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// The binary.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where it looks for other programs; where we do if `None`.
    pub search: Option<OsString>,
    /// What it logs, as `RUST_LOG` has it; what it does by itself if `None`.
    pub log: Option<String>,
}

impl Program {
    /// `path` with `arguments`.
    pub fn new<S: Into<String>>(path: &Path, arguments: impl IntoIterator<Item = S>) -> Self {
        Self {
            path: path.to_owned(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            search: None,
            log: None,
        }
    }

    /// The same, logging what `filter` says.
    #[must_use]
    pub fn logging(self, filter: Option<String>) -> Self {
        Self {
            log: filter,
            ..self
        }
    }

    /// The same, looking for other programs in `search`.
    #[must_use]
    pub fn searching(self, search: OsString) -> Self {
        Self {
            search: Some(search),
            ..self
        }
    }

    fn command(&self) -> Command {
        let mut command = bound_to_us(&self.path, "KILL");
        // What this machine's user set for their own kubectl is nobody's credential here.
        command.args(&self.arguments).env_remove("KUBECONFIG");
        if let Some(search) = &self.search {
            command.env("PATH", search);
        }
        if let Some(filter) = &self.log {
            command.env("RUST_LOG", filter);
        }
        command
    }
}

/// A command to which the kernel sends `signal` (`KILL`, `INT`) when we die, where the system has
/// `setpriv` (Linux). It must be started by a [`Room`].
pub fn bound_to_us(path: &Path, signal: &str) -> Command {
    static HAVE_SETPRIV: LazyLock<bool> = LazyLock::new(|| {
        Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    });
    if !*HAVE_SETPRIV {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    // A group of its own: Ctrl-C in the terminal reaches us alone, and we end the children in order.
    command
        .args(["--pdeathsig", signal, "--"])
        .arg(path)
        .process_group(0);
    command
}

/// Sends a signal (`TERM`, `KILL`, `STOP`) to a process.
pub(crate) fn signal(name: &str, process: u32) -> io::Result<()> {
    let process = process.to_string();
    Command::new("kill")
        .args([&format!("-{name}"), &process])
        .status()
        .map(|_| ())
}

/// Whether a program's output says that the disk is full.
pub fn disk_is_full(output: &str) -> bool {
    output
        .to_ascii_lowercase()
        .contains("no space left on device")
}

/// The last `lines` lines of a file, or nothing if it cannot be read.
pub fn tail(path: &Path, lines: usize) -> String {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let text = text.unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    all.get(all.len().saturating_sub(lines)..)
        .unwrap_or_default()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        Program::new(Path::new("/bin/sh"), ["-c", script])
    }

    #[test]
    fn a_process_that_ends_says_how_and_shows_the_end_of_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut process = Process::start("teller", &shell("echo goodbye; exit 3"), &log).unwrap();
        process.child.wait().unwrap();
        let error = process.check().unwrap_err().to_string();
        assert!(
            error.contains("teller ended") && error.contains('3'),
            "{error}"
        );
        assert!(error.contains("goodbye"), "{error}");
    }

    #[test]
    fn a_process_that_ran_out_of_disk_says_so_in_one_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let script = "echo 'panic: write: no space left on device'; exit 2";
        let mut process = Process::start("etcd", &shell(script), &log).unwrap();
        process.child.wait().unwrap();
        let error = process.check().unwrap_err().to_string();
        assert_eq!(
            error,
            "etcd ended because the disk is full: free some space and start again"
        );
    }

    #[test]
    fn a_dropped_process_is_gone_and_a_stopped_one_may_say_goodbye() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let sleeper = Process::start("sleeper", &shell("exec sleep 1000"), &log).unwrap();
        let id = sleeper.id();
        drop(sleeper);
        assert!(
            !Command::new("kill")
                .args(["-0", &id.to_string()])
                .status()
                .unwrap()
                .success()
        );

        // The shell reads from a pipe nobody writes to, after telling that its trap is set.
        let script = "trap 'echo bye; exit 0' TERM; echo set; while :; do sleep 0.01; done";
        let mut polite = Process::start("polite", &shell(script), &log).unwrap();
        while !tail(&log, 1).contains("set") {
            std::thread::yield_now();
        }
        assert!(polite.stop().unwrap().success());
        assert_eq!(tail(&log, 1), "bye");
    }

    #[test]
    fn a_process_that_does_not_end_when_it_is_told_to_is_killed_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let script = "trap '' TERM; echo set; while :; do sleep 0.01; done";
        let mut deaf = Process::start("deaf", &shell(script), &log).unwrap();
        while !tail(&log, 1).contains("set") {
            std::thread::yield_now();
        }
        let error = deaf.stop_within(Duration::from_millis(100)).unwrap_err();
        assert!(matches!(error, ProcessError::Stuck { .. }), "{error}");
        assert!(error.to_string().starts_with("deaf did not end"), "{error}");
        assert!(!deaf.is_running());
    }
}
