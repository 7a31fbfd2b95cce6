//! The lines a probe prints, each a JSON object, for those who print and those who read them. Pure.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::hardening::Hardening;
use crate::tally::Tally;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// Dialling has begun.
    Started {
        /// When, in microseconds since 1970.
        started_us: u64,
        /// Who dials.
        name: String,
    },
    /// What the container sees of itself.
    Hardening {
        /// All of it.
        hardening: Box<Hardening>,
    },
    /// What became of a target.
    Tally(Tally),
    /// No target will be dialled any more.
    Done {
        /// Always true.
        done: bool,
    },
    /// The doors are open.
    Serving {
        /// Who serves.
        serving: String,
        /// The TCP ports, in the order of the flags.
        tcp: Vec<u16>,
        /// The UDP ports, in the order of the flags.
        udp: Vec<u16>,
    },
    /// Somebody came.
    Contact(Contact),
    /// Lines were left out because nobody took them.
    LeftOut {
        /// How many.
        left_out: u64,
    },
}

/// Somebody came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// When, in microseconds since 1970.
    pub at_us: u64,
    /// How.
    pub contact: Protocol,
    /// At which of our ports.
    pub port: u16,
    /// From which address.
    pub from: String,
    /// To which of our addresses, where it is known.
    pub to: Option<String>,
    /// The first line of what was said.
    pub said: String,
}

/// How somebody came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// By a connection.
    Tcp,
    /// By a datagram.
    Udp,
}

/// When the process started, by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// For what is measured.
    pub instant: Instant,
    /// For what is compared with other machines.
    pub time: SystemTime,
}

/// Microseconds since 1970.
pub fn unix_us(time: SystemTime) -> u64 {
    whole_us(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Microseconds, all of them in this universe's lifetime.
pub fn whole_us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(r#"{"started_us":5,"name":"alice"}"#)]
    #[case(r#"{"done":true}"#)]
    #[case(r#"{"serving":"bob","tcp":[8080],"udp":[]}"#)]
    #[case(r#"{"at_us":5,"contact":"tcp","port":8080,"from":"10.0.0.5","to":"10.0.0.9","said":"alice>bob"}"#)]
    #[case(r#"{"at_us":5,"contact":"udp","port":53,"from":"fd00::5","to":null,"said":""}"#)]
    #[case(r#"{"left_out":3}"#)]
    fn a_line_reads_back_as_what_it_was(#[case] text: &str) {
        let line: Line = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&line).unwrap(), text);
    }

    #[test]
    fn a_tally_and_a_hardening_read_back_as_what_they_were() {
        for line in [
            Line::Tally(Tally::of("peer")),
            Line::Hardening {
                hardening: Box::default(),
            },
        ] {
            let text = serde_json::to_string(&line).unwrap();
            assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), line);
        }
    }
}
