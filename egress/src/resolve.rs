//! Asking DNS for the addresses of a host, and judging them (E-022 to E-024). Does network I/O.
//!
//! Names are asked for absolutely: the search list of a pod would first ask for
//! `api.github.com.NAMESPACE.svc.cluster.local`, and whoever owns a wildcard there could answer. The
//! hosts file is not looked at. Answers may come from a cache; they are judged each time they are used.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures::future::{Either, select};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name as DnsName, RData, RecordType};
use hickory_resolver::system_conf::read_system_conf;
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};

use crate::limits::Limits;
use crate::screen::{Screen, Shut};
use crate::target::Name;

/// One question to one server.
const ATTEMPT: Duration = Duration::from_secs(2);
/// How often a question is asked again.
const ATTEMPTS: usize = 2;
/// Hosts that are asked for at once, by two questions each: the cluster's DNS is everybody's, and passes on
/// only so many questions at a time.
const AT_ONCE: usize = 64;
/// Names whose answers are kept.
const CACHED: u64 = 1024;
/// How long an answer is kept that says there is nothing, whatever it says of that itself.
const NOTHING: Duration = Duration::from_secs(2);
/// How long at most any answer is kept.
const SOMETHING: Duration = Duration::from_mins(5);
/// Addresses of one family that are looked at; whoever sends more means no good.
const MOST: usize = 64;

/// Why there is nobody to ask.
#[derive(Debug, Error)]
pub enum ResolverError {
    /// The configuration of the machine's resolver cannot be read.
    #[error("failed to read /etc/resolv.conf; name a server with --dns-server")]
    System(#[source] NetError),
    /// It names no server.
    #[error("failed to find a DNS server in /etc/resolv.conf; name one with --dns-server")]
    NoServer,
    /// The resolver cannot be set up.
    #[error("failed to set up DNS")]
    SetUp(#[source] NetError),
}

/// Why a host has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum ResolveError {
    /// There is no such name.
    #[error("DNS knows no such host")]
    NoName,
    /// The name has no address.
    #[error("DNS knows no address of this host")]
    NoAddress,
    /// The servers refused, failed or could not be reached.
    #[error("the DNS server gave no usable answer")]
    Failed,
    /// Nobody answered in time.
    #[error("the DNS server did not answer in time")]
    TimedOut,
}

impl ResolveError {
    /// Every error, the one that says most first.
    pub const ALL: [Self; 4] = [Self::NoName, Self::TimedOut, Self::Failed, Self::NoAddress];

    /// Its name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoName => "no-name",
            Self::NoAddress => "no-address",
            Self::Failed => "failed",
            Self::TimedOut => "timed-out",
        }
    }
}

/// What DNS says of a host, judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// What may be dialled.
    pub public: Vec<IpAddr>,
    /// What may not, and why.
    pub shut: Vec<(IpAddr, Shut)>,
}

/// Asks DNS.
#[derive(Debug)]
pub struct Resolver {
    dns: TokioResolver,
    turns: Semaphore,
    all: Duration,
    second_family: Duration,
}

impl Resolver {
    /// Asks `servers`, or those of the machine where none is given.
    ///
    /// # Errors
    /// There are none.
    pub fn new(servers: &[SocketAddr], limits: &Limits) -> Result<Self, ResolverError> {
        let mut named: Vec<NameServerConfig> = servers.iter().copied().map(server).collect();
        if named.is_empty() {
            let (system, _) = read_system_conf().map_err(ResolverError::System)?;
            named = system.name_servers().to_vec();
        }
        if named.is_empty() {
            return Err(ResolverError::NoServer);
        }
        let config = ResolverConfig::from_parts(None, Vec::new(), named);
        let provider = TokioRuntimeProvider::default();
        let mut builder = TokioResolver::builder_with_config(config, provider);
        set(builder.options_mut());
        Ok(Self {
            dns: builder.build().map_err(ResolverError::SetUp)?,
            turns: Semaphore::new(AT_ONCE),
            all: limits.resolve,
            second_family: limits.second_family,
        })
    }

    /// The addresses of `name` of both families. Once one family has an address that may be dialled, the
    /// other is waited for only a moment.
    ///
    /// # Errors
    /// Neither has any.
    pub async fn addresses(&self, name: &Name, screen: &Screen) -> Result<Addresses, ResolveError> {
        let end = Instant::now() + self.all;
        let turn = timeout_at(end, self.turns.acquire()).await;
        let _turn = turn.map_err(|_| ResolveError::TimedOut)?;
        let fours = Box::pin(self.family(name, RecordType::A, end));
        let sixes = Box::pin(self.family(name, RecordType::AAAA, end));
        let (first, other) = match select(fours, sixes).await {
            Either::Left((first, other)) | Either::Right((first, other)) => (first, other),
        };
        let goes = |addresses: &Vec<IpAddr>| {
            let mut each = addresses.iter();
            each.any(|address| screen.shut(*address).is_none())
        };
        let second = match &first {
            Ok(addresses) if goes(addresses) => {
                let moment = timeout(self.second_family, other).await;
                moment.unwrap_or(Ok(Vec::new()))
            }
            _ => other.await,
        };
        let all = match (first, second) {
            (Ok(mut first), Ok(second)) => {
                first.extend(second);
                first
            }
            (Ok(some), Err(_)) | (Err(_), Ok(some)) => some,
            (Err(one), Err(other)) => {
                let mut errors = ResolveError::ALL.into_iter();
                let telling = errors.find(|error| [one, other].contains(error));
                return Err(telling.unwrap_or(one));
            }
        };
        if all.is_empty() {
            return Err(ResolveError::NoAddress);
        }
        let mut judged = Addresses::default();
        for address in all {
            match screen.shut(address) {
                None => judged.public.push(address),
                Some(shut) => judged.shut.push((address, shut)),
            }
        }
        Ok(judged)
    }

    async fn family(
        &self,
        name: &Name,
        kind: RecordType,
        end: Instant,
    ) -> Result<Vec<IpAddr>, ResolveError> {
        // From labels it is absolute, and may begin with what host names may not.
        let labels = name.as_str().split('.').map(str::as_bytes);
        let absolute = DnsName::from_labels(labels).map_err(|_| ResolveError::NoName)?;
        let asked = timeout_at(end, self.dns.lookup(absolute, kind)).await;
        let answer = asked.map_err(|_| ResolveError::TimedOut)?;
        let answer = answer.map_err(|error| classified(&error))?;
        let addresses = answer
            .answers()
            .iter()
            .filter_map(|record| match &record.data {
                RData::A(address) => Some(IpAddr::V4(address.0)),
                RData::AAAA(address) => Some(IpAddr::V6(address.0)),
                _ => None,
            });
        Ok(addresses.take(MOST).collect())
    }
}

fn server(address: SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
    let connections = connections.map(|mut connection| {
        connection.port = address.port();
        connection
    });
    NameServerConfig::new(address.ip(), true, connections.to_vec())
}

fn set(options: &mut ResolverOpts) {
    options.timeout = ATTEMPT;
    options.attempts = ATTEMPTS;
    options.use_hosts_file = ResolveHosts::Never;
    options.cache_size = CACHED;
    options.positive_max_ttl = Some(SOMETHING);
    options.negative_min_ttl = Some(NOTHING);
    options.negative_max_ttl = Some(NOTHING);
}

fn classified(error: &NetError) -> ResolveError {
    match error {
        NetError::Timeout => ResolveError::TimedOut,
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain => ResolveError::NoName,
            ResponseCode::NoError => ResolveError::NoAddress,
            _ => ResolveError::Failed,
        },
        _ => ResolveError::Failed,
    }
}
