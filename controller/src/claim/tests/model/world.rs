//! The cluster, its people and two processes, taken from step to step.

use std::time::Duration;

use tokio::time::Instant;

use super::cluster;
use super::end::{self, Facts};
use super::laws::{Known, Laws};
use super::mutants::Mutant;
use super::people;
use super::process::{LEASE, Process};
use super::steps::{Step, Trouble};
use crate::api_server::fake::{Fake, Fault};
use crate::watch::Source;

/// Times everything is brought up to date before it has to be at its end.
const ROUNDS: usize = 40;
/// Longer than anybody waits until he tries again.
const LULL: Duration = Duration::from_secs(61);

/// A cluster with a namespace, two processes, and what has been seen of them.
pub struct World {
    server: Fake,
    processes: Vec<Process>,
    pub laws: Laws,
    facts: Facts,
    /// Who has the Lease.
    holder: Option<usize>,
    mutant: Mutant,
    began: Instant,
}

impl World {
    pub async fn new(mutant: Mutant) -> Self {
        let server = Fake::default();
        people::furnish(&server);
        let began = Instant::now();
        let processes = (0..2).map(|who| Process::start(&server, who, (mutant, began)));
        let mut world = Self {
            processes: processes.collect(),
            server,
            laws: Laws::default(),
            facts: Facts::default(),
            holder: None,
            mutant,
            began,
        };
        world.lead(0).await;
        world.laws.judge(&world.server, None);
        world
    }

    /// Takes one step; what breaks a law.
    pub async fn step(&mut self, step: &Step) -> Vec<String> {
        match step {
            Step::Deed(deed) => {
                self.facts.note(deed);
                deed.act(&self.server);
            }
            Step::Cluster => cluster::turn(&self.server),
            Step::Hear {
                who,
                source,
                events,
            } => self.processes[*who].hear(*source, *events),
            Step::HearAll { who } => self.processes[*who].hear_all(),
            Step::List {
                who,
                source,
                behind,
            } => {
                // Claims are counted by lists that no API server answers from a cache.
                let behind = match source {
                    Source::Claims => 0,
                    _ => *behind,
                };
                let at = self.server.happened().saturating_sub(behind);
                self.processes[*who].list(*source, at);
            }
            Step::Begin { who } => {
                self.processes[*who].begin().await;
            }
            Step::Answer {
                who,
                which,
                requests,
                trouble,
            } => {
                let mut broken = Vec::new();
                for left in (0..*requests).rev() {
                    let trouble = trouble.filter(|_| left == 0);
                    broken.extend(self.answer(*who, *which, trouble).await);
                }
                return broken;
            }
            Step::Work { who, looks } => return self.work(*who, *looks).await,
            Step::WorkUpToAStatus { who } => return self.work_up_to_a_status(*who).await,
            Step::WorkAround { who } => return self.work_around(*who).await,
            Step::Kill { who } => {
                self.processes[*who] = self.started(*who);
                if self.holder == Some(*who) {
                    self.holder = None;
                }
            }
            Step::Lead { who } => self.lead(*who).await,
            Step::Resign { who } => {
                let known = self.known(*who);
                self.processes[*who].resign().await;
                if self.holder == Some(*who) {
                    self.holder = None;
                }
                return self.laws.judge(&self.server, Some(&known));
            }
            Step::Lull => {
                tokio::time::advance(LULL).await;
                for process in &mut self.processes {
                    process.drive().await;
                }
            }
        }
        self.laws.judge(&self.server, None)
    }

    fn started(&self, who: usize) -> Process {
        Process::start(&self.server, who, (self.mutant, self.began))
    }

    fn known(&self, who: usize) -> Known {
        let process = &self.processes[who];
        Known {
            heard: process.oldest(),
            caught_up: process.caught_up,
        }
    }

    async fn answer(&mut self, who: usize, which: usize, trouble: Option<Trouble>) -> Vec<String> {
        let known = self.known(who);
        let fault = |request: &str| match trouble? {
            Trouble::Down => Some(Fault::Before),
            Trouble::AnswerLost => Some(Fault::After),
            // Who only reads, or makes what is not there, hears no such thing.
            Trouble::Conflict => {
                let reads_or_makes = request.starts_with("GET") || request.starts_with("POST");
                (!reads_or_makes).then_some(Fault::Conflict)
            }
        };
        self.processes[who].answer(which, fault).await;
        self.laws.judge(&self.server, Some(&known))
    }

    /// So many looks, one after the other, and whatever was begun before.
    async fn work(&mut self, who: usize, looks: usize) -> Vec<String> {
        let mut broken = Vec::new();
        for _ in 0..looks {
            self.processes[who].begin().await;
            while self.processes[who].works() > 0 {
                broken.extend(self.answer(who, 0, None).await);
            }
            if !broken.is_empty() {
                break;
            }
        }
        broken
    }

    /// Looks at what is next until a claim's status is being written.
    async fn work_up_to_a_status(&mut self, who: usize) -> Vec<String> {
        let mut broken = Vec::new();
        while !self.processes[who].writes_a_status()
            && (self.processes[who].works() > 0 || self.processes[who].begin().await)
        {
            // What was begun just now may write one.
            if !self.processes[who].writes_a_status() {
                broken.extend(self.answer(who, 0, None).await);
            }
        }
        broken
    }

    /// Looks at all that is next, while what was begun first has no answer.
    async fn work_around(&mut self, who: usize) -> Vec<String> {
        let mut broken = Vec::new();
        while self.processes[who].begin().await {
            while self.processes[who].works() > 1 {
                broken.extend(self.answer(who, 1, None).await);
            }
        }
        broken
    }

    async fn lead(&mut self, who: usize) {
        if self.holder == Some(who) {
            return;
        }
        self.processes[who].resign().await;
        if self.holder.replace(who).is_some() {
            // Nobody takes the Lease before it has run out.
            tokio::time::advance(LEASE).await;
            self.processes[1 - who].is_overtaken().await;
        }
        self.processes[who].lead().await;
    }

    /// Nothing happens any more; what does not come to its end then, or breaks a law on the way.
    pub async fn end(&mut self) -> Vec<String> {
        let leader = self.holder.unwrap_or(0);
        self.processes[1 - leader].resign().await;
        self.lead(leader).await;
        let mut still = 0;
        for _ in 0..ROUNDS {
            let before = self.server.happened();
            let broken = self.round(leader).await;
            if !broken.is_empty() {
                return broken;
            }
            still = if self.server.happened() == before {
                still + 1
            } else {
                0
            };
            // What one round leaves to the next may be that time goes by.
            if still == 2 {
                let unsettled = end::unsettled(&self.laws.standing, &self.facts);
                return if unsettled.is_empty() {
                    self.restart(leader).await
                } else {
                    unsettled
                };
            }
        }
        vec![format!("not at its end after {ROUNDS} rounds")]
    }

    async fn round(&mut self, leader: usize) -> Vec<String> {
        cluster::turn(&self.server);
        let mut broken = self.laws.judge(&self.server, None);
        self.processes[leader].hear_all();
        tokio::time::advance(LULL).await;
        self.processes[leader].drive().await;
        while broken.is_empty()
            && (self.processes[leader].works() > 0 || self.processes[leader].begin().await)
        {
            broken.extend(self.answer(leader, 0, None).await);
            self.processes[leader].hear_all();
        }
        broken
    }

    /// A leader that starts where all is well writes nothing. What a stranger did too often stands for a while,
    /// which the next leader does not know.
    async fn restart(&mut self, leader: usize) -> Vec<String> {
        if self.facts.harmed {
            return Vec::new();
        }
        self.processes[leader] = self.started(leader);
        self.holder = None;
        self.lead(leader).await;
        self.server.log();
        let broken = self.round(leader).await;
        let log = self.server.log().into_iter();
        let writes = log.filter(|line| !line.starts_with("GET") && !line.ends_with("dryRun"));
        let told = writes.map(|write| format!("a new leader where all is well: {write}"));
        broken.into_iter().chain(told).collect()
    }
}
