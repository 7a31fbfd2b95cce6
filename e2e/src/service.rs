//! One of Sandgate's own processes: started, killed, stopped and started again by a test. Does I/O.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::ports::Port;
use crate::process::{self, Process, ProcessError, Program};

/// Asked this often: a process has no other way to say that it has started, or what it has counted.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Why a process of ours is not there.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// It did not start, or ended.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It is not running.
    #[error("{0} was stopped and not started again")]
    Stopped(String),
    /// Its metrics never said so.
    #[error("{address} did not count {line:?} within {} s, last:\n{page}", within.as_secs())]
    NotCounted {
        /// Where it was asked.
        address: String,
        /// What was to be among the metrics.
        line: String,
        /// For how long.
        within: Duration,
        /// The last answer.
        page: String,
    },
    /// It was never ready.
    #[error("{name} did not answer {path} with 200 within {} s, last: {last}; the end of its log:\n{tail}", within.as_secs())]
    NotReady {
        /// Which process.
        name: String,
        /// What was asked.
        path: &'static str,
        /// For how long.
        within: Duration,
        /// The last answer.
        last: String,
        /// The end of its log; the log itself goes with the run.
        tail: String,
    },
}

/// A process of ours and how to start it again.
#[derive(Debug)]
pub struct Service {
    name: String,
    program: Program,
    log: PathBuf,
    health: Port,
    process: Option<Process>,
}

impl Service {
    /// Starts `program`, whose plain HTTP health port is `health`.
    pub fn start_new(
        name: &str,
        program: Program,
        log: &Path,
        health: Port,
    ) -> Result<Self, ProcessError> {
        let mut service = Self {
            name: name.to_owned(),
            program,
            log: log.to_owned(),
            health,
            process: None,
        };
        service.start()?;
        Ok(service)
    }

    /// Starts it again, with the same arguments, unless it runs.
    pub fn start(&mut self) -> Result<(), ProcessError> {
        if !self.is_running() {
            self.process = Some(Process::start(&self.name, &self.program, &self.log)?);
        }
        Ok(())
    }

    /// Kills it as a power cut would.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Stops it where it stands (SIGSTOP), as a machine that hangs: it does nothing and hears nothing.
    pub fn pause(&self) -> std::io::Result<()> {
        self.tell("STOP")
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&self) -> std::io::Result<()> {
        self.tell("CONT")
    }

    fn tell(&self, name: &str) -> std::io::Result<()> {
        let running = self.id().ok_or(std::io::ErrorKind::NotFound)?;
        process::signal(name, running)
    }

    /// Asks it to end (SIGTERM) and waits until it has.
    pub fn stop(&mut self) -> Result<(), ProcessError> {
        if let Some(mut process) = self.process.take() {
            process.stop()?;
        }
        Ok(())
    }

    /// Whether it runs.
    pub fn is_running(&mut self) -> bool {
        self.process.as_mut().is_some_and(Process::is_running)
    }

    /// An error if it has ended without [`Service::kill`] or [`Service::stop`].
    pub fn check(&mut self) -> Result<(), ProcessError> {
        self.process.as_mut().map_or(Ok(()), Process::check)
    }

    /// Its process id while it runs.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Where its output goes.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// `127.0.0.1:<port>` of `/livez`, `/readyz` and `/metrics`.
    pub fn health_address(&self) -> String {
        self.health.address()
    }

    /// Waits until `path` (such as `/readyz`) answers 200; an error at once if the process ends.
    pub async fn answers(
        &mut self,
        path: &'static str,
        within: Duration,
    ) -> Result<(), ServiceError> {
        let deadline = Instant::now() + within;
        let mut turn = tokio::time::interval(ASK_EVERY);
        loop {
            turn.tick().await;
            match self.process.as_mut() {
                Some(process) => process.check()?,
                None => return Err(ServiceError::Stopped(self.name.clone())),
            }
            let last = match get(&self.health.address(), path).await {
                Ok((200, _)) => return Ok(()),
                Ok((code, body)) => format!("{code} {}", body.trim()),
                Err(error) => error.to_string(),
            };
            if Instant::now() >= deadline {
                let (name, log) = (self.name.clone(), self.log.clone());
                return Err(ServiceError::NotReady {
                    name,
                    path,
                    within,
                    last,
                    tail: process::tail(&log, 15),
                });
            }
        }
    }
}

/// Waits until the metrics of the process at this health address hold `line`: what it does and nobody else
/// sees, it counts a moment later.
pub async fn counts(address: &str, line: &str, within: Duration) -> Result<(), ServiceError> {
    let deadline = Instant::now() + within;
    let mut turn = tokio::time::interval(ASK_EVERY);
    loop {
        turn.tick().await;
        let page = match get(address, "/metrics").await {
            Ok((200, page)) if page.lines().any(|it| it == line) => return Ok(()),
            Ok((code, body)) => format!("{code} {body}"),
            Err(error) => error.to_string(),
        };
        if Instant::now() >= deadline {
            return Err(ServiceError::NotCounted {
                address: address.to_owned(),
                line: line.to_owned(),
                within,
                page,
            });
        }
    }
}

/// Status and body of a plain HTTP GET.
pub async fn get(address: &str, path: &str) -> std::io::Result<(u16, String)> {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    };
    let answer: std::io::Result<String> =
        tokio::time::timeout(Duration::from_secs(5), exchange).await?;
    let answer = answer?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    code.map(|code| (code, body.to_owned()))
        .ok_or_else(|| std::io::Error::other("the answer is not HTTP"))
}
