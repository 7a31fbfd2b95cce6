//! What a controller can forget, and stories in which that breaks a law.

use super::people::{Class, Deed};
use super::steps::Step;
use crate::watch::Source;

/// What is forgotten on purpose, to see that it is missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mutant {
    /// Nothing: the controller as it is.
    #[default]
    None,
    /// A new leader relies on its watches for whom the one before admitted.
    NoCatchUp,
    /// Both processes take themselves for the leader for good.
    NoFence,
    /// Each look forgets which admissions are being written.
    NoLedger,
}

/// More than a story has of anything.
const ALL: usize = 99;

fn make(claim: usize, session: usize) -> Step {
    make_one_of(None, claim, session)
}

fn make_one_of(most: Option<u32>, claim: usize, session: usize) -> Step {
    Step::Deed(Deed::Make {
        claim,
        session,
        class: Class::Quick,
        most,
    })
}

fn limit(concurrent: u32, per_session: Option<u32>) -> Step {
    Step::Deed(Deed::Limit {
        concurrent: Some(concurrent),
        per_session,
    })
}

/// Three claims for two places. The second waits for its session, so the third is let in; the other process has
/// not heard of that when the session is opened.
fn three_for_two() -> Vec<Step> {
    vec![
        limit(2, Some(1)),
        make(0, 0),
        make(1, 0),
        Step::HearAll { who: 1 },
        make(2, 1),
        Step::HearAll { who: 0 },
        Step::Work { who: 0, looks: ALL },
        limit(2, None),
    ]
}

fn hears_the_limit(who: usize) -> Step {
    Step::Hear {
        who,
        source: Source::Runtimes,
        events: ALL,
    }
}

/// That process leads from then on.
pub fn a_change_of_leaders() -> Vec<Step> {
    let after = [
        hears_the_limit(1),
        Step::Lead { who: 1 },
        Step::Work { who: 1, looks: ALL },
    ];
    three_for_two().into_iter().chain(after).collect()
}

/// That process led before, and takes itself for the leader still.
pub fn two_leaders() -> Vec<Step> {
    let before = Step::Lead { who: 1 };
    let back = Step::Lead { who: 0 };
    let after = [hears_the_limit(1), Step::Work { who: 1, looks: ALL }];
    let told = three_for_two().into_iter();
    let told = told.flat_map(|step| match step {
        Step::Work { .. } => vec![back.clone(), step],
        step => vec![step],
    });
    [before].into_iter().chain(told).chain(after).collect()
}

/// Three claims for two places. While the admission of the youngest has no answer, the session that the one
/// before it waits for is opened.
pub fn an_admission_under_way() -> Vec<Step> {
    vec![
        limit(2, Some(1)),
        make(0, 0),
        make(1, 0),
        Step::HearAll { who: 0 },
        Step::Work { who: 0, looks: ALL },
        make(2, 1),
        Step::HearAll { who: 0 },
        Step::WorkUpToAStatus { who: 0 },
        limit(2, None),
        hears_the_limit(0),
        Step::WorkAround { who: 0 },
        Step::Work { who: 0, looks: ALL },
    ]
}

/// A claim of a session is being admitted that may have no other beside it, when another one comes.
pub fn one_beside_a_limit(most: Option<u32>) -> Vec<Step> {
    vec![
        make_one_of(Some(1), 0, 0),
        Step::HearAll { who: 0 },
        Step::WorkUpToAStatus { who: 0 },
        make_one_of(most, 1, 0),
        Step::HearAll { who: 0 },
        Step::WorkAround { who: 0 },
        Step::Work { who: 0, looks: ALL },
    ]
}

/// A claim of a session waits to be without any other beside it. The one it waits for goes, and a younger one that
/// waits for nobody is being admitted when its turn comes.
pub fn a_limit_beside_one() -> Vec<Step> {
    vec![
        make(2, 0),
        make_one_of(Some(1), 0, 0),
        Step::HearAll { who: 0 },
        Step::Work { who: 0, looks: ALL },
        Step::Deed(Deed::Unmake {
            claim: 2,
            at_once: true,
        }),
        make(1, 0),
        Step::HearAll { who: 0 },
        Step::WorkUpToAStatus { who: 0 },
        Step::Begin { who: 0 },
        Step::Work { who: 0, looks: ALL },
    ]
}
