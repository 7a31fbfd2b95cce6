use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use sandgate_shared::names;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::{Elector, Fence, Leaderless, Leadership, Timing};
use crate::api_server::ApiServer;
use crate::api_server::fake::{Fake, Fault};
use crate::kind::Kind;
use crate::metrics::Metrics;

const DURATION: Duration = Duration::from_secs(15);

/// Longer than any answer takes that does not wait for anything.
const AT_ONCE: Duration = Duration::from_millis(10);

const LOOK: &str = "GET /apis/coordination.k8s.io/v1/namespaces/ns/leases/lease";
/// A list or a watch.
const FOLLOW: &str = "GET /apis/coordination.k8s.io/v1/namespaces/ns/leases";

/// How many requests of a log are this one.
fn count(log: &[String], request: &str) -> usize {
    log.iter().filter(|it| *it == request).count()
}

fn elector(identity: &str, (api, metrics): (ApiServer, Metrics)) -> Elector {
    let timing = Timing::of(DURATION);
    Elector::new(&api, metrics, "ns", "lease", identity, timing)
}

/// One replica that takes part.
struct Replica {
    leadership: watch::Receiver<Leadership>,
    fence: Fence,
    shutdown: CancellationToken,
    running: JoinHandle<Elector>,
}

impl Replica {
    fn start(server: &Fake, identity: &str) -> Self {
        Self::connected(identity, server.connect_keeping_time())
    }

    fn connected(identity: &str, connection: (ApiServer, Metrics)) -> Self {
        let mut elector = elector(identity, connection);
        let (leadership, fence) = (elector.leadership(), elector.fence());
        let shutdown = CancellationToken::new();
        let told = shutdown.clone();
        let running = tokio::spawn(async move {
            elector.run(&told).await;
            elector
        });
        Self {
            leadership,
            fence,
            shutdown,
            running,
        }
    }

    /// Waits until it leads; the token of the term.
    async fn leads(&mut self) -> CancellationToken {
        let leading = |told: &Leadership| matches!(told, Leadership::Leading(_));
        let told = timeout(DURATION * 3, self.leadership.wait_for(leading)).await;
        match &*told.expect("it should lead by now").unwrap() {
            Leadership::Leading(term) => term.clone(),
            Leadership::Standby => unreachable!("waited for the opposite"),
        }
    }

    async fn stop(self) -> Elector {
        self.shutdown.cancel();
        self.running.await.unwrap()
    }

    /// As a process that is killed: it says nothing to anybody.
    fn kill(self) {
        self.running.abort();
    }
}

fn holder(server: &Fake) -> Value {
    server.get(Kind::Lease, "ns", "lease").unwrap()["spec"]["holderIdentity"].clone()
}

// Proves: C-001
#[tokio::test(start_paused = true)]
async fn of_two_replicas_one_leads_and_keeps_leading() {
    let server = Fake::default();
    let mut first = Replica::start(&server, "first");
    let term = first.leads().await;
    let second = Replica::start(&server, "second");
    assert!(timeout(DURATION * 4, term.cancelled()).await.is_err());
    assert!(matches!(*second.leadership.borrow(), Leadership::Standby));
    assert_eq!(holder(&server), "first");
}

/// How long a replica that stands by takes to lead once the leader has given the Lease up, which is not
/// when it looks anyway.
async fn succession(server: &Fake) -> Duration {
    let mut first = Replica::start(server, "first");
    let term = first.leads().await;
    let mut second = Replica::start(server, "second");
    tokio::time::sleep(DURATION * 2 + Timing::of(DURATION).period / 2).await;
    let mut elector = first.stop().await;
    assert!(term.is_cancelled());
    elector.release().await.unwrap();
    assert_eq!(holder(server), Value::Null);
    let begun = Instant::now();
    second.leads().await;
    begun.elapsed()
}

// Proves: C-001
#[tokio::test(start_paused = true)]
async fn a_lease_that_was_given_up_is_taken_at_once() {
    let took = succession(&Fake::default()).await;
    assert!(took <= AT_ONCE, "{took:?}");
}

// Proves: C-001
#[tokio::test(start_paused = true)]
async fn a_lease_that_must_not_be_watched_is_taken_at_the_next_look() {
    let server = Fake::default();
    server.refuse_watches();
    let took = succession(&server).await;
    assert!(took > AT_ONCE, "nothing told of it, and it took {took:?}");
    assert!(took <= Timing::of(DURATION).period, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_refused_is_asked_for_less_and_less_often() {
    let server = Fake::default();
    server.refuse_watches();
    Replica::start(&server, "first").leads().await;
    let _second = Replica::start(&server, "second");
    tokio::time::sleep(DURATION * 40).await;
    let times = count(&server.log(), FOLLOW);
    // Ten minutes, in which the pauses soon are two to four seconds.
    assert!((140..=310).contains(&times), "{times} times");
}

// Proves: C-001
#[tokio::test(start_paused = true)]
async fn a_killed_leader_is_succeeded_when_its_lease_lapses_and_not_before() {
    let server = Fake::default();
    let mut first = Replica::start(&server, "first");
    first.leads().await;
    let mut second = Replica::start(&server, "second");
    tokio::time::sleep(DURATION * 2 + Timing::of(DURATION).period / 2).await;
    first.kill();
    // Half a period, a twelfth of the duration, has passed since the last renewal.
    let lapse = DURATION * 11 / 12;
    let begun = Instant::now();
    second.leads().await;
    let late = begun.elapsed().checked_sub(lapse);
    assert!(late.is_some_and(|late| late <= AT_ONCE), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_lapses_is_looked_at_once_for_it_whatever_becomes_of_the_look() {
    let server = Fake::default();
    let mut first = Replica::start(&server, "first");
    first.leads().await;
    first.kill();
    let mut second = elector("second", server.connect_keeping_time());
    assert!(!second.look().await.unwrap());
    let lapse = second.lapse().unwrap();
    tokio::time::sleep_until(lapse).await;
    server.fail(1, Fault::Before);
    second.look().await.unwrap_err();
    assert_eq!(second.lapse(), None);
    assert!(second.look().await.unwrap(), "the next turn takes it");
}

#[tokio::test(start_paused = true)]
async fn a_leader_looks_each_period_and_follows_nothing_and_who_stands_by_follows_its_renewals() {
    let server = Fake::default();
    let mut first = Replica::start(&server, "first");
    first.leads().await;
    assert_eq!(count(&server.log(), FOLLOW), 0);
    tokio::time::sleep(DURATION * 4 + AT_ONCE).await;
    let alone = server.log();
    assert_eq!((count(&alone, LOOK), count(&alone, FOLLOW)), (24, 0));
    let _second = Replica::start(&server, "second");
    tokio::time::sleep(DURATION * 4).await;
    let both = server.log();
    // One list and one watch; a look at first and at what is listed, then one a renewal, or two where its
    // own turn comes at the same time.
    assert_eq!(count(&both, FOLLOW), 2);
    let looks = count(&both, LOOK);
    assert!((24 * 2..=24 * 3 + 2).contains(&looks), "{looks} looks");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_gets_no_answer_stands_by_before_others_may_lead() {
    let server = Fake::default();
    let mut replica = Replica::start(&server, "first");
    let term = replica.leads().await;
    let begun = Instant::now();
    // Every request from now on hangs, as if the network were cut.
    server.cut();
    term.cancelled().await;
    assert!(begun.elapsed() < DURATION, "{:?}", begun.elapsed());
    assert!(matches!(*replica.leadership.borrow(), Leadership::Standby));
    server.mend();
    replica.leads().await;
}

#[tokio::test(start_paused = true)]
async fn one_failed_renewal_costs_nothing() {
    let server = Fake::default();
    let mut replica = Replica::start(&server, "first");
    let term = replica.leads().await;
    for (nth, fault) in [
        (1, Fault::Before),
        (2, Fault::Before),
        (2, Fault::After),
        (1, Fault::Hang),
    ] {
        server.fail(nth, fault);
        assert!(
            timeout(DURATION, term.cancelled()).await.is_err(),
            "{nth} {fault:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_was_taken_stands_by() {
    let server = Fake::default();
    let mut replica = Replica::start(&server, "first");
    let term = replica.leads().await;
    let mut lease = server.get(Kind::Lease, "ns", "lease").unwrap();
    lease["spec"]["holderIdentity"] = json!("somebody");
    server.put(Kind::Lease, lease);
    let noticed = timeout(Timing::of(DURATION).period * 2, term.cancelled()).await;
    assert!(noticed.is_ok());
    // And hears when it may lead again, as one that has never led.
    tokio::time::sleep(AT_ONCE).await;
    let mut lease = server.get(Kind::Lease, "ns", "lease").unwrap();
    lease["spec"]["holderIdentity"] = Value::Null;
    server.put(Kind::Lease, lease);
    let begun = Instant::now();
    replica.leads().await;
    assert!(begun.elapsed() <= AT_ONCE, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn only_the_holder_gives_the_lease_up() {
    let server = Fake::default();
    let mut first = Replica::start(&server, "first");
    first.leads().await;
    let mut second = Replica::start(&server, "second").stop().await;
    second.release().await.unwrap();
    assert_eq!(holder(&server), "first");
}

/// What the Lease says of times without a leader.
fn leaderless(server: &Fake) -> Leaderless {
    let lease = server.get(Kind::Lease, "ns", "lease").unwrap();
    let text = &lease["metadata"]["annotations"][names::ANNOTATION_LEADERLESS];
    Leaderless::read(text.as_str().unwrap_or_default()).expect("the Lease tells it")
}

/// How many of the seconds between two moments nobody led, as the Lease says.
fn seconds_without(server: &Fake, since: Timestamp, until: Timestamp) -> i64 {
    leaderless(server).within(since, until).as_secs()
}

#[tokio::test(start_paused = true)]
async fn before_the_first_lease_nobody_led() {
    let server = Fake::default();
    let mut first = Replica::start(&server, "first");
    first.leads().await;
    let now = server.now();
    let hour = now - SignedDuration::from_hours(1);
    assert_eq!(seconds_without(&server, hour, now), 3600);
    assert_eq!(first.fence.leaderless(), Some(leaderless(&server)));
}

#[tokio::test(start_paused = true)]
async fn the_time_between_a_crash_and_the_next_leader_is_kept_in_the_lease() {
    let server = Fake::default();
    let mut first = Replica::start(&server, "first");
    first.leads().await;
    let led = server.now();
    tokio::time::sleep(DURATION * 10).await;
    first.kill();
    let killed = server.now();
    tokio::time::sleep(DURATION * 4).await;
    // The one before wrote by a clock that is wrong by hours; nobody asks it.
    server.edit(Kind::Lease, "ns", "lease", |lease| {
        lease["spec"]["renewTime"] = json!("2031-01-01T00:00:00.000000Z");
    });
    let mut second = Replica::start(&server, "second");
    second.leads().await;
    let now = server.now();
    let (gone, counted) = (
        now.duration_since(killed).as_secs(),
        seconds_without(&server, led, now),
    );
    let period = i64::try_from(Timing::of(DURATION).period.as_secs()).unwrap();
    assert!(
        (gone..=gone + period + 2).contains(&counted),
        "{counted} s are not {gone} s"
    );
    // Renewals keep it, and so does whoever leads next.
    tokio::time::sleep(DURATION * 3).await;
    second.stop().await.release().await.unwrap();
    let mut third = Replica::start(&server, "third");
    third.leads().await;
    let kept = seconds_without(&server, led, now);
    assert!(kept >= counted, "{kept} s are less than {counted} s");
    let later = seconds_without(&server, led, server.now());
    assert!(
        later <= counted + 4,
        "a hand-over took {} s",
        later - counted
    );
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_cut_off_counts_the_time_until_it_leads_again() {
    let server = Fake::default();
    let mut replica = Replica::start(&server, "first");
    let term = replica.leads().await;
    let led = server.now();
    server.cut();
    term.cancelled().await;
    assert_eq!(replica.fence.leaderless(), None);
    tokio::time::sleep(DURATION * 20).await;
    server.mend();
    replica.leads().await;
    let counted = seconds_without(&server, led, server.now());
    assert!(counted >= 300, "{counted}");
}

#[tokio::test(start_paused = true)]
async fn whoever_takes_the_annotation_away_does_not_make_a_leader_forget_it() {
    let server = Fake::default();
    let mut replica = Replica::start(&server, "first");
    replica.leads().await;
    let told = leaderless(&server);
    server.edit(Kind::Lease, "ns", "lease", |lease| {
        lease["metadata"]["annotations"] = json!({});
    });
    tokio::time::sleep(DURATION).await;
    assert_eq!(leaderless(&server), told);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_not_told_the_time_knows_nothing_and_tells_nothing() {
    let server = Fake::default();
    let mut replica = Replica::connected("first", server.connect());
    replica.leads().await;
    assert_eq!(replica.fence.leaderless(), None);
    let lease = server.get(Kind::Lease, "ns", "lease").unwrap();
    assert_eq!(lease["metadata"]["annotations"], json!({}));
}
