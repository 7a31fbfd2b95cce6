//! The command line. Pure.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Parser};
use sandgate_shared::rules::OperatorIdentity;

/// Answers admission reviews of Sandgate's four kinds. Needs no access to the cluster.
#[derive(Clone, Debug, Parser)]
#[command(name = "sandgate-webhook", version)]
pub struct Options {
    /// Where POST /mutate and /validate are served, over TLS. `[::]` serves IPv4 and IPv6, and only
    /// IPv4 where the node has no IPv6.
    #[arg(
        long,
        env = "SANDGATE_WEBHOOK_LISTEN",
        default_value = "[::]:9443",
        value_parser = sandgate_listener::address,
        value_name = "ADDRESS:PORT"
    )]
    pub listen: SocketAddr,

    /// Where /livez, /readyz and /metrics are served, over plain HTTP.
    #[arg(
        long,
        env = "SANDGATE_WEBHOOK_HEALTH_LISTEN",
        default_value = "[::]:8081",
        value_parser = sandgate_listener::address,
        value_name = "ADDRESS:PORT"
    )]
    pub health_listen: SocketAddr,

    /// Directory with tls.crt, tls.key, ca.crt and server-names, which the controller beside it writes.
    #[arg(long, env = "SANDGATE_TLS_DIR", value_name = "DIR")]
    pub tls_dir: PathBuf,

    /// How often the TLS directory is looked at.
    #[arg(long, env = "SANDGATE_TLS_INTERVAL", default_value = "5s", value_parser = duration, value_name = "DURATION")]
    pub tls_interval: Duration,

    /// User name of the controller's ServiceAccount, system:serviceaccount:NAMESPACE:NAME: the only one
    /// whom the rules called claim-operator-… let through, so that nobody else mounts, binds a Connection,
    /// names a targetPath, enrols, changes a claim's spec or writes its status.
    #[arg(
        long,
        env = "SANDGATE_OPERATOR_USERNAME",
        value_parser = operator,
        value_name = "USERNAME"
    )]
    pub operator_username: String,

    /// Whether the operator's token must be bound to a pod.
    #[arg(
        long,
        env = "SANDGATE_REQUIRE_POD_BOUND_TOKEN",
        default_value_t = true,
        action = ArgAction::Set,
        value_name = "true|false"
    )]
    pub require_pod_bound_token: bool,

    /// How long requests are still answered after SIGTERM, while readiness already fails.
    #[arg(long, env = "SANDGATE_WEBHOOK_DRAIN", default_value = "10s", value_parser = duration, value_name = "DURATION")]
    pub drain: Duration,
}

fn operator(text: &str) -> Result<String, String> {
    let identity = OperatorIdentity {
        username: text.to_owned(),
        require_pod_bound_token: true,
    };
    match identity.expression() {
        Ok(_) => Ok(identity.username),
        Err(_) => Err(
            "must be the controller's ServiceAccount, system:serviceaccount:NAMESPACE:NAME"
                .to_owned(),
        ),
    }
}

/// `5s`, `250ms` or `2m`.
fn duration(text: &str) -> Result<Duration, String> {
    let parsed = [("ms", 1), ("s", 1000), ("m", 60_000)]
        .into_iter()
        .find_map(|(unit, millis)| {
            let count: u32 = text.strip_suffix(unit)?.parse().ok()?;
            Some(Duration::from_millis(u64::from(count) * millis))
        });
    parsed
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "write a positive whole number and a unit, like 250ms, 5s or 2m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(more: &[&str]) -> Result<Options, clap::Error> {
        let needed = [
            "sandgate-webhook",
            "--tls-dir",
            "/tls",
            "--operator-username",
            "system:serviceaccount:sandgate-system:sandgate-controller",
        ];
        Options::try_parse_from(needed.iter().chain(more))
    }

    #[test]
    fn the_defaults_are_the_documented_ones() {
        let options = parse(&[]).unwrap();
        assert_eq!(options.listen.to_string(), "[::]:9443");
        assert_eq!(options.health_listen.to_string(), "[::]:8081");
        assert!(options.require_pod_bound_token);
        assert_eq!(options.drain, Duration::from_secs(10));
        assert_eq!(options.tls_interval, Duration::from_secs(5));
    }

    #[test]
    fn the_pod_bound_demand_can_be_dropped() {
        let options = parse(&["--require-pod-bound-token", "false"]).unwrap();
        assert!(!options.require_pod_bound_token);
    }

    #[test]
    fn a_duration_without_a_unit_or_of_nothing_is_refused_with_the_way_out() {
        for wrong in ["10", "0s", "+-1s", "1h30m", "s", ""] {
            let error = parse(&["--drain", wrong]).unwrap_err().to_string();
            assert!(error.contains("like 250ms, 5s or 2m"), "{error}");
        }
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2m"), Ok(Duration::from_mins(2)));
    }
}
