//! Answers whoever comes, and writes each down. One loop on one thread, so that a crowd of callers
//! costs no threads. Does I/O.

mod caller;
mod door;

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::time::{Duration, SystemTime};

use mio::{Events, Poll, Token};

use self::caller::Caller;
use self::door::{DOOR, TcpDoor, UdpDoor};
use crate::line::{Contact, Line, Protocol, unix_us};
use crate::said;
use crate::voice::Voice;

/// How many events are taken at once.
const EVENTS: usize = 1024;
/// How often callers that say nothing are looked after.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// More callers are not kept at once: they wait at the door.
const MOST_CALLERS: usize = 1024;

/// The ports to open; 0 stands for a free one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// For connections.
    pub tcp: Vec<u16>,
    /// For datagrams.
    pub udp: Vec<u16>,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A port is taken, or not ours to take.
    #[error("failed to open {protocol} port {port}: {source}")]
    Port {
        /// TCP or UDP.
        protocol: &'static str,
        /// Its number.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The system gives no way to wait for events.
    #[error("failed to wait for callers: {0}")]
    Wait(io::Error),
}

/// Open doors, and who came through them.
pub struct Server {
    name: String,
    voice: Voice,
    poll: Poll,
    tcp: Vec<TcpDoor>,
    udp: Vec<UdpDoor>,
    callers: HashMap<usize, Caller>,
    most_callers: usize,
    last: usize,
}

impl Server {
    /// Opens the doors and says so. At most `sockets` callers are kept at once.
    pub fn open(
        name: &str,
        ports: &Ports,
        sockets: usize,
        voice: Voice,
    ) -> Result<Self, ServeError> {
        let failed = |protocol, port| {
            move |source| ServeError::Port {
                protocol,
                port,
                source,
            }
        };
        let poll = Poll::new().map_err(ServeError::Wait)?;
        let tcp = ports
            .tcp
            .iter()
            .map(|port| TcpDoor::open(*port, poll.registry()).map_err(failed("TCP", *port)));
        let tcp = tcp.collect::<Result<Vec<_>, _>>()?;
        let udp = ports
            .udp
            .iter()
            .map(|port| UdpDoor::open(*port, poll.registry()).map_err(failed("UDP", *port)));
        let udp = udp.collect::<Result<Vec<_>, _>>()?;
        voice.say(Line::Serving {
            serving: name.to_owned(),
            tcp: tcp.iter().map(|door| door.port).collect(),
            udp: udp.iter().map(|door| door.port).collect(),
        });
        Ok(Self {
            name: name.to_owned(),
            voice,
            poll,
            tcp,
            udp,
            callers: HashMap::new(),
            most_callers: MOST_CALLERS.min(sockets),
            last: DOOR.0,
        })
    }

    /// Serves until waiting itself fails.
    pub fn run(mut self) -> ServeError {
        let mut events = Events::with_capacity(EVENTS);
        loop {
            let busy = self.callers.values().any(Caller::has_more);
            let time = if busy { Duration::ZERO } else { LOOK_EVERY };
            match self.poll.poll(&mut events, Some(time)) {
                Err(error) if error.kind() != ErrorKind::Interrupted => {
                    return ServeError::Wait(error);
                }
                _ => {}
            }
            for event in &events {
                if let Some(caller) = self.callers.get_mut(&event.token().0) {
                    caller.attend(&self.name);
                }
            }
            // Also without an event: a door that was left for want of room tells nothing new.
            self.admit();
            self.echo();
            self.look_after_callers();
        }
    }

    fn admit(&mut self) {
        for door in &self.tcp {
            while self.callers.len() < self.most_callers {
                let Some((stream, from)) = door.admit() else {
                    break;
                };
                self.last = self.last.wrapping_add(1).max(DOOR.0.saturating_add(1));
                let token = Token(self.last);
                let caller = Caller::new(stream, from, door.port, self.poll.registry(), token);
                // One that cannot be looked after is gone already.
                if let Ok(mut caller) = caller {
                    caller.attend(&self.name);
                    self.callers.insert(self.last, caller);
                }
            }
        }
    }

    fn echo(&mut self) {
        for door in &mut self.udp {
            loop {
                let datagrams = door.take();
                if datagrams.is_empty() {
                    break;
                }
                for datagram in datagrams {
                    door.echo(&datagram);
                    self.voice.say(Line::Contact(Contact {
                        at_us: unix_us(SystemTime::now()),
                        contact: Protocol::Udp,
                        port: door.port,
                        from: datagram.from.ip().to_canonical().to_string(),
                        to: datagram.to.map(|to| to.to_canonical().to_string()),
                        said: said::first_line(&datagram.bytes),
                    }));
                }
            }
        }
    }

    fn look_after_callers(&mut self) {
        let voice = &self.voice;
        self.callers.retain(|_, caller| {
            if caller.has_more() {
                caller.attend(&self.name);
            }
            if let Some(contact) = caller.contact() {
                voice.say(Line::Contact(contact));
            }
            !caller.is_gone()
        });
    }
}
