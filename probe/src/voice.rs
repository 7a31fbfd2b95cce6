//! Says lines on standard output without holding up who speaks: while a container runtime restarts,
//! nobody takes what a container says, and a write would block. Does I/O on a thread of its own.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::line::Line;

/// Lines that may wait to be taken.
const WAITING: usize = 16_384;
/// How long an ending process waits for what it said to be taken.
const PATIENCE: Duration = Duration::from_secs(2);

enum Message {
    Say(Line),
    /// Everything before this has been written once the other end is dropped.
    Flush(SyncSender<()>),
}

/// Says lines. Clones speak in turn.
#[derive(Clone)]
pub struct Voice {
    lines: SyncSender<Message>,
    left_out: Arc<AtomicU64>,
}

impl Voice {
    /// Starts to speak into `out`.
    pub fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, heard) = sync_channel(WAITING);
        let left_out = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&left_out);
        thread::Builder::new()
            .name("voice".to_owned())
            .spawn(move || speak(out, &heard, &count))?;
        Ok(Self { lines, left_out })
    }

    /// Says `line`, unless too many wait already: then it is only counted.
    pub fn say(&self, line: Line) {
        match self.lines.try_send(Message::Say(line)) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(_)) => {
                self.left_out.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Says `line` however long it takes.
    pub fn insist(&self, line: Line) {
        // Nobody listens any more: there is nobody to tell.
        drop(self.lines.send(Message::Say(line)));
    }

    /// Waits until what was said is written, but not for ever.
    pub fn flush(&self) {
        let (written, wait) = sync_channel(0);
        if self.lines.try_send(Message::Flush(written)).is_ok() {
            let (Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)) =
                wait.recv_timeout(PATIENCE);
        }
    }
}

fn speak(mut out: impl Write, heard: &Receiver<Message>, left_out: &AtomicU64) {
    for message in heard {
        match message {
            Message::Say(line) => write(&mut out, &line),
            Message::Flush(written) => drop(written),
        }
        let missed = left_out.swap(0, Ordering::Relaxed);
        if missed > 0 {
            write(&mut out, &Line::LeftOut { left_out: missed });
        }
    }
}

/// A line goes out in one piece. If nobody reads it, what is going on goes on.
fn write(out: &mut impl Write, line: &Line) {
    if let Ok(mut text) = serde_json::to_vec(line) {
        text.push(b'\n');
        drop(out.write_all(&text).and_then(|()| out.flush()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Passes on what is written, once it is allowed to.
    struct Slow {
        gate: Receiver<()>,
        out: std::sync::mpsc::Sender<String>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let (Ok(()) | Err(_)) = self.gate.recv();
            drop(self.out.send(String::from_utf8(bytes.to_vec()).unwrap()));
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn who_speaks_is_not_held_up_and_what_was_left_out_is_counted() {
        let (open, gate) = channel();
        let (out, written) = channel();
        let voice = Voice::start(Slow { gate, out }).unwrap();
        let extra = 5;
        // One line is taken and stuck; or not taken yet.
        for _ in 0..=WAITING + extra {
            voice.say(Line::Done { done: true });
        }
        // Dropped, the gate stands open.
        drop(open);
        voice.flush();
        drop(voice);
        let lines: Vec<String> = written.iter().collect();
        let said = lines.iter().filter(|line| line.contains("done")).count();
        let missed: usize = lines
            .iter()
            .filter_map(|line| match serde_json::from_str(line).unwrap() {
                Line::LeftOut { left_out } => Some(usize::try_from(left_out).unwrap()),
                _ => None,
            })
            .sum();
        assert!(missed >= extra, "{missed}");
        assert_eq!(said + missed, WAITING + extra + 1);
    }
}
