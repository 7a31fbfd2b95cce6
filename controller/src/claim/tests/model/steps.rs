//! What may happen next, and how a story of it is drawn.

use std::collections::BTreeSet;

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest_state_machine::ReferenceStateMachine;

use super::people::{CLAIMS, Class, Deed, Fate, Part, Source as Comes};
use crate::watch::Source;

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The API server is not there.
    Down,
    /// It is carried out, and nobody says so.
    AnswerLost,
    /// The object changed, says the API server.
    Conflict,
}

/// One step of a story. `who` is one of two processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Somebody does something.
    Deed(Deed),
    /// The cluster's own controllers look once.
    Cluster,
    /// A watch of a process tells the next events.
    Hear {
        who: usize,
        source: Source,
        events: usize,
    },
    /// All watches of a process are up to date.
    HearAll { who: usize },
    /// A watch begins anew, with a list that may be old.
    List {
        who: usize,
        source: Source,
        behind: usize,
    },
    /// A process begins to look at what is next.
    Begin { who: usize },
    /// So many requests of a process have their answers; the last one has trouble.
    Answer {
        who: usize,
        which: usize,
        requests: usize,
        trouble: Option<Trouble>,
    },
    /// A process looks at what is next, undisturbed, so many times.
    Work { who: usize, looks: usize },
    /// A process works until a claim's status is being written.
    WorkUpToAStatus { who: usize },
    /// A process looks at all that is next, while what it began first has no answer.
    WorkAround { who: usize },
    /// A process is killed and started again.
    Kill { who: usize },
    /// A process takes the Lease; whoever had it goes on until it notices.
    Lead { who: usize },
    /// A process notices that its term is over.
    Resign { who: usize },
    /// Time goes by: what waits for an answer gives up.
    Lull,
}

/// What a story has come to, as far as the next step may depend on it.
#[derive(Clone, Debug, Default)]
pub struct Story {
    claims: BTreeSet<usize>,
}

impl ReferenceStateMachine for Story {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::default()).boxed()
    }

    fn transitions(story: &Self) -> BoxedStrategy<Step> {
        if story.claims.is_empty() {
            return make().prop_map(Step::Deed).boxed();
        }
        let there: Vec<usize> = story.claims.iter().copied().collect();
        prop_oneof![
            5 => make().prop_map(Step::Deed),
            7 => deed(&there).prop_map(Step::Deed),
            6 => Just(Step::Cluster),
            4 => (who(), source(), 1..4_usize)
                .prop_map(|(who, source, events)| Step::Hear { who, source, events }),
            6 => who().prop_map(|who| Step::HearAll { who }),
            1 => (who(), source(), 0..12_usize)
                .prop_map(|(who, source, behind)| Step::List { who, source, behind }),
            6 => who().prop_map(|who| Step::Begin { who }),
            10 => (who(), 0..3_usize, 1..9_usize, option::weighted(0.4, trouble()))
                .prop_map(|(who, which, requests, trouble)| {
                    Step::Answer { who, which, requests, trouble }
                }),
            5 => (who(), 1..4_usize).prop_map(|(who, looks)| Step::Work { who, looks }),
            1 => who().prop_map(|who| Step::Kill { who }),
            2 => who().prop_map(|who| Step::Lead { who }),
            1 => who().prop_map(|who| Step::Resign { who }),
            1 => Just(Step::Lull),
        ]
        .boxed()
    }

    fn apply(mut story: Self, step: &Step) -> Self {
        match step {
            Step::Deed(Deed::Make { claim, .. }) => {
                story.claims.insert(*claim);
            }
            Step::Deed(Deed::Unmake { claim, .. }) => {
                story.claims.remove(claim);
            }
            _ => {}
        }
        story
    }

    /// Nothing is done to a claim that was never made.
    fn preconditions(story: &Self, step: &Step) -> bool {
        match step {
            Step::Deed(
                Deed::Remake { claim, .. }
                | Deed::Unmake { claim, .. }
                | Deed::Harm { claim, .. }
                | Deed::Pods { claim, .. },
            ) => story.claims.contains(claim),
            _ => true,
        }
    }
}

/// The first one leads more often than not: what two do at once is the exception.
fn who() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(0_usize), 1 => Just(1_usize)]
}

fn source() -> impl Strategy<Value = Source> {
    select(Source::ALL.to_vec())
}

fn trouble() -> impl Strategy<Value = Trouble> {
    select(vec![
        Trouble::Down,
        Trouble::AnswerLost,
        Trouble::AnswerLost,
        Trouble::Conflict,
    ])
}

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![4 => Just(Class::Quick), 1 => Just(Class::Stuck), 2 => Just(Class::Wired)]
}

fn part() -> impl Strategy<Value = Part> {
    select(vec![Part::Policy, Part::Service, Part::Deployment])
}

fn comes() -> impl Strategy<Value = Comes> {
    select(vec![Comes::Connection, Comes::Secret])
}

fn make() -> impl Strategy<Value = Deed> {
    let most = option::weighted(0.2, 1..3_u32);
    (0..CLAIMS.len(), 0..2_usize, class(), most).prop_map(|(claim, session, class, most)| {
        Deed::Make {
            claim,
            session,
            class,
            most,
        }
    })
}

fn deed(there: &[usize]) -> impl Strategy<Value = Deed> + use<> {
    let claim = || select(there.to_vec());
    let limit = (
        option::weighted(0.9, 0..4_u32),
        option::weighted(0.3, 0..3_u32),
    );
    prop_oneof![
        6 => (claim(), any::<bool>()).prop_map(|(claim, at_once)| Deed::Unmake { claim, at_once }),
        6 => (claim(), 0..2_usize, class())
            .prop_map(|(claim, session, class)| Deed::Remake { claim, session, class }),
        8 => limit.prop_map(|(concurrent, per_session)| Deed::Limit { concurrent, per_session }),
        2 => (class(), 1..9_u32).prop_map(|(class, value)| Deed::EditClass { class, value }),
        1 => class().prop_map(Deed::TakeClass),
        2 => comes().prop_map(Deed::Give),
        3 => comes().prop_map(Deed::Take),
        4 => (claim(), part(), any::<bool>())
            .prop_map(|(claim, part, deletes)| Deed::Harm { claim, part, deletes }),
        2 => any::<bool>().prop_map(|deletes| Deed::HarmBaseline { deletes }),
        1 => (0..CLAIMS.len(), part()).prop_map(|(claim, part)| Deed::Obstruct { claim, part }),
        4 => (claim(), select(vec![Fate::Ready, Fate::Unready, Fate::Finished, Fate::Deleted]))
            .prop_map(|(claim, fate)| Deed::Pods { claim, fate }),
    ]
}
