//! One thread that lives as long as the process and runs what must go on between tests: each test's
//! own runtime ends with it. Starts a thread.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::thread;

use tokio::runtime::{Builder, Handle};

/// Where to spawn what must outlive the test that started it.
pub fn handle() -> io::Result<Handle> {
    static HANDLE: OnceLock<Handle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    let (answer, started) = channel();
    thread::spawn(
        move || match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                drop(answer.send(Ok(runtime.handle().clone())));
                runtime.block_on(std::future::pending::<()>());
            }
            Err(error) => drop(answer.send(Err(error))),
        },
    );
    let handle = started.recv().map_err(io::Error::other)??;
    Ok(HANDLE.get_or_init(|| handle).clone())
}
