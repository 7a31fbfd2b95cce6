use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use rstest::rstest;
use tokio::time::sleep;

use super::*;
use crate::limits::Limits;

/// What becomes of an attempt.
#[derive(Clone, Copy)]
enum Fate {
    Answers(u64),
    Refuses(u64),
    Silent,
    AnswersFrom(&'static str),
    NoDescriptor,
    NoRoute,
}

/// Connects as it is told to, after so many milliseconds, and remembers when it was asked for what.
struct Told {
    fates: HashMap<IpAddr, Fate>,
    began: Instant,
    tried: Mutex<Vec<(String, u64)>>,
}

impl Connect for Told {
    type Stream = ();

    async fn connect(&self, address: SocketAddr) -> io::Result<((), SocketAddr)> {
        let at = u64::try_from(self.began.elapsed().as_millis()).unwrap();
        self.tried.lock().unwrap().push((address.to_string(), at));
        match self.fates[&address.ip()] {
            Fate::Answers(after) => {
                sleep(Duration::from_millis(after)).await;
                Ok(((), address))
            }
            Fate::Refuses(after) => {
                sleep(Duration::from_millis(after)).await;
                Err(io::Error::from_raw_os_error(111))
            }
            Fate::Silent => std::future::pending().await,
            Fate::AnswersFrom(other) => Ok(((), other.parse().unwrap())),
            Fate::NoDescriptor => Err(io::Error::from_raw_os_error(24)),
            Fate::NoRoute => Err(io::Error::from_raw_os_error(101)),
        }
    }
}

struct Outcome {
    result: Result<SocketAddr, DialError>,
    tried: Vec<(String, u64)>,
    took: Duration,
}

async fn dialled(fates: &[(&str, Fate)]) -> Outcome {
    let addresses: Vec<IpAddr> = fates.iter().map(|(ip, _)| ip.parse().unwrap()).collect();
    let told = Told {
        fates: addresses
            .iter()
            .copied()
            .zip(fates.iter().map(|(_, fate)| *fate))
            .collect(),
        began: Instant::now(),
        tried: Mutex::default(),
    };
    let result = dial(&told, &addresses, Limits::default().dial).await;
    Outcome {
        result: result.map(|((), peer)| peer),
        took: told.began.elapsed(),
        tried: told.tried.into_inner().unwrap(),
    }
}

// Proves: E-024
#[tokio::test(start_paused = true)]
async fn what_is_dialled_is_the_address_on_port_443() {
    let outcome = dialled(&[("1.1.1.1", Fate::Answers(5))]).await;
    assert_eq!(outcome.result.unwrap().to_string(), "1.1.1.1:443");
    assert_eq!(outcome.tried, [("1.1.1.1:443".to_owned(), 0)]);
}

// Proves: E-024
#[rstest]
#[case::another_host("10.0.0.1:443")]
#[case::another_port("1.1.1.1:444")]
#[tokio::test(start_paused = true)]
async fn whoever_answers_from_elsewhere_is_not_taken(#[case] other: &'static str) {
    let outcome = dialled(&[("1.1.1.1", Fate::AnswersFrom(other))]).await;
    assert!(matches!(outcome.result, Err(DialError::Failed(_))));
}

#[tokio::test(start_paused = true)]
async fn families_take_turns_and_the_sixth_version_begins() {
    let outcome = dialled(&[
        ("1.1.1.1", Fate::Silent),
        ("1.0.0.1", Fate::Silent),
        ("2606:4700::1", Fate::Silent),
        ("2606:4700::2", Fate::Answers(1)),
    ])
    .await;
    let tried: Vec<(&str, u64)> = outcome
        .tried
        .iter()
        .map(|(a, at)| (a.as_str(), *at))
        .collect();
    let wanted = [
        ("[2606:4700::1]:443", 0),
        ("1.1.1.1:443", 250),
        ("[2606:4700::2]:443", 500),
    ];
    assert_eq!(tried, wanted);
    assert_eq!(outcome.result.unwrap().to_string(), "[2606:4700::2]:443");
}

#[tokio::test(start_paused = true)]
async fn after_a_refusal_the_next_is_tried_at_once() {
    let outcome = dialled(&[
        ("2606:4700::1", Fate::Refuses(10)),
        ("1.1.1.1", Fate::Answers(10)),
    ])
    .await;
    assert_eq!(outcome.tried[1], ("1.1.1.1:443".to_owned(), 10));
    assert_eq!(outcome.took, Duration::from_millis(20));
}

#[tokio::test(start_paused = true)]
async fn a_slow_first_address_still_wins_over_a_slower_second() {
    let outcome = dialled(&[
        ("1.1.1.1", Fate::Answers(300)),
        ("1.0.0.1", Fate::Answers(300)),
    ])
    .await;
    assert_eq!(outcome.result.unwrap().to_string(), "1.1.1.1:443");
}

#[rstest]
#[case::all_refuse(&[Fate::Refuses(5), Fate::Refuses(5)], "failed to connect")]
#[case::one_is_silent(&[Fate::Refuses(5), Fate::Silent], "failed to connect")]
#[case::all_are_silent(&[Fate::Silent, Fate::Silent], "failed to connect in time")]
#[case::no_descriptor(&[Fate::NoDescriptor, Fate::NoDescriptor], "failed to open a socket")]
#[tokio::test(start_paused = true)]
async fn the_reason_is_what_was_learnt(#[case] fates: &[Fate], #[case] told: &str) {
    let fates: Vec<_> = ["1.1.1.1", "1.0.0.1"]
        .into_iter()
        .zip(fates.iter().copied())
        .collect();
    let outcome = dialled(&fates).await;
    assert_eq!(outcome.result.unwrap_err().to_string(), told);
    assert!(
        outcome.took <= Duration::from_millis(3250),
        "{:?}",
        outcome.took
    );
}

#[rstest]
#[case::nobody_answers(Fate::Silent, None)]
#[case::somebody_refuses(Fate::Refuses(5), Some(111))]
#[case::no_route_either(Fate::NoRoute, Some(101))]
#[tokio::test(start_paused = true)]
async fn that_there_is_no_ipv6_here_hides_nothing_that_was_learnt_by_ipv4(
    #[case] fate: Fate,
    #[case] errno: Option<i32>,
) {
    let outcome = dialled(&[("2606:4700::1", Fate::NoRoute), ("1.1.1.1", fate)]).await;
    let told = match outcome.result.unwrap_err() {
        DialError::Failed(error) => error.raw_os_error(),
        DialError::TimedOut => None,
        DialError::Exhausted(error) => panic!("{error}"),
    };
    assert_eq!(told, errno);
}

#[tokio::test(start_paused = true)]
async fn only_so_many_addresses_are_tried_and_only_so_long() {
    let addresses: Vec<String> = (1..=60).map(|n| format!("1.1.1.{n}")).collect();
    let fates: Vec<_> = addresses
        .iter()
        .map(|a| (a.as_str(), Fate::Silent))
        .collect();
    let outcome = dialled(&fates).await;
    assert!(matches!(outcome.result, Err(DialError::TimedOut)));
    assert_eq!(outcome.tried.len(), 8);
    assert!(
        outcome.took <= Duration::from_secs(10),
        "{:?}",
        outcome.took
    );
}

#[tokio::test(start_paused = true)]
async fn no_address_is_no_connection() {
    assert!(matches!(
        dialled(&[]).await.result,
        Err(DialError::TimedOut)
    ));
}
