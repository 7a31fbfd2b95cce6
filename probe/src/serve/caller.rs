//! Somebody who came by a connection: gets a page if that is what was asked for, and otherwise back
//! what was said. Does I/O, and never waits.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant, SystemTime};

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};

use crate::line::{Contact, Protocol, unix_us};
use crate::said;

/// Who has said nothing by then is written down all the same.
const TIME_TO_SPEAK: Duration = Duration::from_secs(1);
/// Who has said nothing for so long is let go.
const TIME_TO_STAY: Duration = Duration::from_mins(5);
/// A caller that never ends speaking is left for the others after so many pieces.
const STEPS: usize = 16;
/// How a request for a page begins.
const GET: &[u8] = b"GET ";

/// Somebody who came.
pub struct Caller {
    stream: TcpStream,
    port: u16,
    from: IpAddr,
    came: SystemTime,
    heard_last: Instant,
    heard: Vec<u8>,
    wish: Option<Wish>,
    unsent: Vec<u8>,
    written_down: bool,
    has_more: bool,
    gone: bool,
}

/// What somebody came for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Page,
    Echo,
}

impl Caller {
    /// Somebody who has just come; `registry` hears under `token` when there is something to do.
    pub fn new(
        stream: TcpStream,
        from: SocketAddr,
        port: u16,
        registry: &Registry,
        token: Token,
    ) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let both = Interest::READABLE | Interest::WRITABLE;
        registry.register(&mut SourceFd(&stream.as_raw_fd()), token, both)?;
        Ok(Self {
            stream,
            port,
            from: from.ip().to_canonical(),
            came: SystemTime::now(),
            heard_last: Instant::now(),
            heard: Vec::new(),
            wish: None,
            unsent: Vec::new(),
            written_down: false,
            has_more: false,
            gone: false,
        })
    }

    /// Hears and answers as far as that goes without waiting.
    pub fn attend(&mut self, name: &str) {
        self.has_more = false;
        for _ in 0..STEPS {
            match self.step(name) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.gone = true;
                    return;
                }
            }
        }
        self.has_more = true;
    }

    /// Whether it was left for others though there was more to do.
    pub fn has_more(&self) -> bool {
        self.has_more && !self.gone
    }

    /// What is to be written down of this caller, once.
    pub fn contact(&mut self) -> Option<Contact> {
        let spoken = said::is_whole(&self.heard) || self.gone;
        let silent = self.came.elapsed().unwrap_or_default() >= TIME_TO_SPEAK;
        if self.written_down || !(spoken || silent) {
            return None;
        }
        self.written_down = true;
        Some(self.told())
    }

    /// Whether it went, or has to go.
    pub fn is_gone(&self) -> bool {
        self.gone || self.heard_last.elapsed() >= TIME_TO_STAY
    }

    fn told(&self) -> Contact {
        let to = self.stream.local_addr().ok();
        Contact {
            at_us: unix_us(self.came),
            contact: Protocol::Tcp,
            port: self.port,
            from: self.from.to_string(),
            to: to.map(|to| to.ip().to_canonical().to_string()),
            said: said::first_line(&self.heard),
        }
    }

    /// Sends what there is to send, then hears what comes next.
    fn step(&mut self, name: &str) -> io::Result<()> {
        while !self.unsent.is_empty() {
            let sent = self.stream.write(&self.unsent)?;
            self.unsent.drain(..sent.min(self.unsent.len()));
            if self.wish == Some(Wish::Page) && self.unsent.is_empty() {
                // It may still be speaking: closed at once, it could lose the page.
                self.stream.shutdown(Shutdown::Write)?;
            }
        }
        let mut bytes = [0; 4096];
        let length = self.stream.read(&mut bytes)?;
        if length == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.hear(bytes.get(..length).unwrap_or_default(), name);
        Ok(())
    }

    fn hear(&mut self, bytes: &[u8], name: &str) {
        self.heard_last = Instant::now();
        if !said::is_whole(&self.heard) {
            self.heard.extend_from_slice(bytes);
        }
        match self.wish {
            Some(Wish::Page) => {}
            Some(Wish::Echo) => self.unsent = bytes.to_vec(),
            None => {
                self.wish = wish(&self.heard);
                self.unsent = match self.wish {
                    Some(Wish::Page) => page(name).into_bytes(),
                    Some(Wish::Echo) => self.heard.clone(),
                    None => Vec::new(),
                };
            }
        }
    }
}

/// What somebody came for, as soon as what was heard tells.
fn wish(heard: &[u8]) -> Option<Wish> {
    if heard.starts_with(GET) {
        Some(Wish::Page)
    } else if GET.starts_with(heard) {
        None
    } else {
        Some(Wish::Echo)
    }
}

fn page(name: &str) -> String {
    let body = format!("{name}\n");
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(b"", None)]
    #[case(b"GE", None)]
    #[case(b"GET ", Some(Wish::Page))]
    #[case(b"GET /x HTTP/1.1\r\n", Some(Wish::Page))]
    #[case(b"GETTING", Some(Wish::Echo))]
    #[case(b"get /", Some(Wish::Echo))]
    #[case(b"a>b\n", Some(Wish::Echo))]
    #[case(b"\x00", Some(Wish::Echo))]
    fn a_page_is_given_to_who_asks_for_one(#[case] heard: &[u8], #[case] came_for: Option<Wish>) {
        assert_eq!(wish(heard), came_for);
    }
}
