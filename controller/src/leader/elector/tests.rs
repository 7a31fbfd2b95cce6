use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::{Elector, Leadership, Timing};
use crate::api_server::fake::{Fake, Fault};
use crate::kind::Kind;

const DURATION: Duration = Duration::from_secs(15);

/// One replica that takes part.
struct Replica {
    leadership: watch::Receiver<Leadership>,
    shutdown: CancellationToken,
    running: JoinHandle<Elector>,
}

impl Replica {
    fn start(server: &Fake, identity: &str) -> Self {
        let (api, metrics) = server.connect();
        let timing = Timing::of(DURATION);
        let mut elector = Elector::new(&api, metrics, "ns", "lease", identity, timing);
        let leadership = elector.leadership();
        let shutdown = CancellationToken::new();
        let told = shutdown.clone();
        let running = tokio::spawn(async move {
            elector.run(&told).await;
            elector
        });
        Self {
            leadership,
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

#[tokio::test(start_paused = true)]
async fn a_lease_that_was_given_up_is_taken_at_the_next_look() {
    let server = Fake::default();
    let mut first = Replica::start(&server, "first");
    let term = first.leads().await;
    let mut second = Replica::start(&server, "second");
    let mut elector = first.stop().await;
    assert!(term.is_cancelled());
    elector.release().await.unwrap();
    assert_eq!(holder(&server), Value::Null);
    let begun = Instant::now();
    second.leads().await;
    assert!(begun.elapsed() <= Timing::of(DURATION).period);
}

#[tokio::test(start_paused = true)]
async fn a_killed_leader_is_succeeded_after_its_duration_and_not_before() {
    let server = Fake::default();
    let mut first = Replica::start(&server, "first");
    first.leads().await;
    first.kill();
    let begun = Instant::now();
    let mut second = Replica::start(&server, "second");
    second.leads().await;
    assert!(begun.elapsed() >= DURATION, "{:?}", begun.elapsed());
    assert!(begun.elapsed() <= DURATION + Timing::of(DURATION).period * 2);
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
