//! Does what the flags say. Does I/O.

use std::io;
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::dial::{Dialler, Plan};
use crate::flags::{Command, Dial, Serve};
use crate::hardening::Hardening;
use crate::line::{Line, Start, unix_us};
use crate::serve::{Ports, ServeError, Server};
use crate::signals::{self, Ending};
use crate::voice::Voice;
use crate::{get, open_files, pause};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Nothing is served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The system refused something that is always needed: a thread, a pipe, standard output.
    #[error("failed to run: {0}")]
    System(#[from] io::Error),
}

/// Runs one command, whose process began at `start`.
pub fn run(command: Command, start: Start) -> Result<ExitCode, RunError> {
    match command {
        Command::Serve(flags) => serve(&flags),
        Command::Dial(flags) => dial(&flags, start),
        Command::Get(flags) => {
            let all = get::run(&flags.targets, &mut io::stdout())?;
            Ok(if all {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            })
        }
        Command::Hardening => {
            let text = serde_json::to_string(&Hardening::read()).map_err(io::Error::from)?;
            println!("{text}");
            Ok(ExitCode::SUCCESS)
        }
        Command::Pause => {
            pause::run()?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn serve(flags: &Serve) -> Result<ExitCode, RunError> {
    let voice = Voice::start(io::stdout())?;
    let (ended, endings) = channel();
    signals::listen(flags.ignore_term, ended.clone())?;
    let sockets = open_files::for_sockets();
    open_doors(&flags.name, &flags.ports(), sockets, &voice, ended)?;
    end(endings.recv().ok(), &voice)
}

fn dial(flags: &Dial, start: Start) -> Result<ExitCode, RunError> {
    let sockets = open_files::for_sockets() / 2;
    let plan = Plan {
        targets: &flags.targets,
        name: &flags.name,
        until: flags.until(),
        so_far: flags.so_far || flags.until().is_none(),
        sockets,
    };
    // Nothing that can wait comes before the first dials.
    let dialler = Dialler::begin(&plan, start.instant)?;
    let voice = Voice::start(io::stdout())?;
    voice.say(Line::Started {
        started_us: unix_us(start.time),
        name: flags.name.clone(),
    });
    let (ended, endings) = channel();
    signals::listen(flags.ignore_term, ended.clone())?;
    if !flags.serve.is_empty() {
        open_doors(&flags.name, &flags.ports(), sockets, &voice, ended)?;
    }
    if flags.hardening {
        voice.insist(Line::Hardening {
            hardening: Box::new(Hardening::read()),
        });
    }
    let ending = match dialler.run(&voice, &endings)? {
        Some(ending) => Some(ending),
        None => endings.recv().ok(),
    };
    end(ending, &voice)
}

fn open_doors(
    name: &str,
    ports: &Ports,
    sockets: usize,
    voice: &Voice,
    ended: Sender<Ending>,
) -> Result<(), RunError> {
    let server = Server::open(name, ports, sockets, voice.clone())?;
    thread::Builder::new()
        .name("server".to_owned())
        .spawn(move || drop(ended.send(Ending::Failed(server.run()))))?;
    Ok(())
}

fn end(ending: Option<Ending>, voice: &Voice) -> Result<ExitCode, RunError> {
    voice.flush();
    match ending {
        Some(Ending::Failed(error)) => Err(error.into()),
        Some(Ending::Told) | None => Ok(ExitCode::SUCCESS),
    }
}
