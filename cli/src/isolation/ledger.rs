//! What arrived where, as the receivers logged it: stronger evidence than a sender's own view, and
//! the only evidence of a sender that can no longer speak. Pure.

use std::collections::{BTreeMap, BTreeSet};

use sandgate_probe::line::Contact;

/// Arrivals by sender and label.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Why something may have arrived and not be here.
    pub missing: Option<String>,
    arrivals: BTreeMap<String, BTreeMap<String, BTreeSet<i64>>>,
}

impl Ledger {
    /// Takes in one contact, however often it is told; whoever said nothing is nobody of ours.
    pub fn enter(&mut self, contact: &Contact) {
        if let Some((sender, label)) = contact.said.trim_end().split_once('>') {
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
        let mut ledger = Ledger::default();
        for (at, said) in [
            (5, "a>forbidden-pod-tcp\n"),
            (5, "a>forbidden-pod-tcp\n"),
            (3, "a>forbidden-pod-tcp"),
            (4, "b>forbidden-pod-tcp"),
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
