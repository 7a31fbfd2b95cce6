//! One connection of a client: its request read, decided and answered, then its tunnel. Does network I/O.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::sync::Arc;

use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::carrier::Pipes;
use crate::client_hello::{self, Hello};
use crate::decide::{self, PORT, Route};
use crate::dial::{Connect, DialError, dial};
use crate::head::{self, Request};
use crate::limits::Limits;
use crate::log::{self, Story};
use crate::metrics::Metrics;
use crate::pins::Pins;
use crate::policy::Policies;
use crate::refusal::{Reason, Refusal};
use crate::resolve::{ResolveError, Resolver};
use crate::screen::Screen;
use crate::target::Name;
use crate::tunnel::{self, Ended, Patience};
use crate::tunnels::{Cause, Open, Tunnels};

/// What a client gets instead of a refusal.
const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection Established\r\n\r\n";
/// As much as is asked of a socket at once.
const PIECE: usize = 2048;
/// As much as a refused client may still send before it has read why.
const IGNORED: usize = 64 * 1024;

/// Everything that sessions share.
#[derive(Debug)]
pub struct Proxy<C> {
    /// The allowlist in force.
    pub policies: Arc<Policies>,
    /// Test hosts.
    pub pins: Pins,
    /// What addresses are judged by.
    pub screen: Screen,
    /// Asks DNS.
    pub resolver: Resolver,
    /// Connects.
    pub connector: C,
    /// What a client may hold.
    pub limits: Limits,
    /// Whether a ClientHello must name the host.
    pub require_sni_match: bool,
    /// What bytes are carried in.
    pub pipes: Pipes,
    /// The tunnels that are open.
    pub tunnels: Arc<Tunnels>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Cancelled when nothing new is to begin.
    pub draining: CancellationToken,
}

/// Why there is no tunnel.
enum Denied {
    /// The client went before it had asked.
    Gone,
    /// With a reason to tell.
    Refused(Refusal),
}

impl From<Refusal> for Denied {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<io::Error> for Denied {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// A tunnel about to begin.
struct Opened {
    upstream: TcpStream,
    early: Vec<u8>,
    open: Open,
}

/// Serves one connection to its end.
pub async fn serve<C: Connect<Stream = TcpStream>>(
    proxy: Arc<Proxy<C>>,
    client: TcpStream,
    peer: SocketAddr,
    id: u64,
) {
    if let Err(error) = client.set_nodelay(true) {
        tracing::debug!(%error, "failed to set TCP_NODELAY");
    }
    // On the heap, and gone when there is a tunnel: what a task may hold it holds all the time.
    let Some(opened) = Box::pin(open(&proxy, &client, peer, id)).await else {
        return;
    };
    let began = Instant::now();
    proxy.metrics.tunnels.inc();
    let ended = through(&proxy, &client, opened).await;
    proxy.metrics.tunnels.dec();
    proxy.metrics.closed(ended.cause, began.elapsed());
    log::closed(id, &ended, began.elapsed());
}

async fn open<C: Connect<Stream = TcpStream>>(
    proxy: &Proxy<C>,
    client: &TcpStream,
    peer: SocketAddr,
    id: u64,
) -> Option<Opened> {
    let mut story = Story::new(id, peer);
    match establish(proxy, client, &mut story).await {
        Ok((opened, address)) => {
            proxy.metrics.allowed();
            story.allowed(address);
            Some(opened)
        }
        Err(Denied::Refused(refusal)) => {
            proxy.metrics.refused(refusal.reason);
            story.refused(&refusal);
            farewell(client, &refusal, &proxy.limits).await;
            None
        }
        Err(Denied::Gone) => {
            tracing::debug!(id, "the client went");
            None
        }
    }
}

/// Reads the request, connects, and tells the client.
async fn establish<C: Connect<Stream = TcpStream>>(
    proxy: &Proxy<C>,
    client: &TcpStream,
    story: &mut Story,
) -> Result<(Opened, SocketAddr), Denied> {
    let (request, early) = tokio::select! {
        read = timeout(proxy.limits.head, read_head(client)) => read.map_err(|_| {
            Refusal::new(Reason::HeadTimeout, "the request did not come in time")
        })??,
        () = proxy.draining.cancelled() => return Err(draining().into()),
    };
    story.host = Some(request.target.host.to_string());
    story.port.clone_from(&request.target.port);
    story.other_host_header = request.other_host_header;
    let route = {
        let policy = proxy.policies.current();
        story.generation = policy.generation;
        decide::decide(request.target, &policy.allowlist, &proxy.pins)?
    };
    let addresses = match &route {
        Route::Pinned(_, address) => vec![*address],
        Route::Resolve(name) => resolve(proxy, name, story).await?,
    };
    let began = Instant::now();
    let dialled = dial(&proxy.connector, &addresses, proxy.limits.dial).await;
    proxy.metrics.dialled(began.elapsed());
    story.dial = Some(began.elapsed());
    let (upstream, address) = dialled.map_err(|error| undialled(&error))?;

    let open = proxy.tunnels.open(story.id, route.name().clone());
    // After it is taken in: whichever reload this policy does not know of will cut it.
    let policy = proxy.policies.current();
    story.generation = policy.generation;
    if !policy.allowlist.covers(open.name()) {
        return Err(decide::not_allowed(open.name()).into());
    }
    if proxy.draining.is_cancelled() {
        return Err(draining().into());
    }
    write_all(client, ESTABLISHED).await?;
    let opened = Opened {
        upstream,
        early,
        open,
    };
    Ok((opened, address))
}

async fn read_head(client: &TcpStream) -> Result<(Request, Vec<u8>), Denied> {
    let mut bytes = Vec::new();
    loop {
        let seen = bytes.len();
        if read_more(client, &mut bytes, head::LONGEST).await? == 0 {
            return Err(Denied::Gone);
        }
        if let Some(end) = head::end(&bytes, seen)? {
            let early = bytes.split_off(end);
            return Ok((head::read(&bytes)?, early));
        }
    }
}

/// Reads some more, up to `most` bytes in all; how many there were, 0 at the end of the stream.
async fn read_more(client: &TcpStream, bytes: &mut Vec<u8>, most: usize) -> io::Result<usize> {
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

async fn resolve<C>(
    proxy: &Proxy<C>,
    name: &Name,
    story: &mut Story,
) -> Result<Vec<IpAddr>, Refusal> {
    let began = Instant::now();
    let answer = proxy.resolver.addresses(name, &proxy.screen).await;
    let took = began.elapsed();
    proxy.metrics.resolved(took, answer.as_ref().err().copied());
    story.dns = Some(took);
    let judged = answer.map_err(|error| {
        let reason = match error {
            ResolveError::TimedOut => Reason::ResolveTimeout,
            _ => Reason::ResolveFailed,
        };
        Refusal::new(reason, error.to_string())
    })?;
    let shut = judged.shut.iter().map(|(address, _)| *address);
    story.addresses = judged.public.iter().copied().chain(shut).collect();
    for (_, shut) in &judged.shut {
        proxy.metrics.shut(*shut);
    }
    if judged.public.is_empty() {
        let detail = format!("{name} has no address outside of private and reserved networks");
        return Err(Refusal::new(Reason::AddressNotPublic, detail));
    }
    Ok(judged.public)
}

/// Says which error it was, and never at which address.
fn undialled(error: &DialError) -> Refusal {
    match error {
        DialError::Failed(source) => Refusal::new(
            Reason::DialFailed,
            format!("no address of the host takes a connection: {source}"),
        ),
        DialError::TimedOut => Refusal::new(
            Reason::DialTimeout,
            format!("no address of the host answers on port {PORT}"),
        ),
        DialError::Exhausted(_) => busy(),
    }
}

/// The refusal while there are as many connections as there may be.
fn busy() -> Refusal {
    let detail = "there are as many connections as this sandbox may have; close some or wait";
    Refusal::new(Reason::Busy, detail)
}

/// The refusal while the proxy ends.
fn draining() -> Refusal {
    Refusal::new(Reason::Draining, "the proxy of this sandbox is ending")
}

/// Carries bytes until the tunnel ends.
async fn through<C>(proxy: &Proxy<C>, client: &TcpStream, opened: Opened) -> Ended {
    let Opened {
        upstream,
        mut early,
        open,
    } = opened;
    if proxy.require_sni_match {
        let judged = Box::pin(judge_hello(proxy, client, &mut early, &open)).await;
        if let Some(cause) = judged {
            if let Err(error) = client.set_zero_linger() {
                tracing::debug!(%error, "failed to reset a client");
            }
            return Ended {
                cause,
                up: 0,
                down: 0,
            };
        }
    }
    let patience = Patience {
        idle: proxy.limits.idle,
        half_closed: proxy.limits.half_closed,
    };
    tunnel::run(
        client,
        &upstream,
        early,
        patience,
        &open,
        &proxy.pipes,
        &proxy.metrics,
    )
    .await
}

/// Looks at the ClientHello before any of it is passed on; why it is not, if it is not.
async fn judge_hello<C>(
    proxy: &Proxy<C>,
    client: &TcpStream,
    early: &mut Vec<u8>,
    open: &Open,
) -> Option<Cause> {
    let end = Instant::now() + proxy.limits.hello;
    loop {
        match client_hello::look(early) {
            Hello::Names(name) if name == *open.name() => return None,
            Hello::Names(_) => return Some(Cause::SniMismatch),
            Hello::Nameless => return Some(Cause::SniMissing),
            Hello::Other => return Some(Cause::NotTls),
            Hello::Partial => {}
        }
        let more = timeout_at(end, read_more(client, early, client_hello::LONGEST));
        tokio::select! {
            more = more => if !matches!(more, Ok(Ok(1..))) {
                return Some(Cause::NotTls);
            },
            cause = open.cut() => return Some(cause),
        }
    }
}

/// Refuses a client that came when all places were taken, or whose socket is all there is left.
pub async fn turn_away<C>(proxy: Arc<Proxy<C>>, client: TcpStream, peer: SocketAddr, id: u64) {
    let refusal = if proxy.draining.is_cancelled() {
        draining()
    } else {
        busy()
    };
    proxy.metrics.refused(refusal.reason);
    Story::new(id, peer).refused(&refusal);
    farewell(&client, &refusal, &proxy.limits).await;
}

/// Tells why, and waits until the client has read it: closing a socket that still holds bytes of the
/// client's would reset it, and the answer would be lost. What it sends is not looked at.
async fn farewell(client: &TcpStream, refusal: &Refusal, limits: &Limits) {
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

async fn write_all(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
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
