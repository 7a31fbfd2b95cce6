//! Reading and writing a client's socket, in pieces that are bounded. Does network I/O.

use std::io;
use std::net::Shutdown;

use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::limits::Limits;
use crate::refusal::Refusal;

/// As much as is asked of a socket at once.
const PIECE: usize = 2048;
/// As much as a refused client may still send before it has read why.
const IGNORED: usize = 64 * 1024;

/// Reads some more, up to `most` bytes in all; how many there were, 0 at the end of the stream.
pub async fn read_more(client: &TcpStream, bytes: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    let room = most.saturating_sub(bytes.len()).min(PIECE);
    loop {
        client.readable().await?;
        // Beyond the capacity nothing is read, so it is given exactly.
        let mut piece = Vec::with_capacity(room);
        match client.try_read_buf(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => {
                bytes.extend_from_slice(&piece);
                return read;
            }
        }
    }
}

/// Writes all of `bytes`.
pub async fn write_all(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Tells why, and waits until the client has read it: closing a socket that still holds bytes of the
/// client's would reset it, and the answer would be lost. What it sends is not looked at.
pub async fn farewell(client: &TcpStream, refusal: &Refusal, limits: &Limits) {
    let told = async {
        write_all(client, &refusal.answer()).await?;
        SockRef::from(client).shutdown(Shutdown::Write)?;
        let mut ignored = 0;
        while ignored < IGNORED {
            let mut bytes = Vec::new();
            match read_more(client, &mut bytes, PIECE).await? {
                0 => break,
                count => ignored += count,
            }
        }
        io::Result::Ok(())
    };
    if let Ok(Err(error)) = timeout(limits.farewell, told).await {
        tracing::debug!(%error, "failed to tell a client why it was refused");
    }
}
