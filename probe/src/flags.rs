//! What `sandgate-probe` is told. Pure.

use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::name;
use crate::serve::Ports;
use crate::target::Target;

const TARGET: &str = "[LABEL=]tcp:ADDRESS:PORT, udp:ADDRESS:PORT, icmp:ADDRESS or \
    dns:ADDRESS:PORT/NAME";

/// Stands in for the workload of a sandbox.
#[derive(Debug, Parser)]
#[command(name = "sandgate-probe", version)]
pub struct Flags {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer whoever comes, and print a line for each.
    ///
    /// A connection that says "GET …" gets a page with the name; anything else is echoed.
    Serve(Serve),
    /// Dial targets from the first instant on, and print what became of each.
    ///
    /// Each is dialled every 2 ms in the first half second, then every 25 ms, and has 400 ms to
    /// answer. Afterwards the --serve ports stay open until SIGTERM.
    Dial(Dial),
    /// Try each target once, print a sentence for each, and fail unless all answered.
    Get(Get),
    /// Print what the container sees of itself.
    Hardening,
    /// Reap what others leave behind until SIGTERM: the first process of a pod.
    Pause,
}

/// What serving needs to know.
#[derive(Debug, Args)]
pub struct Serve {
    /// What it is called.
    #[arg(long, value_parser = name::check)]
    pub name: String,
    /// A port for connections; 0 for a free one.
    #[arg(long, value_name = "PORT", value_parser = port)]
    pub tcp: Vec<u16>,
    /// A port for datagrams; 0 for a free one.
    #[arg(long, value_name = "PORT", value_parser = port)]
    pub udp: Vec<u16>,
    /// Go on at SIGTERM.
    #[arg(long)]
    pub ignore_term: bool,
}

/// What dialling needs to know.
#[derive(Debug, Args)]
pub struct Dial {
    /// What it is called.
    #[arg(long, value_parser = name::check)]
    pub name: String,
    /// Whom to dial.
    #[arg(long = "target", value_name = "TARGET", required = true, help = TARGET, value_parser = address)]
    pub targets: Vec<Target>,
    /// For how long; 0s for ever.
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = time)]
    pub time: Duration,
    /// Print what became of them so far every second, too, as is always done with --for 0s.
    #[arg(long)]
    pub so_far: bool,
    /// A port for connections and datagrams; 0 for a free one of each.
    #[arg(long, value_name = "PORT", value_parser = port)]
    pub serve: Vec<u16>,
    /// Print what the container sees of itself, too.
    #[arg(long)]
    pub hardening: bool,
    /// Go on at SIGTERM.
    #[arg(long)]
    pub ignore_term: bool,
}

/// What trying once needs to know.
#[derive(Debug, Args)]
pub struct Get {
    /// Whom to try; here, ADDRESS may be a name.
    #[arg(long = "target", value_name = "TARGET", required = true, help = TARGET)]
    pub targets: Vec<Target>,
}

impl Serve {
    /// The ports to open.
    pub fn ports(&self) -> Ports {
        Ports {
            tcp: self.tcp.clone(),
            udp: self.udp.clone(),
        }
    }
}

impl Dial {
    /// The ports to open.
    pub fn ports(&self) -> Ports {
        Ports {
            tcp: self.serve.clone(),
            udp: self.serve.clone(),
        }
    }

    /// When dialling ends, if it does.
    pub fn until(&self) -> Option<Duration> {
        (!self.time.is_zero()).then_some(self.time)
    }
}

fn address(text: &str) -> Result<Target, String> {
    let target: Target = text.parse().map_err(|error| format!("{error}"))?;
    if target.is_address() {
        Ok(target)
    } else {
        Err("a name cannot be dialled: its look-up would come before the first dial".to_owned())
    }
}

fn port(text: &str) -> Result<u16, String> {
    text.parse()
        .map_err(|_| "must be the number of a port, 1 to 65535, or 0 for a free one".to_owned())
}

/// `250ms`, `5s` or `2m`.
fn time(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).unwrap_or((text, ""));
    let count: Option<u64> = number.parse().ok();
    let time = count.and_then(|count| match unit {
        "ms" => Some(Duration::from_millis(count)),
        "s" => Some(Duration::from_secs(count)),
        "m" => count.checked_mul(60).map(Duration::from_secs),
        _ => None,
    });
    time.ok_or_else(|| "write a number and ms, s or m, such as 5s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_well_formed() {
        use clap::CommandFactory as _;
        Flags::command().debug_assert();
    }

    #[rstest::rstest]
    #[case("250ms", Duration::from_millis(250))]
    #[case("5s", Duration::from_secs(5))]
    #[case("0s", Duration::ZERO)]
    #[case("2m", Duration::from_mins(2))]
    fn a_time_is_read(#[case] text: &str, #[case] read: Duration) {
        assert_eq!(time(text), Ok(read));
    }

    #[rstest::rstest]
    #[case("")]
    #[case("5")]
    #[case("s")]
    #[case("-5s")]
    #[case("5 s")]
    #[case("5h")]
    #[case("5ß")]
    #[case("99999999999999999999s")]
    #[case("18446744073709551615m")]
    fn what_is_no_time_is_refused(#[case] text: &str) {
        assert!(time(text).is_err());
    }

    #[rstest::rstest]
    #[case("--tcp", "http")]
    #[case("--udp", "65536")]
    fn a_port_that_is_none_is_refused_with_the_flag_and_the_rule(
        #[case] flag: &str,
        #[case] port: &str,
    ) {
        let words = ["sandgate-probe", "serve", "--name", "x", flag, port];
        let refused = Flags::try_parse_from(words).unwrap_err().to_string();
        let wanted = format!("'{flag} <PORT>': must be the number of a port, 1 to 65535, or 0");
        assert!(refused.contains(&wanted), "{refused}");
    }

    #[test]
    fn a_name_is_tried_but_not_dialled() {
        let words = |command| ["sandgate-probe", command, "--target", "tcp:a.svc:80"];
        assert!(Flags::try_parse_from(words("get")).is_ok());
        let dial = words("dial").into_iter().chain(["--name", "x"]);
        let refused = Flags::try_parse_from(dial).unwrap_err().to_string();
        assert!(refused.contains("look-up"), "{refused}");
    }

    #[test]
    fn without_an_end_it_dials_for_ever() {
        let until = |time: &'static str| {
            let words = [
                "sandgate-probe",
                "dial",
                "--name",
                "x",
                "--target",
                "icmp:::1",
                "--for",
            ];
            match Flags::try_parse_from(words.into_iter().chain([time]))
                .unwrap()
                .command
            {
                Command::Dial(dial) => dial.until(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(until("0s"), None);
        assert_eq!(until("5s"), Some(Duration::from_secs(5)));
    }
}
