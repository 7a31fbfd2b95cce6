//! The first process of a pod: does nothing but reap what others leave behind, until it is told to
//! end. Does I/O.

use std::io;

use rustix::process::{WaitOptions, wait};
use signal_hook::consts::{SIGCHLD, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Stays until SIGTERM or SIGINT.
pub fn run() -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGCHLD])?;
    // One that ended before we listened.
    reap();
    for signal in &mut signals {
        match signal {
            SIGCHLD => reap(),
            _ => break,
        }
    }
    Ok(())
}

/// One signal may stand for several that ended.
fn reap() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}
