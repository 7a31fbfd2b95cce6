//! Which deeds a seed draws, and when. Pure.

use std::time::Duration;

use fastrand::Rng;

use super::{
    Blow, CLASSES, CONTROLLERS, DOOMED, Deed, HOSTS, Harm, MISSING_CLASS, Part, RUNTIMES, SCENES,
    Source, WIRED, Wanted,
};
use crate::fake_node::Stage;

/// Sessions of each namespace; claims of one session are of one or both runtimes.
const SESSIONS: usize = 3;

/// Claims that were drawn, by number.
#[derive(Default)]
struct Drawn {
    claims: usize,
    /// Those of them that bind Connections.
    wired: Vec<usize>,
}

/// All that is done with one seed: each deed after a pause.
pub fn script(seed: u64, length: u32) -> Vec<(Duration, Deed)> {
    let mut rng = Rng::with_seed(seed);
    let mut drawn = Drawn::default();
    // Once there is something in it, and while there is much to come.
    let leaves = rng.u32(length / 3..=length * 2 / 3);
    (0..length)
        .map(|number| {
            let pause = Duration::from_millis(rng.u64(20..400));
            let deed = if number == leaves {
                Deed::Leave { scene: DOOMED }
            } else {
                draw(&mut rng, &mut drawn)
            };
            (pause, deed)
        })
        .collect()
}

fn draw(rng: &mut Rng, drawn: &mut Drawn) -> Deed {
    let scene = rng.usize(..SCENES);
    let chosen = rng.u8(..128);
    if drawn.claims < 3 || chosen < 48 {
        let wanted = wanted(rng, scene, drawn.claims);
        if wanted.class == WIRED {
            drawn.wired.push(drawn.claims);
        }
        drawn.claims += 1;
        return Deed::Claim(wanted);
    }
    let claim = rng.usize(..drawn.claims);
    match chosen {
        48..63 => Deed::Unclaim(claim),
        63..69 => Deed::Ceilings {
            scene,
            runtime: one_of(rng, &RUNTIMES),
            concurrent: ceiling(rng, 5),
            per_session: ceiling(rng, 3),
        },
        69..73 => Deed::Class {
            scene,
            class: one_of(rng, &CLASSES).0,
            value: rng.u32(..),
        },
        73..79 => Deed::Source {
            scene,
            what: one_of(rng, &[Source::Forge, Source::Token, Source::Site]),
            gone: rng.bool(),
        },
        79..85 => Deed::Hosts {
            scene,
            what: one_of(rng, &[Source::Forge, Source::Site]),
            hosts: hosts(rng),
        },
        85..92 => stray(rng, claim, Part::Sandbox),
        92..100 if !drawn.wired.is_empty() => {
            let claim = one_of(rng, &drawn.wired);
            stray(rng, claim, Part::Proxy)
        }
        92..106 => Deed::Baseline {
            scene,
            harm: harm(rng),
        },
        106..114 => Deed::Pods {
            claim,
            stage: one_of(rng, &[Stage::LostReadiness, Stage::Ready, Stage::Evicted]),
        },
        114..118 => Deed::PodsGo {
            claim,
            part: one_of(rng, &[Part::Sandbox, Part::Proxy]),
        },
        118..125 => Deed::Controller {
            which: rng.usize(..CONTROLLERS),
            blow: blow(rng),
        },
        _ => Deed::Away(Duration::from_millis(rng.u64(100..2000))),
    }
}

/// Shorter than the others notice, or longer than a Lease lasts: in between nobody can tell what one that
/// goes on still knows.
fn blow(rng: &mut Rng) -> Blow {
    match rng.u8(..4) {
        0 | 1 => Blow::Kill,
        2 => Blow::End,
        _ if rng.bool() => Blow::Hold(Duration::from_millis(rng.u64(200..2000))),
        _ => Blow::Hold(Duration::from_secs(17)),
    }
}

fn stray(rng: &mut Rng, claim: usize, part: Part) -> Deed {
    Deed::Stray {
        claim,
        part,
        kind: one_of(rng, part.kinds()),
        harm: harm(rng),
    }
}

/// One of them at least, as the API has it.
fn hosts(rng: &mut Rng) -> Vec<&'static str> {
    let always = rng.usize(..HOSTS.len());
    let all = HOSTS.into_iter().enumerate();
    let named = all.filter(|(number, _)| *number == always || rng.u8(..3) == 0);
    named.map(|(_, host)| host).collect()
}

fn wanted(rng: &mut Rng, scene: usize, number: usize) -> Wanted {
    let class = match rng.u8(..20) {
        0 => MISSING_CLASS,
        1..4 => WIRED,
        _ => one_of(rng, &CLASSES).0,
    };
    let in_the_way = (rng.u8(..12) == 0).then(|| {
        let part = match class {
            WIRED => one_of(rng, &[Part::Sandbox, Part::Proxy]),
            _ => Part::Sandbox,
        };
        (part, one_of(rng, part.kinds()))
    });
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
