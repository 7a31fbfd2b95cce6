//! Laws of who is admitted.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Known, Laws};
use crate::api_server::fake::history::Happened;
use crate::claim::tests::model::claims::{Claim, held};
use crate::watch::Source;

impl Laws {
    /// What a limit of the runtime was at any moment that the process may have decided by; `None` is none.
    fn limits(&self, field: &str, known: &Known) -> Vec<Option<u64>> {
        let runtime = |event: &&Happened| event.is("agentruntimes");
        let since = known.since(Source::Runtimes).min(self.history.len());
        let (then, later) = self.history.split_at(since);
        let then = then.iter().rev().find(runtime).into_iter();
        let pointer = format!("/spec/sandbox/{field}");
        let limit = |event: &Happened| event.object.pointer(&pointer).and_then(Value::as_u64);
        then.chain(later.iter().filter(runtime))
            .map(limit)
            .collect()
    }

    /// A limit that is exceeded, however long ago it may have been read.
    pub(super) fn exceeds(&self, claim: Claim<'_>, known: &Known) -> Vec<String> {
        let held = held(&self.standing, claim.session());
        let loosest = |limits: Vec<Option<u64>>| {
            let all: Option<Vec<u64>> = limits.into_iter().collect();
            all.and_then(|all| all.into_iter().max())
        };
        let limits = [
            (
                "maxConcurrent",
                held.all,
                loosest(self.limits("maxConcurrent", known)),
            ),
            (
                "maxPerSession",
                held.of_session,
                loosest(self.limits("maxPerSession", known)),
            ),
            ("maxInstances", held.of_session, claim.most()),
        ];
        let exceeded = limits.into_iter().filter_map(|(field, held, most)| {
            most.filter(|most| held > *most)
                .map(|most| (field, held, most))
        });
        let name = claim.name();
        exceeded
            .map(|(field, held, most)| {
                format!("a ceiling is exceeded: {name} is number {held} of {most} ({field})")
            })
            .collect()
    }

    /// An older claim that the process knew to wait, and that could have had the place, if nothing that it
    /// hangs on has moved since the process began.
    pub(super) fn overtakes(&self, claim: Claim<'_>, known: &Known) -> Option<String> {
        let since = known
            .since(Source::Runtimes)
            .min(known.since(Source::Claims));
        let later = self.history.get(since..).unwrap_or_default();
        let moved = later.iter().any(|event| {
            let over = event.is("sandboxclaims") && !Claim(&event.object).is_live();
            event.is("agentruntimes") || event.gone || over
        });
        let most = self.limits("maxConcurrent", known).pop().flatten()?;
        if moved {
            return None;
        }
        let per_session = self.limits("maxPerSession", known).pop().flatten();
        let mut all = held(&self.standing, claim.session()).all;
        let mut sessions: BTreeMap<&str, u64> = BTreeMap::new();
        for holder in Claim::all(&self.standing).filter(|it| it.holds()) {
            *sessions.entry(holder.session()).or_default() += 1;
        }
        let mut waiting: Vec<Claim<'_>> = Claim::all(&self.standing)
            .filter(|it| it.phase() == "Queued" && it.is_live() && it.turn() < claim.turn())
            .filter(|it| self.was_known(*it, known))
            .collect();
        waiting.sort_by_key(|it| it.turn());
        for waiter in waiting {
            let taken = sessions.entry(waiter.session()).or_default();
            let own = [per_session, waiter.most()].into_iter().flatten().min();
            if own.is_some_and(|own| *taken >= own) {
                continue;
            }
            if all >= most {
                let (name, other) = (claim.name(), waiter.name());
                return Some(format!(
                    "{name} was admitted before {other}, which is older"
                ));
            }
            *taken += 1;
            all += 1;
        }
        None
    }

    /// Whether the process knew of the claim.
    fn was_known(&self, claim: Claim<'_>, known: &Known) -> bool {
        let made = self.history.iter().position(|event| {
            event.is("sandboxclaims") && event.text("/metadata/uid") == claim.uid()
        });
        let since = known.since(Source::Claims).max(known.caught_up);
        made.is_some_and(|made| made < since)
    }
}
