//! The world outside the cluster: hosts at public addresses, and where a cloud would keep a machine's
//! credentials. Does I/O.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use sandgate_probe::line::{Contact, Line};

use super::network::{METADATA, OUTSIDE};
use crate::process::{Process, ProcessError, Program};
use crate::room::Room;

/// Ports that answer by TCP at every address outside.
pub const TCP_PORTS: [u16; 3] = [80, 443, 8080];

/// Ports that answer by UDP at every address outside.
pub const UDP_PORTS: [u16; 2] = [53, 8080];

/// The running outside world. Dropped, nobody is at home there.
#[derive(Debug)]
pub struct Outside {
    process: Process,
    log: PathBuf,
}

impl Outside {
    /// Opens the doors of all hosts in `room`, whose log goes into `folder`.
    pub(super) fn open(room: &Room, probe: &Path, folder: &Path) -> Result<Self, ProcessError> {
        let mut arguments = vec!["serve".to_owned(), "--name=outside".to_owned()];
        arguments.extend(TCP_PORTS.iter().map(|port| format!("--tcp={port}")));
        arguments.extend(UDP_PORTS.iter().map(|port| format!("--udp={port}")));
        let log = folder.join("outside.log");
        let program = Program::new(probe, arguments);
        let process = Process::start_in(room, "the outside world", &program, &log)?;
        Ok(Self { process, log })
    }

    /// Hosts that count as public.
    pub fn hosts(&self) -> [Ipv4Addr; 3] {
        OUTSIDE
    }

    /// Where a cloud would keep the credentials of the machine.
    pub fn metadata(&self) -> Ipv4Addr {
        METADATA
    }

    /// Everybody who came so far, in the order in which they were noted: after they had spoken.
    pub fn contacts(&self) -> io::Result<Vec<Contact>> {
        let log = fs::read_to_string(&self.log)?;
        Ok(log
            .lines()
            .filter_map(|line| match serde_json::from_str(line) {
                Ok(Line::Contact(contact)) => Some(contact),
                _ => None,
            })
            .collect())
    }

    pub(super) fn check(&mut self) -> Result<(), ProcessError> {
        self.process.check()
    }
}
