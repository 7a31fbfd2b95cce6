//! The command line. Pure.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use ipnet::IpNet;
use sandgate_shared::duration::GoDuration;
use sandgate_shared::net::nat64::Nat64Prefix;

use crate::limits::Limits;
use crate::pins::{self, Pin};
use crate::screen;

/// The egress proxy of a claim: CONNECT to the hosts of an allowlist, at public addresses, on port 443.
#[derive(Clone, Debug, Parser)]
#[command(name = "sandgate-egress", version)]
pub struct Options {
    /// Where CONNECT is served. `[::]` serves IPv4 and IPv6, and only IPv4 where the node has no IPv6.
    #[arg(
        long,
        env = "SANDGATE_EGRESS_LISTEN",
        default_value = "[::]:3128",
        value_parser = sandgate_listener::address,
        value_name = "ADDRESS:PORT"
    )]
    pub listen: SocketAddr,

    /// Where /healthz, /readyz and /metrics are served.
    #[arg(
        long,
        env = "SANDGATE_EGRESS_ADMIN_LISTEN",
        default_value = "[::]:8083",
        value_parser = sandgate_listener::address,
        value_name = "ADDRESS:PORT"
    )]
    pub admin_listen: SocketAddr,

    /// File with the hosts that may be reached, as JSON: an object whose "hosts" is a list of names such
    /// as api.github.com and *.example.com. It is read again whenever it changes.
    #[arg(long, env = "SANDGATE_EGRESS_ALLOWLIST", value_name = "FILE")]
    pub allowlist: PathBuf,

    /// How often the file is looked at, besides when the kernel tells of a change.
    #[arg(long, default_value = "2s", value_parser = duration, value_name = "DURATION")]
    pub allowlist_interval: Duration,

    /// Networks that are never dialled though they look public, such as those of pods, Services and
    /// nodes in public space; what is private or reserved is never dialled anyway.
    #[arg(long, env = "SANDGATE_EGRESS_DENY_CIDR", value_parser = screen::denied, value_delimiter = ',', value_name = "CIDR")]
    pub deny_cidr: Vec<IpNet>,

    /// The prefix by which this cluster's gateway translates to IPv4. Its addresses are judged by the
    /// IPv4 address in them; without it they are never dialled.
    #[arg(long, env = "SANDGATE_EGRESS_NAT64_PREFIX", value_parser = nat64, value_name = "CIDR")]
    pub nat64_prefix: Option<Nat64Prefix>,

    /// DNS servers to ask, instead of those of /etc/resolv.conf.
    #[arg(long, env = "SANDGATE_EGRESS_DNS_SERVER", value_parser = dns_server, value_delimiter = ',', value_name = "ADDRESS:PORT")]
    pub dns_server: Vec<SocketAddr>,

    /// Connections of clients at once; more are refused as busy.
    #[arg(long, default_value_t = Limits::default().tunnels, value_parser = places, value_name = "COUNT")]
    pub max_tunnels: usize,

    /// How long a tunnel may be idle, both ways together.
    #[arg(long, default_value = "15m", value_parser = duration, value_name = "DURATION")]
    pub idle_timeout: Duration,

    /// The same, once one end has said that it is done.
    #[arg(long, default_value = "1m", value_parser = duration, value_name = "DURATION")]
    pub half_closed_timeout: Duration,

    /// How long open tunnels may go on after SIGTERM, while new ones are refused.
    #[arg(long, env = "SANDGATE_EGRESS_DRAIN", default_value = "30s", value_parser = duration, value_name = "DURATION")]
    pub drain: Duration,

    /// Ends tunnels that do not begin with a TLS ClientHello for the very host that was asked for.
    #[arg(long, env = "SANDGATE_EGRESS_REQUIRE_SNI_MATCH")]
    pub require_sni_match: bool,

    /// For test clusters only: hosts that are dialled at the address given, private or not, if the
    /// allowlist names them.
    #[arg(long = pins::FLAG, value_parser = Pin::read, value_delimiter = ',', value_name = "HOST=ADDRESS")]
    pub insecure_test_hosts: Vec<Pin>,

    /// Says that this is a test cluster; test hosts are refused without it.
    #[arg(long = pins::ACKNOWLEDGEMENT)]
    pub acknowledge_insecure_test_only: bool,
}

impl Options {
    /// The bounds that the options set.
    pub fn limits(&self) -> Limits {
        Limits {
            tunnels: self.max_tunnels,
            idle: self.idle_timeout,
            half_closed: self.half_closed_timeout,
            ..Limits::default()
        }
    }
}

/// Arguments as Go programs take them, too: `-name` is `--name`.
pub fn normalised(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let long = |argument: OsString| match argument.to_str() {
        Some(text) if is_single_dashed(text) => format!("-{text}").into(),
        _ => argument,
    };
    arguments.into_iter().map(long).collect()
}

/// `-h` and `-V` stay what they are.
fn is_single_dashed(text: &str) -> bool {
    let mut letters = text.bytes();
    letters.next() == Some(b'-')
        && letters
            .next()
            .is_some_and(|letter| letter.is_ascii_lowercase())
        && letters.next().is_some()
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration: Result<GoDuration, _> = text.parse();
    let positive = duration.ok().and_then(GoDuration::positive);
    // As long as no clock of the kernel runs over.
    let sound = positive.filter(|duration| *duration <= Duration::from_hours(24 * 365));
    sound.ok_or_else(|| {
        "must be longer than nothing and at most a year, such as 90s or 15m".to_owned()
    })
}

fn nat64(text: &str) -> Result<Nat64Prefix, String> {
    text.parse().map_err(|error| format!("{error}"))
}

fn dns_server(text: &str) -> Result<SocketAddr, String> {
    let with_port = text.parse();
    let server = with_port.or_else(|_| text.parse().map(|ip| SocketAddr::new(ip, 53)));
    server.map_err(|_| "must be ADDRESS or ADDRESS:PORT, such as 10.96.0.10:53".to_owned())
}

fn places(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(places @ 1..=65_536) => Ok(places),
        _ => Err("must be 1 to 65536".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn parse(more: &[&str]) -> Result<Options, clap::Error> {
        let arguments = ["sandgate-egress", "--allowlist", "/hosts"];
        let arguments = arguments.iter().chain(more).map(OsString::from);
        Options::try_parse_from(normalised(arguments))
    }

    #[test]
    fn the_defaults_are_the_documented_ones() {
        let options = parse(&[]).unwrap();
        assert_eq!(options.listen.to_string(), "[::]:3128");
        assert_eq!(options.admin_listen.to_string(), "[::]:8083");
        assert_eq!(options.drain, Duration::from_secs(30));
        assert!(!options.require_sni_match && options.insecure_test_hosts.is_empty());
        let limits = options.limits();
        assert_eq!(limits.tunnels, 1024);
        let times = [
            (limits.head, "10s"),
            (limits.hello, "10s"),
            (limits.resolve, "5s"),
            (limits.dial.between, "250ms"),
            (limits.dial.each, "3s"),
            (limits.dial.all, "10s"),
            (limits.idle, "15m"),
            (limits.half_closed, "1m"),
        ];
        for (time, told) in times {
            assert_eq!(Ok(time), duration(told));
        }
        assert_eq!(limits.dial.most, 8);
    }

    // The proxy's half of E-028.
    #[rstest]
    #[case::as_go_writes_it(&["-insecure-test-hosts=a.test=10.96.0.20"])]
    #[case::as_go_writes_it_in_two(&["-insecure-test-hosts", "a.test=10.96.0.20"])]
    #[case::with_two_dashes(&["--insecure-test-hosts=a.test=10.96.0.20"])]
    #[case::with_its_acknowledgement(&["-insecure-test-hosts=a.test=10.96.0.20", "-acknowledge-insecure-test-only"])]
    fn test_hosts_are_given_by_one_dash_or_two(#[case] more: &[&str]) {
        let options = parse(more).unwrap();
        assert_eq!(
            options.insecure_test_hosts,
            [Pin::read("a.test=10.96.0.20").unwrap()]
        );
    }

    #[test]
    fn lists_are_given_at_once_or_one_by_one() {
        let options = parse(&[
            "--deny-cidr=34.118.224.0/20,2600:1900::/28",
            "--deny-cidr=1.1.1.1",
            "--dns-server=10.96.0.10,[fd00::10]:5353",
            "--insecure-test-hosts=a.test=10.96.0.20,b.test=fd00::21",
        ])
        .unwrap();
        assert_eq!(options.deny_cidr.len(), 3);
        let servers: Vec<String> = options.dns_server.iter().map(ToString::to_string).collect();
        assert_eq!(servers, ["10.96.0.10:53", "[fd00::10]:5353"]);
        assert_eq!(options.insecure_test_hosts.len(), 2);
    }

    #[rstest]
    #[case("--drain=10", "such as 90s or 15m")]
    #[case("--idle-timeout=0s", "such as 90s or 15m")]
    #[case("--idle-timeout=9000000h", "such as 90s or 15m")]
    #[case("--max-tunnels=0", "must be 1 to 65536")]
    #[case("--max-tunnels=100000", "must be 1 to 65536")]
    #[case("--deny-cidr=10.0.0.1/8", "write 10.0.0.0/8")]
    #[case(
        "--nat64-prefix=64:ff9b::/95",
        "must be 32, 40, 48, 56, 64 or 96 bits long"
    )]
    #[case("--dns-server=kube-dns", "such as 10.96.0.10:53")]
    #[case("-insecure-test-hosts=a.test=127.0.0.1", "never dialled")]
    #[case("--listen=3128", "must be ADDRESS:PORT")]
    fn a_wrong_value_is_refused_with_the_way_out(#[case] flag: &str, #[case] told: &str) {
        let error = parse(&[flag]).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}
