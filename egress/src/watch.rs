//! Learning that something in a directory changed (inotify). Does file I/O.
//!
//! The directory is watched and not the file: a mounted ConfigMap changes by a symbolic link in it that
//! is renamed, and the file behind it is never written to.

use std::io;
use std::path::Path;

use futures::StreamExt as _;
use inotify::{EventStream, Inotify, WatchMask};

/// A few events with the names of their files.
const EVENTS: usize = 4096;

/// A directory that is watched.
pub struct Watch(EventStream<Vec<u8>>);

impl Watch {
    /// Watches `directory`. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// It is not there, or the user has as many watches as he may.
    pub fn new(directory: &Path) -> io::Result<Self> {
        let events = WatchMask::MOVED_TO
            | WatchMask::MOVED_FROM
            | WatchMask::CLOSE_WRITE
            | WatchMask::CREATE
            | WatchMask::DELETE
            | WatchMask::ONLYDIR;
        let inotify = Inotify::init()?;
        inotify.watches().add(directory, events)?;
        Ok(Self(inotify.into_event_stream(vec![0; EVENTS])?))
    }

    /// Returns when something changed; what it was does not matter.
    ///
    /// # Errors
    /// Nothing more will be told.
    pub async fn changed(&mut self) -> io::Result<()> {
        match self.0.next().await {
            Some(Ok(event)) if !event.mask.contains(inotify::EventMask::IGNORED) => Ok(()),
            Some(Ok(_)) | None => Err(io::ErrorKind::NotFound.into()),
            Some(Err(error)) => Err(error),
        }
    }
}
