//! Random objects of all kinds and random edits of them: what the API server's own rules refuse is
//! what the webhook refuses, for the same reasons. Does I/O.
//!
//! The API server runs rules only on what keeps the schema's bounds, so of rules both must name the
//! same where no bound is broken; where one is, both must refuse.

mod edits;
mod pairs;
mod shrink;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use futures::StreamExt;
use kube::api::{DynamicObject, PostParams};
use sandgate_e2e::binaries::Version;
use sandgate_e2e::installation::Layers;
use sandgate_e2e::{Failure, Namespace, Outcome, OwnCluster, manifests};
use sandgate_shared::corpus::{Case, Who, cases};
use sandgate_shared::render;
use sandgate_shared::rules::Subject;
use serde_json::Value;

use crate::corpus::{Answer, DRY_RUN, Desk, answer, case, named, until};
use crate::layers::cluster_with;
use crate::writers::Writers;
use pairs::{Judged, Pair, Source, called, rules};
use shrink::smaller;

/// Writes of a seed.
const EACH: u64 = 100;

/// Of a hundred writes at least so many are to be admitted.
const LEAST_ADMITTED: usize = 30;

/// Objects of each kind made from its schema and stored before the rules are there.
const STORED: u64 = 20;

/// Writes in flight at once.
const AT_ONCE: usize = 8;

/// So many different differences are explained.
const EXPLAINED: usize = 8;

/// Smaller writes tried for one that is answered differently.
const MOST_TRIED: usize = 2_000;

/// An API server whose rules came after what it stores.
struct Scene {
    _cluster: OwnCluster,
    namespace: Namespace,
    writers: Writers,
    source: Source,
}

/// What became of writes.
#[derive(Default)]
struct Tally {
    written: usize,
    admitted: usize,
    /// Times that the API server named each rule.
    hits: BTreeMap<&'static str, usize>,
    differences: Vec<Pair>,
}

impl Scene {
    async fn set(version: Version) -> Outcome<Self> {
        let cluster = cluster_with(Layers::NONE, version).await?;
        let namespace = cluster.namespace("random").await?;
        let writers = Writers::of(&namespace).await?;
        let cases = cases().map_err(Failure::saying)?;
        let source = Source::new(&cases);
        let stored = store(&Desk::new(&namespace, &writers), &source, &cases).await?;
        manifests::apply(&cluster.client(), &render::crds()).await?;
        let desk = Desk::new(&namespace, &writers);
        for subject in Subject::ALL {
            let breaking = cases.iter().find(|case| {
                let mut broken = case.refused.iter();
                let by_crd = broken.all(|id| rules().contains(&id.as_str()));
                case.subject == subject && case.old.is_none() && !case.refused.is_empty() && by_crd
            });
            let breaking = breaking.expect("a case that a rule of the CRD alone refuses");
            let ask = || desk.answer(0, breaking);
            until("the rules are in force", ask, Option::is_some).await?;
        }
        let source = source.of_stored(&cases, &stored);
        Ok(Self {
            _cluster: cluster,
            namespace,
            writers,
            source,
        })
    }

    fn desk(&self) -> Desk<'_> {
        Desk::new(&self.namespace, &self.writers)
    }

    /// What the API server says of a write by anybody.
    async fn told(&self, pair: &Pair) -> Outcome<Answer> {
        let api = self.desk().api(pair.subject, self.writers.get(Who::User));
        let new: DynamicObject = serde_json::from_value(pair.new.clone())?;
        answer(if pair.old.is_some() {
            let name = new.metadata.name.clone().unwrap_or_default();
            api.replace(&name, &DRY_RUN, &new).await
        } else {
            api.create(&DRY_RUN, &new).await
        })
    }

    /// Asks both about every write of these seeds.
    async fn tally(&self, seeds: impl IntoIterator<Item = u64>) -> Outcome<Tally> {
        let writes = seeds
            .into_iter()
            .flat_map(|seed| (0..EACH).map(move |number| (seed, number)));
        let told = futures::stream::iter(writes).map(move |(seed, number)| async move {
            let pair = self.source.pair(seed, number);
            let told = self.told(&pair).await;
            told.map(|told| (pair, told))
        });
        let mut told = told.buffer_unordered(AT_ONCE);
        let mut tally = Tally::default();
        tally.hits.extend(rules().into_iter().map(|rule| (rule, 0)));
        while let Some(told) = told.next().await {
            let (pair, told) = told?;
            tally.written += 1;
            tally.admitted += usize::from(told.is_none());
            for rule in named(&told).unwrap_or_default() {
                *tally.hits.entry(rule).or_default() += 1;
            }
            if difference(&told, &self.source.judge(&pair)).is_some() {
                tally.differences.push(pair);
            }
        }
        Ok(tally)
    }

    /// The smallest write that is still answered differently.
    async fn shrunk(&self, mut pair: Pair) -> Outcome<Pair> {
        let mut tried = 0;
        'smaller: loop {
            for mut less in smaller(&pair) {
                tried += 1;
                if tried > MOST_TRIED {
                    return Ok(pair);
                }
                let other_is_stored = less.old.as_ref().map(|old| &old["spec"])
                    == pair.old.as_ref().map(|old| &old["spec"]);
                if !other_is_stored && !self.stores(&mut less, tried).await? {
                    continue;
                }
                let told = self.told(&less).await?;
                if difference(&told, &self.source.judge(&less)).is_some() {
                    pair = less;
                    continue 'smaller;
                }
            }
            return Ok(pair);
        }
    }

    /// Stores what the write is to find there, under a name of its own; no if the rules refuse it.
    async fn stores(&self, pair: &mut Pair, number: usize) -> Outcome<bool> {
        let Some(old) = &pair.old else {
            return Ok(true);
        };
        let api = self.desk().api(pair.subject, self.writers.get(Who::User));
        let name = old["metadata"]["name"].as_str().unwrap_or_default();
        let object = called(old, &format!("{name}-{number}"));
        let Ok(stored) = api
            .create(&PostParams::default(), &serde_json::from_value(object)?)
            .await
        else {
            return Ok(false);
        };
        let stored = serde_json::to_value(stored)?;
        pair.new["metadata"] = stored["metadata"].clone();
        pair.old = Some(stored);
        Ok(true)
    }

    /// A difference as a person needs it, and as a case for the corpus.
    async fn explained(&self, pair: Pair) -> Outcome<String> {
        let origin = pair.origin.clone();
        let pair = self.shrunk(pair).await?;
        let (told, judged) = (self.told(&pair).await?, self.source.judge(&pair));
        let wrong = difference(&told, &judged).unwrap_or_default();
        let mut lines = vec![
            format!("{}, {origin}: {wrong}", pair.subject.kind()),
            "as a case of the corpus, once it is known who is right:".to_owned(),
        ];
        if let Some(old) = &pair.old {
            let stored = Pair {
                old: None,
                new: old.clone(),
                ..pair.clone()
            };
            if !self.source.judge(&stored).rules.is_empty() {
                lines.push("  # only where what is stored is older than its rules".to_owned());
            }
        }
        lines.push("  - name: ".to_owned());
        lines.push("    who: operator".to_owned());
        let spec = |object: &Value| format!("{{\"spec\": {}}}", object["spec"]);
        lines.extend(
            pair.old
                .as_ref()
                .map(|old| format!("    old: {}", spec(old))),
        );
        lines.push(format!("    new: {}", spec(&pair.new)));
        lines.push(format!(
            "    refused: {:?}",
            named(&told).unwrap_or_default()
        ));
        Ok(lines.join("\n"))
    }

    /// Fails with what both disagree about.
    async fn must_agree(&self, tally: Tally, fresh: u64, least_hits: usize) -> Outcome {
        let Tally {
            written,
            admitted,
            hits,
            differences,
        } = tally;
        println!("{admitted} of {written} writes admitted; fresh seed {fresh}; rules named:");
        for (rule, hits) in &hits {
            println!("{hits:6} {rule}");
        }
        let count = differences.len();
        let mut wrong = BTreeSet::new();
        for pair in differences {
            if wrong.len() == EXPLAINED {
                break;
            }
            wrong.insert(self.explained(pair).await?);
        }
        if count > 0 {
            let wrong = Vec::from_iter(wrong).join("\n\n");
            return Err(Failure::saying(format!(
                "{count} of {written} writes are answered differently, the fresh seed was {fresh}\n\n{wrong}"
            )));
        }
        let share = admitted * 100 / written;
        assert!(share >= LEAST_ADMITTED, "only {share} % were admitted");
        let rare: Vec<_> = hits
            .iter()
            .filter(|(_, hits)| **hits < least_hits)
            .collect();
        assert!(
            rare.is_empty(),
            "named less than {least_hits} times: {rare:?}"
        );
        Ok(())
    }
}

/// Stores the objects to be edited, without any rule in force; each with what was asked to be stored.
async fn store(
    desk: &Desk<'_>,
    source: &Source,
    cases: &[Case],
) -> Outcome<Vec<(Subject, Value, Value)>> {
    let plain = case("a plain scratch claim by anyone");
    let ask = || desk.answer(0, &plain);
    until("a plain claim is admitted", ask, Option::is_none).await?;
    let objects = source.to_store(cases, STORED).into_iter().enumerate();
    let stored = futures::stream::iter(objects).map(|(number, (subject, object))| async move {
        let api = desk.api(subject, desk.writers.get(Who::User));
        let new = called(&object, &format!("stored-{number}"));
        let stored = api
            .create(&PostParams::default(), &serde_json::from_value(new)?)
            .await?;
        Ok((subject, object, serde_json::to_value(stored)?))
    });
    let stored: Vec<Outcome<_>> = stored.buffered(AT_ONCE).collect().await;
    stored.into_iter().collect()
}

/// What is different between the API server's answer and the webhook's.
fn difference(told: &Answer, judged: &Judged) -> Option<String> {
    let named = match named(told) {
        Ok(named) => named,
        Err(wrong) => return Some(wrong),
    };
    let same_rules = named.len() == judged.rules.len();
    let known = named.iter().all(|rule| judged.rules.contains(*rule));
    let refused = !judged.rules.is_empty() || !judged.bounds.is_empty();
    let agree = match told {
        None => !refused,
        Some(status) => {
            // Without a broken bound all of the rules ran, and nothing else refuses.
            let whole = same_rules && !named.is_empty();
            status.code == 422 && known && (whole || !judged.bounds.is_empty())
        }
    };
    (!agree || !judged.faults.is_empty()).then(|| {
        let told = told.as_ref().map(|status| &status.message);
        format!("the API server says {told:?}, the webhook {judged:?}")
    })
}

/// A seed that nobody chose.
fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_secs() * 1_000 + u64::from(since.subsec_millis())
}

/// Hundreds of writes, as an API server of this version and the webhook answer them.
async fn hundreds_agree(version: Version) -> Outcome {
    let fresh = fresh_seed();
    let scene = Box::pin(Scene::set(version)).await?;
    let tally = scene.tally((0..6).chain([fresh])).await?;
    scene.must_agree(tally, fresh, 1).await
}

// Proves: W-003, W-004
#[tokio::test]
async fn the_api_server_and_the_webhook_give_hundreds_of_random_writes_the_same_verdict() -> Outcome
{
    hundreds_agree(Version::default()).await
}

mod slow {
    use rstest::rstest;

    use super::{Outcome, Scene, Version, fresh_seed, hundreds_agree};

    // Proves: W-003, W-004
    #[tokio::test]
    async fn slow_the_api_server_and_the_webhook_give_thousands_of_random_writes_the_same_verdict()
    -> Outcome {
        let fresh = fresh_seed();
        let scene = Box::pin(Scene::set(Version::default())).await?;
        let tally = scene.tally((1_000..1_200).chain([fresh])).await?;
        scene.must_agree(tally, fresh, 20).await
    }

    // Proves: W-003, W-004
    #[rstest]
    #[case::v1_33(Version::V1_33)]
    #[case::v1_30(Version::V1_30)]
    #[tokio::test]
    async fn slow_an_older_api_server_and_the_webhook_give_random_writes_the_same_verdict(
        #[case] version: Version,
    ) -> Outcome {
        hundreds_agree(version).await
    }
}
