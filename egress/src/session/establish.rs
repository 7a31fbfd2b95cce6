//! From the first byte of a request to the connection it asks for. Does network I/O.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::socket::{read_more, write_all};
use super::{Opened, Proxy, busy, draining};
use crate::decide::{self, PORT, Route};
use crate::dial::{Connect, DialError, dial};
use crate::head::{self, Request};
use crate::log::Story;
use crate::refusal::{Reason, Refusal};
use crate::resolve::ResolveError;
use crate::target::Name;

/// What a client gets instead of a refusal.
const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection Established\r\n\r\n";

/// Why there is no tunnel.
pub enum Denied {
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

/// Reads the request, connects, and tells the client.
pub async fn establish<C: Connect<Stream = TcpStream>>(
    proxy: &Proxy<C>,
    client: &TcpStream,
    story: &mut Story,
) -> Result<(Opened, SocketAddr), Denied> {
    let read = timeout(proxy.limits.head, read_head(client)).await;
    let (request, early) =
        read.map_err(|_| Refusal::new(Reason::HeadTimeout, "the request did not come in time"))??;
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
    // After it is taken in: an end that has not been told of yet waits for it, and cuts it.
    if proxy.draining.is_cancelled() {
        return Err(draining().into());
    }
    // As much after it: whichever reload this policy does not know of will cut it.
    let policy = proxy.policies.current();
    story.generation = policy.generation;
    if !policy.allowlist.covers(open.name()) {
        return Err(decide::not_allowed(open.name()).into());
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
