//! Hears the signals that end a process. As PID 1 of a container, a process that does not listen is
//! not ended by SIGTERM; elsewhere it is: so both ways are chosen, not left to chance. Does I/O.

use std::io;
use std::sync::mpsc::Sender;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::serve::ServeError;

/// Why a process ends.
#[derive(Debug)]
pub enum Ending {
    /// It was told to.
    Told,
    /// Something failed that it cannot do without.
    Failed(ServeError),
}

/// Tells `to` when a signal asks for the end. With `ignore_term`, SIGTERM does not.
pub fn listen(ignore_term: bool, to: Sender<Ending>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in &mut signals {
                if ignore_term && signal == SIGTERM {
                    continue;
                }
                if to.send(Ending::Told).is_err() {
                    return;
                }
            }
        })?;
    Ok(())
}
