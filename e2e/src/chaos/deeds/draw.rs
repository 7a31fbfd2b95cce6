//! Which deeds a seed draws, and when. Pure.

use std::time::Duration;

use fastrand::Rng;

use super::{
    Blow, CLASSES, CONTROLLERS, Credential, DOOMED, Deed, Harm, MISSING_CLASS, RUNTIMES, SCENES,
    Wanted,
};
use crate::chaos::history::Kind;
use crate::fake_node::Stage;

/// Sessions of each namespace; claims of one session are of one or both runtimes.
const SESSIONS: usize = 3;

/// All that is done with one seed: each deed after a pause.
pub fn script(seed: u64, length: u32) -> Vec<(Duration, Deed)> {
    let mut rng = Rng::with_seed(seed);
    let mut claims = 0;
    // Once there is something in it, and while there is much to come.
    let leaves = rng.u32(length / 3..=length * 2 / 3);
    (0..length)
        .map(|number| {
            let pause = Duration::from_millis(rng.u64(20..400));
            let deed = if number == leaves {
                Deed::Leave { scene: DOOMED }
            } else {
                draw(&mut rng, &mut claims)
            };
            (pause, deed)
        })
        .collect()
}

fn draw(rng: &mut Rng, claims: &mut usize) -> Deed {
    let scene = rng.usize(..SCENES);
    let chosen = rng.u8(..100);
    if *claims < 3 || chosen < 40 {
        *claims += 1;
        return Deed::Claim(wanted(rng, scene, *claims - 1));
    }
    let claim = rng.usize(..*claims);
    match chosen {
        40..55 => Deed::Unclaim(claim),
        55..61 => Deed::Ceilings {
            scene,
            runtime: one_of(rng, &RUNTIMES),
            concurrent: ceiling(rng, 5),
            per_session: ceiling(rng, 3),
        },
        61..65 => Deed::Class {
            scene,
            class: one_of(rng, &CLASSES).0,
            value: rng.u32(..),
        },
        65..69 => Deed::Credential {
            scene,
            what: one_of(rng, &[Credential::Connection, Credential::Secret]),
            gone: rng.bool(),
        },
        69..76 => Deed::Stray {
            claim,
            kind: one_of(rng, &[Kind::Policy, Kind::Service, Kind::Deployment]),
            harm: harm(rng),
        },
        76..82 => Deed::Baseline {
            scene,
            harm: harm(rng),
        },
        82..90 => Deed::Pods {
            claim,
            stage: one_of(rng, &[Stage::LostReadiness, Stage::Ready, Stage::Evicted]),
        },
        90..97 => Deed::Controller {
            which: rng.usize(..CONTROLLERS),
            blow: match rng.u8(..4) {
                0 | 1 => Blow::Kill,
                // Shorter than the others notice, or longer than a Lease lasts: in between nobody can
                // tell what one that goes on still knows.
                2 => Blow::End,
                _ if rng.bool() => Blow::Hold(Duration::from_millis(rng.u64(200..2000))),
                _ => Blow::Hold(Duration::from_secs(17)),
            },
        },
        _ => Deed::Away(Duration::from_millis(rng.u64(100..2000))),
    }
}

fn wanted(rng: &mut Rng, scene: usize, number: usize) -> Wanted {
    let class = match rng.u8(..20) {
        0 => MISSING_CLASS,
        _ => one_of(rng, &CLASSES).0,
    };
    let in_the_way =
        (rng.u8(..12) == 0).then(|| one_of(rng, &[Kind::Policy, Kind::Service, Kind::Deployment]));
    Wanted {
        scene,
        name: format!("claim-{number}"),
        runtime: one_of(rng, &RUNTIMES),
        class,
        session: format!("session-{}", rng.usize(..SESSIONS)),
        most: (rng.u8(..6) == 0).then(|| rng.u32(1..3)),
        in_the_way,
    }
}

fn ceiling(rng: &mut Rng, most: u32) -> Option<u32> {
    (rng.u8(..6) != 0).then(|| rng.u32(..=most))
}

fn harm(rng: &mut Rng) -> Harm {
    one_of(rng, &[Harm::Edit, Harm::Delete])
}

#[allow(
    clippy::indexing_slicing,
    reason = "each caller's list has an entry, and the index is below its length"
)]
fn one_of<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.usize(..all.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_tells_the_same_story_and_another_seed_another_one() {
        assert_eq!(script(7, 200), script(7, 200));
        assert_ne!(script(7, 200), script(8, 200));
    }

    #[test]
    fn one_namespace_is_deleted_in_every_story_and_in_its_middle() {
        for seed in 0..200 {
            let script = script(seed, 90);
            let leaves = script.iter().map(|(_, deed)| deed);
            let leaves = leaves.enumerate().filter_map(|(number, deed)| match deed {
                Deed::Leave { scene } => Some((number, *scene)),
                _ => None,
            });
            let leaves: Vec<_> = leaves.collect();
            let [(30..=60, DOOMED)] = leaves[..] else {
                panic!("seed {seed}: {leaves:?}");
            };
        }
    }
}
