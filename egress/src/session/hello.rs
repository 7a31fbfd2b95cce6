//! The ClientHello of a tunnel, where it must name the host. Does network I/O.

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::socket::read_more;
use crate::client_hello::{Hello, LONGEST, look};
use crate::limits::Limits;
use crate::tunnels::{Cause, Open};

/// Looks at the ClientHello before any of it is passed on; why it is not, if it is not.
pub async fn judge(
    client: &TcpStream,
    early: &mut Vec<u8>,
    open: &Open,
    limits: &Limits,
) -> Option<Cause> {
    let end = Instant::now() + limits.hello;
    loop {
        match look(early) {
            Hello::Names(name) if name == *open.name() => return None,
            Hello::Names(_) => return Some(Cause::SniMismatch),
            Hello::Nameless => return Some(Cause::SniMissing),
            Hello::Other => return Some(Cause::NotTls),
            Hello::Partial => {}
        }
        let more = timeout_at(end, read_more(client, early, LONGEST));
        tokio::select! {
            more = more => if !matches!(more, Ok(Ok(1..))) {
                return Some(Cause::NotTls);
            },
            cause = open.cut() => return Some(cause),
        }
    }
}
