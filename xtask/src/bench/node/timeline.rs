//! What a claim waits for until it is Bound, one part after the other. Pure.

use std::time::{Duration, Instant};

/// A part of the way, called after who or what is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The API server, with our webhook and policy.
    Admission,
    /// Our controller: the baseline, the claim's policy, Service and Deployment.
    Reconcile,
    /// The Deployment's and the ReplicaSet's controllers.
    Replica,
    /// The scheduler.
    Schedule,
    /// The kubelet: network, container, and seeing that it runs.
    Kubelet,
    /// The readiness probe, and the kubelet telling of it.
    Probe,
    /// Our controller: addresses.
    Publish,
}

impl Part {
    /// In the order in which they come.
    pub const ALL: [Self; 7] = [
        Self::Admission,
        Self::Reconcile,
        Self::Replica,
        Self::Schedule,
        Self::Kubelet,
        Self::Probe,
        Self::Publish,
    ];

    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admission => "admission",
            Self::Reconcile => "reconcile",
            Self::Replica => "replica",
            Self::Schedule => "schedule",
            Self::Kubelet => "kubelet",
            Self::Probe => "probe",
            Self::Publish => "publish",
        }
    }

    /// How its end is seen.
    pub fn end(self) -> &'static str {
        match self {
            Self::Admission => "the create is answered",
            Self::Reconcile => "the Deployment is there",
            Self::Replica => "the pod is there",
            Self::Schedule => "the pod has a node",
            Self::Kubelet => "the container runs",
            Self::Probe => "the pod is ready",
            Self::Publish => "the claim is Bound, with addresses",
        }
    }

    /// Whether it is ours, and not Kubernetes'.
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Admission | Self::Reconcile | Self::Publish)
    }
}

/// When one part of one claim began and ended, since the create was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Which part.
    pub part: Part,
    /// When the one before it ended.
    pub from: Duration,
    /// When it ended.
    pub to: Duration,
}

impl Span {
    /// How long it took.
    pub fn length(&self) -> Duration {
        self.to.saturating_sub(self.from)
    }
}

/// All parts of one claim, without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline(Vec<Span>);

impl Timeline {
    /// Splits the time since `sent` by when each part was seen to end; nothing if one was not.
    ///
    /// Different watches may tell of two ends in the wrong order: the later part then took no time.
    pub fn split(sent: Instant, seen: impl Fn(Part) -> Option<Instant>) -> Option<Self> {
        let mut from = Duration::ZERO;
        let spans = Part::ALL.into_iter().map(|part| {
            let to = seen(part)?.saturating_duration_since(sent).max(from);
            let span = Span { part, from, to };
            from = to;
            Some(span)
        });
        spans.collect::<Option<Vec<_>>>().map(Self)
    }

    /// In order.
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// From the create to Bound.
    pub fn whole(&self) -> Duration {
        self.0.last().map_or(Duration::ZERO, |span| span.to)
    }

    /// How long this part took.
    pub fn of(&self, part: Part) -> Duration {
        let spans = self.0.iter().filter(|span| span.part == part);
        spans.map(Span::length).sum()
    }

    /// How long our own parts took together.
    pub fn ours(&self) -> Duration {
        let ours = self.0.iter().filter(|span| span.part.is_ours());
        ours.map(Span::length).sum()
    }
}

/// The one that half of them do not exceed, as the 50th percentile.
pub fn median(timelines: &[Timeline]) -> Option<&Timeline> {
    let mut sorted: Vec<&Timeline> = timelines.iter().collect();
    sorted.sort_by_key(|timeline| timeline.whole());
    sorted
        .get(sorted.len().div_ceil(2).saturating_sub(1))
        .copied()
}

#[cfg(test)]
pub mod tests {
    use rstest::rstest;

    use super::*;

    /// A claim whose parts ended at these milliseconds.
    pub fn ended(ends: [u64; 7]) -> Timeline {
        let sent = Instant::now();
        let end = |part| {
            let (_, end) = Part::ALL
                .iter()
                .zip(ends)
                .find(|(each, _)| **each == part)?;
            Some(sent + Duration::from_millis(end))
        };
        Timeline::split(sent, end).unwrap()
    }

    #[rstest]
    #[case::in_order([5, 40, 60, 70, 900, 1000, 1010], [5, 35, 20, 10, 830, 100, 10], 50)]
    #[case::the_deployment_was_told_of_before_the_answer(
        [40, 5, 60, 70, 900, 1000, 1010],
        [40, 0, 20, 10, 830, 100, 10],
        50
    )]
    #[case::ready_and_running_at_once([5, 40, 60, 70, 900, 900, 900], [5, 35, 20, 10, 830, 0, 0], 40)]
    fn parts_follow_each_other_without_a_gap(
        #[case] ends: [u64; 7],
        #[case] lengths: [u64; 7],
        #[case] ours: u64,
    ) {
        let timeline = ended(ends);
        let found = Part::ALL.map(|part| timeline.of(part));
        assert_eq!(found, lengths.map(Duration::from_millis));
        assert_eq!(found.iter().sum::<Duration>(), timeline.whole());
        assert_eq!(timeline.ours(), Duration::from_millis(ours));
    }

    #[test]
    fn a_claim_with_a_part_that_nobody_saw_has_no_timeline() {
        let sent = Instant::now();
        let seen = |part| (part != Part::Schedule).then_some(sent);
        assert_eq!(Timeline::split(sent, seen), None);
    }

    #[rstest]
    #[case::none(&[], None)]
    #[case::one(&[7], Some(7))]
    #[case::of_two_the_shorter(&[9, 7], Some(7))]
    #[case::of_three_the_middle(&[9, 7, 8], Some(8))]
    fn the_median_claim_is_one_of_them(#[case] wholes: &[u64], #[case] expected: Option<u64>) {
        let all: Vec<Timeline> = wholes.iter().map(|end| ended([*end; 7])).collect();
        let found = median(&all).map(Timeline::whole);
        assert_eq!(found, expected.map(Duration::from_millis));
    }
}
