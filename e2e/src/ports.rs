//! Ports that stay ours: two clusters on one machine never pick the same one. Does I/O.

use std::fs::{File, TryLockError};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use crate::folders::{self, FolderError};

/// Below the range from which Linux takes the ports of outgoing connections, so that nobody's
/// connection lands on a port between our picking it and our server's listening there.
const RANGE: std::ops::Range<u16> = 21_000..31_000;

/// Why a port could not be had.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The port asked for is in use.
    #[error(
        "port {0} on 127.0.0.1 is taken: stop what listens there, or ask for another with --port (without --port a free one is picked)"
    )]
    Taken(u16),
    /// Ten thousand ports are in use.
    #[error("no port between {} and {} on 127.0.0.1 is free", RANGE.start, RANGE.end)]
    NoneFree,
    /// The locks that mark ports could not be kept.
    #[error("failed to mark a port as ours")]
    Folder(#[from] FolderError),
}

/// A port on 127.0.0.1 that no other run takes while this value lives.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    /// Any free port.
    pub fn free() -> Result<Self, PortError> {
        let marks = folders::cache()?.join("ports");
        folders::make(&marks)?;
        for number in RANGE {
            if let Some(port) = Self::try_take(number, &marks)? {
                return Ok(port);
            }
        }
        Err(PortError::NoneFree)
    }

    /// Exactly this port.
    pub fn exactly(number: u16) -> Result<Self, PortError> {
        let marks = folders::cache()?.join("ports");
        folders::make(&marks)?;
        Self::try_take(number, &marks)?.ok_or(PortError::Taken(number))
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// `127.0.0.1:<number>`
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.number)
    }

    fn try_take(number: u16, marks: &Path) -> Result<Option<Self>, FolderError> {
        let path = marks.join(number.to_string());
        let lock = folders::lock_file(&path)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(source)) => return Err(FolderError::at(&path, source)),
        }
        match TcpListener::bind((Ipv4Addr::LOCALHOST, number)) {
            Ok(_listener) => Ok(Some(Self {
                number,
                _lock: lock,
            })),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
            Err(source) => Err(FolderError::at(&path, source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_given_out_once_while_it_is_held() {
        let first = Port::free().unwrap();
        let second = Port::free().unwrap();
        assert_ne!(first.number(), second.number());
    }

    #[test]
    fn a_port_somebody_listens_on_is_refused_with_the_way_out() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let number = listener.local_addr().unwrap().port();
        let error = Port::exactly(number).unwrap_err();
        assert!(matches!(error, PortError::Taken(taken) if taken == number));
        assert!(error.to_string().contains("--port"), "{error}");
    }
}
