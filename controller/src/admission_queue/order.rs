//! Whose turn it is. Pure.

use std::collections::{BTreeSet, HashMap};

use sandgate_shared::api::outside::Ceiling;

use super::{Admission, Ceilings, Limit, Seat, Standing};

/// Decides about all claims of one runtime that wait, by UID. `promised`: those that are being admitted
/// at this moment, whose place is taken already; they are not decided upon again.
pub fn decide(
    seats: &[Seat],
    ceilings: &Ceilings,
    promised: &BTreeSet<String>,
) -> HashMap<String, Admission> {
    let mut taken = Taken::default();
    let mut waiting: Vec<&Seat> = Vec::new();
    for seat in seats {
        match seat.standing {
            Standing::Admitted => taken.take(seat),
            _ if promised.contains(&seat.uid) => taken.take(seat),
            Standing::Waiting => waiting.push(seat),
            Standing::Aside => {}
        }
    }
    // Two claims can be of the same second (Q29).
    waiting
        .sort_by(|one, other| (one.created, &one.key.name).cmp(&(other.created, &other.key.name)));
    let mut decided = HashMap::with_capacity(waiting.len());
    for seat in waiting {
        let admission = if let Some((limit, of)) = taken.holds_back(seat, ceilings) {
            Admission::Held { limit, of }
        } else {
            taken.take(seat);
            if seat.is_limited(ceilings) {
                Admission::Granted
            } else {
                Admission::Unlimited
            }
        };
        decided.insert(seat.uid.clone(), admission);
    }
    decided
}

/// How many places are taken.
#[derive(Default)]
struct Taken<'a> {
    all: u32,
    sessions: HashMap<&'a str, u32>,
    instances: HashMap<(&'a str, &'a str), u32>,
}

impl<'a> Taken<'a> {
    fn take(&mut self, seat: &'a Seat) {
        let one_more = |count: &mut u32| *count = count.saturating_add(1);
        one_more(&mut self.all);
        one_more(self.sessions.entry(&seat.session).or_default());
        if let Some(sandbox) = &seat.sandbox {
            one_more(self.instances.entry((&seat.session, sandbox)).or_default());
        }
    }

    /// The first limit that is reached, and how many it allows.
    fn holds_back(&self, seat: &'a Seat, ceilings: &Ceilings) -> Option<(Limit, Option<u32>)> {
        let session = self.sessions.get(seat.session.as_str());
        let sandbox = seat
            .sandbox
            .as_deref()
            .map(|name| (seat.session.as_str(), name));
        // Without a handle there is nothing to count the instances of (Q8).
        let own = seat.max_instances.filter(|_| sandbox.is_some());
        let instances = sandbox.and_then(|of| self.instances.get(&of));
        let limits = [
            (
                Limit::Instance,
                own.map_or(Ceiling::None, Ceiling::Of),
                instances,
            ),
            (Limit::Session, ceilings.per_session, session),
            (Limit::Runtime, ceilings.concurrent, Some(&self.all)),
        ];
        limits.into_iter().find_map(|(limit, ceiling, taken)| {
            let taken = taken.copied().unwrap_or(0);
            match ceiling {
                Ceiling::None => None,
                Ceiling::Unreadable => Some((limit, None)),
                Ceiling::Of(most) => (taken >= most).then_some((limit, Some(most))),
            }
        })
    }
}
