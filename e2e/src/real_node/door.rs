//! A way in: a port on this machine's own loopback behind which an address of the node's network
//! answers. Nothing comes out by it. Does I/O.

use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use crate::background;
use crate::room::Room;

/// Open while it lives.
#[derive(Debug)]
pub(super) struct Door {
    porter: AbortHandle,
}

impl Door {
    /// Listens on `at` and leads everybody to `to`, as seen from `room`.
    pub(super) fn open(at: &str, room: Arc<Room>, to: SocketAddrV4) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let porter = background::handle()?.spawn(async move {
            // Dropped with this task, it ends what goes on in it.
            let mut guests = JoinSet::new();
            let Ok(listener) = TcpListener::from_std(listener) else {
                return;
            };
            loop {
                tokio::select! {
                    guest = listener.accept() => {
                        if let Ok((guest, _)) = guest {
                            guests.spawn(lead(guest, Arc::clone(&room), to));
                        }
                    }
                    Some(_) = guests.join_next() => {}
                }
            }
        });
        Ok(Self {
            porter: porter.abort_handle(),
        })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.porter.abort();
    }
}

async fn lead(mut guest: TcpStream, room: Arc<Room>, to: SocketAddrV4) -> io::Result<()> {
    // A socket belongs to the network of the thread that makes it, whoever uses it afterwards.
    let socket = room.run(TcpSocket::new_v4)??;
    let mut host = socket.connect(to.into()).await?;
    for stream in [&guest, &host] {
        stream.set_nodelay(true)?;
    }
    tokio::io::copy_bidirectional(&mut guest, &mut host).await?;
    Ok(())
}
