//! Objects that are older than a rule: what an update may leave as it is. Does I/O.
//!
//! The API server ratchets; the webhook has to do the same, or it would freeze what the API server
//! lets be repaired.

use std::collections::BTreeSet;

use futures::StreamExt;
use kube::api::DynamicObject;
use sandgate_e2e::binaries::Version;
use sandgate_e2e::installation::Layers;
use sandgate_e2e::{Failure, Outcome, manifests};
use sandgate_shared::corpus::{Case, Who, cases};
use sandgate_shared::render::{self, Installation};
use sandgate_shared::rules::{Attempt, Layer, Operation, Phase, Rulebook, Subject, table};
use serde_json::{Value, json};

use crate::corpus::{Desk, broken, named, of, until};
use crate::layers::cluster_with;
use crate::writers::Writers;

/// Writes in flight at once.
const AT_ONCE: usize = 6;

/// A change of the spec that breaks no rule by itself.
fn elsewhere(subject: Subject) -> Value {
    json!({ "spec": match subject {
        Subject::SandboxClaim => json!({ "requestedBy": { "subject": "somebody" } }),
        Subject::Connection => json!({ "hosts": ["elsewhere.example.com"] }),
        _ => json!({ "image": "example.com/elsewhere:1" }),
    }})
}

/// The rules of the CRD that the webhook's book names for this update.
fn judged(book: &Rulebook, subject: Subject, old: &Value, patch: &Value) -> BTreeSet<&'static str> {
    let mut new = old.clone();
    json_patch::merge(&mut new, patch);
    let verdict = book.judge(&Attempt {
        subject,
        operation: Operation::Update,
        subresource: None,
        phase: Phase::Validating,
        object: &new,
        old_object: Some(old),
        user_info: &Who::Operator.user_info(&Installation::default().identity()),
    });
    assert_eq!(verdict.faults, [""; 0]);
    let named = |id: &str| verdict.violations.iter().any(|broken| broken.rule == id);
    let rows = table().filter(|row| row.layer == Layer::Crd && named(row.id));
    rows.map(|row| row.id).collect()
}

/// What is wrong with the API server's answers about an old object, if anything.
async fn compare(desk: &Desk<'_>, book: &Rulebook, case: &Case, stored: &DynamicObject) -> Outcome {
    let old = serde_json::to_value(stored)?;
    let label = json!({ "metadata": { "labels": { "team": "a" } } });
    for patch in [label, elsewhere(case.subject)] {
        let told = desk.would_patch(case.subject, stored, &patch).await?;
        let wanted = judged(book, case.subject, &old, &patch);
        let named = named(&told).map_err(Failure::saying)?;
        if named != wanted || told.is_some() == wanted.is_empty() {
            return Err(Failure::saying(format!(
                "{}: {}, changed by {patch}: the webhook's book names {wanted:?}, the API server says {told:#?}",
                case.subject.kind(),
                case.name
            )));
        }
    }
    Ok(())
}

/// Changes objects that were stored before there were rules, on an API server of this version.
async fn all_agree(version: Version) -> Outcome {
    let cluster = cluster_with(Layers::NONE, version).await?;
    let namespace = cluster.namespace("older").await?;
    let writers = Writers::of(&namespace).await?;
    let desk = Desk::new(&namespace, &writers);
    let book = Rulebook::compile(&Installation::default().identity())?;
    let all = cases().map_err(Failure::saying)?;
    let wrong_at_creation: Vec<&Case> = all
        .iter()
        .filter(|case| {
            let broken = broken(case, of(Layer::Crd));
            case.old.is_none() && !broken.is_empty() && broken.len() == case.refused.len()
        })
        .collect();
    assert!(wrong_at_creation.len() > 50, "the corpus is not all there");

    let storing = futures::stream::iter(wrong_at_creation.iter().enumerate())
        .map(|(number, case)| desk.store(number, case));
    let stored: Vec<Outcome<DynamicObject>> = storing.buffered(AT_ONCE).collect().await;
    manifests::apply(&cluster.client(), &render::crds()).await?;
    for subject in Subject::ALL {
        let Some(new) = wrong_at_creation
            .iter()
            .find(|case| case.subject == subject && case.new.pointer("/metadata/name").is_none())
        else {
            continue;
        };
        let ask = || desk.answer(all.len(), new);
        until("the rules are in force", ask, Option::is_some).await?;
    }

    let mut wrong = Vec::new();
    for (case, stored) in wrong_at_creation.iter().zip(stored) {
        if let Err(failure) = compare(&desk, &book, case, &stored?).await {
            wrong.push(failure.to_string());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    Ok(())
}

// Proves: W-003, W-017, T-077
#[tokio::test]
async fn of_an_object_older_than_a_rule_the_api_server_and_the_book_let_the_same_be() -> Outcome {
    all_agree(Version::default()).await
}

mod slow {
    use rstest::rstest;
    use sandgate_e2e::Outcome;
    use sandgate_e2e::binaries::Version;

    use super::all_agree;

    // Proves: W-003, W-017, T-077
    #[rstest]
    #[case::v1_33(Version::V1_33)]
    #[case::v1_30(Version::V1_30)]
    #[tokio::test]
    async fn slow_an_older_api_server_lets_the_same_be(#[case] version: Version) -> Outcome {
        all_agree(version).await
    }
}
