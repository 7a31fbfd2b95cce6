//! Being told to stop: by Ctrl-C, by whoever ends processes, by a terminal that goes away. Does I/O.

use std::io;

use futures::Stream;
use futures::stream::{select_all, unfold};
use tokio::signal::unix::{SignalKind, signal};

/// Each time this process is told to stop, from now on. None of these signals ends it by itself any
/// more.
pub fn stops() -> io::Result<impl Stream<Item = ()> + Send> {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let mut heard = Vec::new();
    for kind in kinds {
        let signals = signal(kind)?;
        heard.push(Box::pin(unfold(signals, |mut signals| async move {
            signals.recv().await.map(|()| ((), signals))
        })));
    }
    Ok(select_all(heard))
}
