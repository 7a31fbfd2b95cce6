//! Random schedules of replicas that look after the certificates together, and what API servers that
//! lag behind see of it.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proptest::prelude::*;

use super::plan;
use crate::certificate::Certificate;
use crate::directory::{TlsFiles, next_files};
use crate::issue::{self, Lifetimes};
use crate::store::Stored;
use crate::trust::{self, StandingSince, held_by_all};

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);
/// Short lives, so that a schedule of an hour sees several of each.
const LIFETIMES: Lifetimes = Lifetimes {
    authority: Duration::from_mins(40),
    leaf: Duration::from_mins(12),
};
/// The slowest API server sees a `caBundle` this long after it was written.
const LAG: Duration = Duration::from_secs(50);
/// A replica is never away for longer.
const AWAY: Duration = Duration::from_mins(2);
const HOST: &str = "127.0.0.1";

/// Where a leader is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Never,
    BeforeAnyBundle,
    BetweenBundles,
}

#[derive(Clone, Debug)]
struct Step {
    pause: Duration,
    /// Whether the other replica takes over; the old leader does not know for this one step.
    takes_over: bool,
    /// Which of them is busy or cut off.
    away: [bool; 2],
    /// Whether whoever leads is killed while it writes.
    cut: Cut,
    /// How far the clock of the API servers jumps, in seconds.
    jump: i64,
}

#[derive(Default)]
struct Replica {
    files: Option<TlsFiles>,
    standing: StandingSince,
    last: Duration,
}

/// The cluster, `elapsed` after its beginning.
struct World {
    began: Instant,
    elapsed: Duration,
    /// What the API servers' clock is wrong by, in seconds.
    wrong: i64,
    secret: Stored,
    bundles: [String; 2],
    /// When each bundle was written, of each configuration.
    written: [VecDeque<(Duration, String)>; 2],
    replicas: [Replica; 2],
    leader: usize,
    issued: (usize, usize),
}

impl World {
    /// Everything stands and is known everywhere.
    fn new() -> Self {
        let mut world = Self {
            began: Instant::now(),
            elapsed: Duration::ZERO,
            wrong: 0,
            secret: Stored::default(),
            bundles: Default::default(),
            written: Default::default(),
            replicas: Default::default(),
            leader: 0,
            issued: (0, 0),
        };
        world.act(0, true, Cut::Never);
        world.act(1, false, Cut::Never);
        world.elapsed = LAG;
        world
    }

    /// What time the API servers take it for.
    fn now(&self) -> SystemTime {
        let right = UNIX_EPOCH + 20_000 * DAY + self.elapsed;
        let wrong = Duration::from_secs(self.wrong.unsigned_abs());
        if self.wrong < 0 {
            right - wrong
        } else {
            right + wrong
        }
    }

    fn step(&mut self, step: &Step) {
        self.elapsed += step.pause;
        self.wrong += step.jump;
        let before = self.leader;
        if step.takes_over {
            self.leader = 1 - before;
        }
        for (index, away) in step.away.into_iter().enumerate() {
            let since = self.elapsed.saturating_sub(self.replicas[index].last);
            let leads = index == self.leader || index == before;
            if away && since < AWAY {
                continue;
            }
            self.act(
                index,
                leads,
                if since < AWAY { step.cut } else { Cut::Never },
            );
        }
    }

    fn act(&mut self, index: usize, leads: bool, cut: Cut) {
        let (now, names) = (self.now(), vec![HOST.to_owned()]);
        let at = self.began + self.elapsed;
        if leads {
            let held = self.held();
            self.replicas[index].standing.observe(&held, at);
            let plan = plan(now, &self.secret, &names, &self.replicas[index].standing);
            self.issued.0 += usize::from(plan.authority.is_some());
            self.issued.1 += usize::from(plan.leaf.is_some());
            self.secret = issue::carry_out(&plan, &self.secret, &names, LIFETIMES, now).unwrap();
            let reached = match cut {
                Cut::BeforeAnyBundle => 0,
                Cut::BetweenBundles => 1,
                Cut::Never => 2,
            };
            for configuration in 0..reached {
                self.publish(configuration, self.secret.bundle(now));
            }
        }
        let killed = leads && cut != Cut::Never;
        if killed || !leads {
            self.replicas[index].standing = StandingSince::default();
        }
        if killed {
            return;
        }
        self.replicas[index].last = self.elapsed;
        let current = self.replicas[index].files.take();
        let files = next_files(current.as_ref(), &self.secret, &self.held(), &names, now);
        self.replicas[index].files = files.or(current);
    }

    fn publish(&mut self, configuration: usize, bundle: String) {
        if self.bundles[configuration] != bundle {
            self.bundles[configuration].clone_from(&bundle);
            self.written[configuration].push_back((self.elapsed, bundle));
        }
    }

    /// The CAs in both configurations.
    fn held(&self) -> Vec<Certificate> {
        held_by_all(&self.bundles)
    }

    /// A leaf that is served while an API server, at whatever lag, does not accept it.
    fn refused(&mut self) -> Option<String> {
        let horizon = self.elapsed.saturating_sub(LAG);
        let now = self.now();
        for written in &mut self.written {
            // The last one that the slowest server must have seen stays.
            while written.get(1).is_some_and(|(at, _)| *at <= horizon) {
                written.pop_front();
            }
        }
        for (index, replica) in self.replicas.iter().enumerate() {
            let served = replica.files.as_ref().map(|files| &files.certificate);
            let chain: Vec<_> = Certificate::read_all(served?.as_bytes())
                .unwrap()
                .into_iter()
                .map(|certificate| certificate.der().clone())
                .collect();
            for (_, bundle) in self.written.iter().flatten() {
                let bundle = held_by_all(&[bundle]);
                if let Err(error) = trust::verify(&chain, &bundle, HOST, now) {
                    let at = self.elapsed.as_secs();
                    return Some(format!("replica {index} after {at} s: {error}"));
                }
            }
        }
        None
    }
}

fn steps(jump: impl Strategy<Value = i64> + Clone) -> impl Strategy<Value = Vec<Step>> {
    let cut = prop_oneof![
        18 => Just(Cut::Never),
        1 => Just(Cut::BeforeAnyBundle),
        1 => Just(Cut::BetweenBundles),
    ];
    let away = prop::array::uniform2(prop::bool::weighted(0.3));
    let step = (1..=25_u64, prop::bool::weighted(0.08), away, cut, jump);
    let step = step.prop_map(|(pause, takes_over, away, cut, jump)| Step {
        pause: Duration::from_secs(pause),
        takes_over,
        away,
        cut,
        jump,
    });
    prop::collection::vec(step, 1..=300)
}

/// Now and then the clock jumps by up to two years, forward or back.
fn jumps() -> impl Strategy<Value = i64> + Clone {
    let years = 2 * 365 * 24 * 3600_i64;
    prop_oneof![
        40 => Just(0_i64),
        1 => -years..years,
        1 => -3600..3600_i64,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Whoever leads, is away or is killed between two writes.
    // Proves: X-012
    #[test]
    fn no_replica_ever_serves_a_leaf_that_the_slowest_api_server_does_not_trust(
        steps in steps(Just(0_i64)),
    ) {
        let mut world = World::new();
        for step in &steps {
            world.step(step);
            let refused = world.refused();
            prop_assert!(refused.is_none(), "{}", refused.unwrap_or_default());
        }
        let (authorities, leaves) = world.issued;
        if world.elapsed > LIFETIMES.authority {
            prop_assert!(authorities >= 2 && leaves >= 4, "{:?}", world.issued);
        }
        prop_assert!(world.secret.authorities.len() <= 3);
    }

    /// The clock that certificates are judged by may jump anywhere: once everybody has seen what
    /// followed, everything is accepted again, and nobody has to lend a hand.
    // Proves: X-012
    #[test]
    fn after_the_clock_jumped_everything_is_accepted_again_by_itself(steps in steps(jumps())) {
        let mut world = World::new();
        let mut jumped = Duration::ZERO;
        for step in &steps {
            if step.jump != 0 {
                jumped = world.elapsed + step.pause;
            }
            world.step(step);
            // A leader comes by, each API server sees what it published, each replica takes it over.
            if world.elapsed.saturating_sub(jumped) > AWAY + LAG + AWAY + MINUTE {
                let refused = world.refused();
                prop_assert!(refused.is_none(), "{}", refused.unwrap_or_default());
            }
        }
        let jumps = steps.iter().filter(|step| step.jump != 0).count();
        prop_assert!(world.secret.authorities.len() <= 3 + jumps);
    }
}
