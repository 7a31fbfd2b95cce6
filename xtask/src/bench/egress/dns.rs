//! The DNS that our proxy asks: it knows the origin's names, which have IPv4 addresses only. Does
//! network I/O on a thread of its own.

use std::net::{SocketAddr, UdpSocket};
use std::thread::{self, JoinHandle};

use anyhow::Context;

use super::tunnel::{self, HOSTS};

/// How long an answer may be kept, in seconds: as a resolver of a cluster says.
const KEPT: u8 = 30;

/// What has only a header and no question ends the thread.
const HEADER: usize = 12;

/// Ends when dropped.
#[derive(Debug)]
pub struct Dns {
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Dns {
    /// Serves UDP on a port of its own.
    pub fn serve() -> anyhow::Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0").context("failed to listen for DNS")?;
        let address = socket.local_addr()?;
        let thread = thread::spawn(move || {
            let mut bytes = [0; 512];
            while let Ok((count @ 1.., from)) = socket.recv_from(&mut bytes) {
                if let Some(answer) = bytes.get(..count).and_then(answer) {
                    // Who asked and is gone needs no answer.
                    drop(socket.send_to(&answer, from));
                }
            }
        });
        Ok(Self {
            address,
            thread: Some(thread),
        })
    }

    /// Where.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Dns {
    fn drop(&mut self) {
        // An empty message ends it.
        let told = UdpSocket::bind("127.0.0.1:0").and_then(|own| own.send_to(&[], self.address));
        if let (Ok(_), Some(thread)) = (told, self.thread.take()) {
            drop(thread.join());
        }
    }
}

/// The answer to the one question of a message (RFC 1035, 4.1; RFC 2308 where there is no address).
fn answer(asked: &[u8]) -> Option<Vec<u8>> {
    let mut labels = Vec::new();
    let mut at = HEADER;
    while let length @ 1.. = usize::from(*asked.get(at)?) {
        let label = asked.get(at + 1..at + 1 + length)?;
        labels.push(String::from_utf8_lossy(label).to_lowercase());
        at += 1 + length;
    }
    let kind = asked.get(at + 1..at + 5)?;
    let question = asked.get(HEADER..at + 5)?;
    let name = labels.join(".");
    let turn = (0..HOSTS).find(|turn| tunnel::host(*turn) == name);
    let found = turn.filter(|_| kind == [0, 1, 0, 1]).map(tunnel::address);
    let (none, code) = (
        u8::from(found.is_none()),
        if turn.is_some() { 0 } else { 3 },
    );
    let identity = asked.get(..2)?;
    let head = [0x81, 0x80 | code, 0, 1, 0, 1 - none, 0, none, 0, 0];
    let mut message = [identity, &head, question].concat();
    if let Some(address) = found {
        message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, KEPT, 0, 4]);
        message.extend(address.octets());
    } else {
        // Without the zone's own record nobody would keep that there is nothing.
        message.extend(b"\x07example\0\0\x06\0\x01\0\0\0");
        message.extend([KEPT, 0, 22, 0, 0]);
        message.extend([[0, 0, 0, KEPT]; 5].concat());
    }
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(host: &str, kind: u8) -> Vec<u8> {
        let mut message = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in host.split('.') {
            message.push(u8::try_from(label.len()).unwrap());
            message.extend(label.bytes());
        }
        message.extend([0, 0, kind, 0, 1]);
        message
    }

    #[test]
    fn a_name_of_the_origin_has_its_address() {
        let answer = answer(&question("ORIGIN-3.example", 1)).unwrap();
        assert_eq!(answer[..8], [7, 9, 0x81, 0x80, 0, 1, 0, 1]);
        assert_eq!(answer[answer.len() - 4..], [1, 2, 3, 4]);
    }

    #[test]
    fn that_there_is_nothing_is_said_so_that_it_is_kept() {
        for (host, kind, code) in [("origin-3.example", 28, 0x80), ("other.example", 1, 0x83)] {
            let answer = answer(&question(host, kind)).unwrap();
            assert_eq!(answer[3..10], [code, 0, 1, 0, 0, 0, 1], "{host}");
            assert_eq!(answer[answer.len() - 1], KEPT);
        }
    }

    #[test]
    fn what_is_no_question_has_no_answer() {
        let whole = question("origin-3.example", 1);
        for end in 0..whole.len() {
            assert_eq!(answer(&whole[..end]), None, "{end}");
        }
    }
}
