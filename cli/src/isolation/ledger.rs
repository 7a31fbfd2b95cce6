//! What arrived where, as the receivers logged it: stronger evidence than a sender's own view, and
//! the only evidence of a sender that can no longer speak. Pure.

use std::collections::{BTreeMap, BTreeSet};

use sandgate_probe::line::Contact;

/// Arrivals by sender and label.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Why something may have arrived and not be here.
    pub missing: Option<String>,
    run: String,
    arrivals: BTreeMap<String, BTreeMap<String, BTreeSet<i64>>>,
}

/// What a sender of a run calls itself: receivers outside hear those of other runs, too.
pub fn signed(run: &str, sender: &str) -> String {
    format!("{run}/{sender}")
}

impl Ledger {
    /// Of a run.
    pub fn of_run(run: &str) -> Self {
        Self {
            run: run.to_owned(),
            ..Self::default()
        }
    }

    /// Takes in one contact, however often it is told, unless it is of another run or of somebody who
    /// said nothing.
    pub fn enter(&mut self, contact: &Contact) {
        let said = contact.said.trim_end();
        let ours = said
            .strip_prefix(&self.run)
            .and_then(|rest| rest.strip_prefix('/'));
        if let Some((sender, label)) = ours.and_then(|said| said.split_once('>')) {
            let of_sender = self.arrivals.entry(sender.to_owned()).or_default();
            let times = of_sender.entry(label.to_owned()).or_default();
            times.insert(contact.at_us.cast_signed());
        }
    }

    /// When something of this sender arrived for this label, in Unix microseconds, in order.
    pub fn times(&self, sender: &str, label: &str) -> impl Iterator<Item = i64> {
        let of_sender = self.arrivals.get(sender);
        let times = of_sender.and_then(|labels| labels.get(label));
        times.into_iter().flatten().copied()
    }

    /// Whether anything of this sender arrived for this label.
    pub fn heard(&self, sender: &str, label: &str) -> bool {
        self.times(sender, label).next().is_some()
    }
}

/// When something arrived: a few figures over many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// How many.
    pub count: u64,
    /// The first, in microseconds.
    pub first: i64,
    /// The last.
    pub last: i64,
    /// The longest time between two that followed each other.
    pub gap: i64,
}

impl Span {
    /// Of these times, in any order.
    pub fn of(times: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut times: Vec<i64> = times.into_iter().collect();
        times.sort_unstable();
        let (first, last) = (*times.first()?, *times.last()?);
        let gaps = times.iter().zip(times.iter().skip(1));
        Some(Self {
            count: times.len() as u64,
            first,
            last,
            gap: gaps.map(|(one, next)| next - one).max().unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contact(at_us: u64, said: &str) -> Contact {
        Contact {
            at_us,
            contact: sandgate_probe::line::Protocol::Tcp,
            port: 8080,
            from: "10.0.0.9".to_owned(),
            to: None,
            said: said.to_owned(),
        }
    }

    #[test]
    fn arrivals_are_kept_by_who_sent_them_and_where_to() {
        let mut ledger = Ledger::of_run("run");
        for (at, said) in [
            (5, "run/a>forbidden-pod-tcp\n"),
            (5, "run/a>forbidden-pod-tcp\n"),
            (3, "run/a>forbidden-pod-tcp"),
            (4, "run/b>forbidden-pod-tcp"),
            (6, "earlier/a>forbidden-pod-tcp"),
            (6, "c>forbidden-pod-tcp"),
            (6, ""),
            (7, "GET / HTTP/1.1"),
        ] {
            ledger.enter(&contact(at, said));
        }
        let times = |sender| {
            ledger
                .times(sender, "forbidden-pod-tcp")
                .collect::<Vec<_>>()
        };
        assert_eq!(times("a"), [3, 5]);
        assert_eq!(times("b"), [4]);
        assert!(!ledger.heard("c", "forbidden-pod-tcp"));
    }

    #[test]
    fn a_span_knows_the_longest_silence_within_it() {
        let span = Span::of([90, 10, 20, 70]).unwrap();
        assert_eq!(
            span,
            Span {
                count: 4,
                first: 10,
                last: 90,
                gap: 50
            }
        );
        assert_eq!(Span::of([]), None);
    }
}
