//! One try to reach each target, told in words. Does I/O.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::dial::{Attempt, Underway, Way};
use crate::outcome::Outcome;
use crate::said;
use crate::target::{Reach, Target};

/// How long a target has to answer, and then to say something.
const PATIENCE: Duration = Duration::from_secs(2);
/// What is not answered like a connection is said to come from.
const GREETING: &str = "get>it\n";
const REQUEST: &[u8] = b"GET / HTTP/1.0\r\n\r\n";
/// A longer answer is not read to its end.
const LONGEST: u64 = 64 * 1024;

/// How the one try ended.
struct Got {
    outcome: Outcome,
    /// What a web server said.
    said: String,
}

/// Tries each target once and tells `out` about it; true if all answered.
pub fn run(targets: &[Target], out: &mut impl Write) -> io::Result<bool> {
    let mut all = true;
    for target in targets {
        let began = Instant::now();
        let got = get(target);
        let took = began.elapsed();
        all &= got.outcome == Outcome::Answered;
        writeln!(out, "{}", words(&target.label, &got, took))?;
    }
    Ok(all)
}

fn words(label: &str, got: &Got, took: Duration) -> String {
    let time = format!("{:.1} ms", took.as_secs_f64() * 1e3);
    match &got.outcome {
        Outcome::Answered if got.said.is_empty() => format!("{label}: answered after {time}"),
        Outcome::Answered => format!("{label}: answered after {time}: {}", got.said),
        Outcome::Refused(why) | Outcome::TimedOut(why) | Outcome::Unreachable(why) => {
            format!("{label}: no answer after {time}: {why}")
        }
        Outcome::NotTried(why) => format!("{label}: could not be tried: {why}"),
    }
}

fn get(target: &Target) -> Got {
    let way = match Way::to(target, GREETING) {
        Ok(way) => way,
        Err(error) => return Got::silent(Outcome::NotTried(error.to_string())),
    };
    match target.reach {
        Reach::Tcp(..) => page(way.address()),
        _ => Got::silent(datagram(&way).unwrap_or_else(|outcome| outcome)),
    }
}

fn page(address: SocketAddr) -> Got {
    match TcpStream::connect_timeout(&address, PATIENCE) {
        Ok(stream) => Got {
            outcome: Outcome::Answered,
            // It was reached, whether or not it has something to say.
            said: ask(&stream).unwrap_or_default(),
        },
        // The system says so of its own limit, too, and then without a number.
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Got::silent(Outcome::TimedOut(error.to_string()))
        }
        Err(error) => Got::silent(Outcome::at_once(&error)),
    }
}

/// The first line of the page at `/`.
fn ask(mut stream: &TcpStream) -> io::Result<String> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(REQUEST)?;
    let mut bytes = Vec::new();
    // What came before it fell silent counts.
    drop(stream.take(LONGEST).read_to_end(&mut bytes));
    Ok(said::first_line(body(&bytes)))
}

/// What follows the head of an HTTP response.
fn body(response: &[u8]) -> &[u8] {
    const BLANK: &[u8] = b"\r\n\r\n";
    let head = response.windows(BLANK.len()).position(|it| it == BLANK);
    let body = head.and_then(|head| response.get(head.saturating_add(BLANK.len())..));
    body.unwrap_or_default()
}

fn datagram(way: &Way) -> Result<Outcome, Outcome> {
    let failed = |error: io::Error| Outcome::NotTried(error.to_string());
    let began = Instant::now();
    let mut underway = Underway::new(PATIENCE).map_err(failed)?;
    let attempt = Attempt::begin(way, 1)?;
    underway.add(0, Duration::ZERO, attempt).map_err(failed)?;
    while let Some(end) = underway.gives_up() {
        let time = end.saturating_sub(began.elapsed());
        let mut ended = underway.wait(Some(time)).map_err(failed)?;
        ended.extend(underway.give_up(began.elapsed()));
        if let Some(one) = ended.pop() {
            return Ok(one.outcome);
        }
    }
    Err(Outcome::NotTried("nothing was under way".to_owned()))
}

impl Got {
    fn silent(outcome: Outcome) -> Self {
        Self {
            outcome,
            said: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nalice\n", b"alice\n")]
    #[case(b"HTTP/1.1 204 No Content\r\n\r\n", b"")]
    #[case(b"HTTP/1.1 200 OK\r\nCut", b"")]
    #[case(b"", b"")]
    #[case(b"\xff\xfe\r\n\r\n\x00", b"\x00")]
    fn the_body_is_what_follows_the_head(#[case] response: &[u8], #[case] rest: &[u8]) {
        assert_eq!(body(response), rest);
    }

    #[rstest::rstest]
    #[case(Outcome::Answered, "alice", "peer: answered after 1.5 ms: alice")]
    #[case(Outcome::Answered, "", "peer: answered after 1.5 ms")]
    #[case(Outcome::Refused("no".into()), "", "peer: no answer after 1.5 ms: no")]
    #[case(Outcome::NotTried("no".into()), "", "peer: could not be tried: no")]
    fn each_end_has_its_words(
        #[case] outcome: Outcome,
        #[case] said: &str,
        #[case] sentence: &str,
    ) {
        let said = said.to_owned();
        let got = Got { outcome, said };
        assert_eq!(words("peer", &got, Duration::from_micros(1_500)), sentence);
    }
}
