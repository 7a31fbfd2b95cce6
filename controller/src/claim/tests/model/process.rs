//! One process of the controller: watches that tell when they are told to, and looks at subjects that go on
//! one request at a time.

mod watching;

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::header::DATE;
use k8s_openapi::jiff::Timestamp;
use sandgate_shared::render::Installation;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::mutants::Mutant;
use crate::api_server::Clock;
use crate::api_server::fake::gate::Gate;
use crate::api_server::fake::{Fake, Fault};
use crate::claim::plan::Settings;
use crate::claim::{Reconciler, Watches};
use crate::kind::Kind;
use crate::leader::{Elector, Fence, Timing};
use crate::provenance::Provenance;
use crate::queue::Next;
use crate::watch::{Source, Subject};

/// How long the Lease lasts.
pub const LEASE: Duration = Duration::from_secs(15);
/// Longer than any story.
const TERM: Duration = Duration::from_secs(1_000_000);
/// Subjects that one process looks at at once.
const WORKERS: usize = 3;
/// When every story begins, as the API server counts.
const BEGAN: &str = "2026-11-20T10:00:00Z";
/// So often everything may move on before time does.
const STEPS: u32 = 200;

/// What a watch has told, by how much had happened then.
pub type Heard = BTreeMap<Source, usize>;

pub struct Process {
    pub watches: Arc<Watches>,
    pub leads: bool,
    /// All claims were read when as much had happened.
    pub caught_up: usize,
    pub heard: Heard,
    server: Fake,
    gate: Gate,
    term: Term,
    looks: Vec<Look>,
    /// Whom the last look at did not come to an end for, and what had been told when the first of these
    /// began: a place that was promised then is kept.
    unsure: BTreeMap<Subject, Heard>,
    mutant: Mutant,
    clock: Clock,
    /// When the story began, by the clock of the process.
    began: Instant,
}

struct Look {
    subject: Subject,
    future: BoxFuture<'static, Next>,
    /// What had been told when it began.
    heard: Heard,
}

/// What each term has one of its own of.
struct Term {
    reconciler: Arc<Reconciler>,
    fence: Fence,
    /// The reconciler, and admissions it began.
    under_way: TaskTracker,
}

fn term(
    server: &Fake,
    gate: &Gate,
    watches: &Arc<Watches>,
    (mutant, clock): (Mutant, &Clock),
) -> Term {
    let (api, metrics) = server.connect_through(gate);
    let api = api.with_clock(clock.clone());
    let provenance = Provenance::new(&Installation::default());
    let identity = identity(gate.who, mutant);
    let timing = Timing::of(LEASE);
    let elector = Elector::new(&api, metrics.clone(), "ns", "lease", &identity, timing);
    let fence = elector.fence();
    let (parts, under_way) = ((watches, &provenance), TaskTracker::new());
    let settings = (Settings::default(), None);
    let leading = (&fence, &under_way);
    let reconciler = Reconciler::new(&api, parts, leading, settings, &metrics, &identity);
    Term {
        reconciler: Arc::new(reconciler),
        fence,
        under_way,
    }
}

fn identity(who: usize, mutant: Mutant) -> String {
    match mutant {
        Mutant::NoFence => "pod".to_owned(),
        _ => format!("pod-{who}"),
    }
}

impl Process {
    /// One that has just started and listed everything.
    pub fn start(server: &Fake, who: usize, (mutant, began): (Mutant, Instant)) -> Self {
        let gate = Gate::of(who);
        let watches = Arc::new(Watches::default());
        let clock = Clock::default();
        let term = term(server, &gate, &watches, (mutant, &clock));
        let mut process = Self {
            watches,
            leads: false,
            caught_up: 0,
            heard: Heard::new(),
            server: server.clone(),
            gate,
            term,
            looks: Vec::new(),
            unsure: BTreeMap::new(),
            mutant,
            clock,
            began,
        };
        for source in Source::ALL {
            process.list(source, server.happened());
        }
        process
    }

    /// The API server's answers tell the time.
    fn hear_the_time(&self) {
        let began: Timestamp = BEGAN.parse().unwrap();
        let now = began + self.began.elapsed();
        let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let head = [(DATE, date.parse().unwrap())].into_iter().collect();
        self.clock.note(&head, std::time::Instant::now());
    }

    /// Begins to look at the next subject of the queue, if there is one and somebody free.
    pub async fn begin(&mut self) -> bool {
        if self.looks.len() >= WORKERS {
            return false;
        }
        let next = futures::poll!(pin!(self.watches.queue.next()));
        let Poll::Ready(subject) = next else {
            return false;
        };
        let mut reconciler = Arc::clone(&self.term.reconciler);
        if self.mutant == Mutant::NoLedger {
            let known = (self.mutant, &self.clock);
            let forgetful = term(&self.server, &self.gate, &self.watches, known);
            forgetful.fence.until(Some(Instant::now() + TERM));
            reconciler = forgetful.reconciler;
        }
        self.hear_the_time();
        let about = subject.clone();
        self.looks.push(Look {
            subject,
            future: Box::pin(async move { reconciler.look_after(&about).await }),
            heard: self.heard.clone(),
        });
        self.drive().await;
        true
    }

    /// Lets everything go on until each look waits for an answer. If nothing moves, time does.
    pub async fn drive(&mut self) {
        self.hear_the_time();
        for step in 1.. {
            // Connections and admissions have tasks of their own.
            tokio::task::yield_now().await;
            let mut ended = Vec::new();
            for (nth, look) in self.looks.iter_mut().enumerate() {
                if let Poll::Ready(next) = futures::poll!(&mut look.future) {
                    ended.push((nth, next));
                }
            }
            for (nth, next) in ended.into_iter().rev() {
                let look = self.looks.remove(nth);
                if next == Next::Retry {
                    self.unsure
                        .entry(look.subject.clone())
                        .or_insert(look.heard);
                } else {
                    self.unsure.remove(&look.subject);
                }
                self.watches.queue.done(&look.subject, next);
            }
            if self.gate.waiting() >= self.looks.len() {
                return;
            }
            if step % STEPS == 0 {
                tokio::time::advance(Duration::from_millis(100)).await;
            }
        }
    }

    /// How much is being looked at.
    pub fn works(&self) -> usize {
        self.looks.len()
    }

    /// Whether the oldest request that waits writes the status of a claim.
    pub fn writes_a_status(&self) -> bool {
        let oldest = self.gate.oldest();
        oldest.is_some_and(|it| it.starts_with("PATCH") && it.ends_with("/status"))
    }

    /// What the oldest look may not know better than.
    pub fn oldest(&self) -> Heard {
        let mut oldest = self.heard.clone();
        let looks = self.looks.iter().map(|look| &look.heard);
        for heard in looks.chain(self.unsure.values()) {
            for (source, at) in heard {
                let known = oldest.entry(*source).or_insert(*at);
                *known = (*known).min(*at);
            }
        }
        oldest
    }

    /// Lets one of the requests that wait through, with whatever goes wrong.
    pub async fn answer(&mut self, which: usize, fault: impl Fn(&str) -> Option<Fault>) {
        self.drive().await;
        let waiting = self.gate.waiting();
        if waiting > 0 {
            self.gate.let_through(which % waiting, fault);
            self.drive().await;
        }
    }

    /// Leads from now on: reads all claims, and looks at everything.
    pub async fn lead(&mut self) {
        let lease = json!({"metadata": {"namespace": "ns", "name": "lease", "uid": "lease"},
            "spec": {"holderIdentity": identity(self.gate.who, self.mutant)}});
        self.server.put(Kind::Lease, lease);
        let known = (self.mutant, &self.clock);
        self.term = term(&self.server, &self.gate, &self.watches, known);
        self.term.fence.until(Some(Instant::now() + TERM));
        self.leads = true;
        if self.mutant != Mutant::NoCatchUp {
            let reconciler = Arc::clone(&self.term.reconciler);
            let mut reads = pin!(reconciler.catch_up());
            loop {
                if let Poll::Ready(read) = futures::poll!(&mut reads) {
                    read.unwrap();
                    break;
                }
                self.gate.let_through(0, |_| None);
                tokio::task::yield_now().await;
            }
            self.caught_up = self.server.happened();
        }
        self.watches.queue.open();
        let all = self.watches.index.subjects();
        self.watches.queue.push_all(all);
    }

    /// Its term ran out by its own clock, and what it asked for is not answered in time any more. It begins
    /// nothing, and what it has begun goes on until it notices.
    pub async fn is_overtaken(&mut self) {
        if self.mutant != Mutant::NoFence {
            self.term.fence.until(None);
            self.watches.queue.close();
        }
        self.drive().await;
    }

    /// Notices that its term is over. What it looked at is cut off; admissions under way are waited for.
    pub async fn resign(&mut self) {
        self.term.fence.until(None);
        self.leads = false;
        self.looks.clear();
        self.watches.queue.close();
        // The reconciler itself is one.
        while self.term.under_way.len() > 1 {
            self.gate.let_through(0, |_| None);
            tokio::task::yield_now().await;
        }
    }
}
