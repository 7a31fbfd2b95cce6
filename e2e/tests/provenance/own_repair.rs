//! A policy that was edited, then made anew: which claims are believed.

use std::time::Duration;

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use sandgate_e2e::pair::{Pair, is_verified};
use sandgate_e2e::scene::manifests::{self, claim_with};
use sandgate_e2e::scene::{Scene, phase, ready};
use sandgate_e2e::{Cluster, Outcome, Stage};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use serde_json::{Value, json};

use crate::options;

/// A claim is made this often, to have some on both sides of every moment that counts.
const CLAIM_EVERY: Duration = Duration::from_millis(250);

fn target(name: &str) -> Value {
    claim_with(name, "box", &json!({ "targetPath": "projects/shop" }))
}

// Proves: P-012, P-013, P-017, P-020, P-029
#[tokio::test]
async fn an_edited_policy_proves_nothing_and_one_made_anew_proves_what_comes_after_it_and_its_grace()
-> Outcome {
    let cluster = Cluster::own(options()).await?;
    let scene = Scene::on(&cluster, "repair").await?;
    scene.with_content().await?;
    scene
        .accepts(&manifests::with_workspace(manifests::class(
            "box",
            Stage::Ready,
        )))
        .await?;
    let operator = scene.operator().await?;
    let pair = Pair::ours(&cluster);
    pair.in_force().await?;
    let first = pair.record().await?;
    let owner = &first.owner_references()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.name.as_str()),
        ("ValidatingAdmissionPolicy", pair.name())
    );
    assert_eq!(first.immutable, Some(true));
    operator.accepts(&target("before")).await?;
    assert!(is_verified(&scene.bound("before").await?));

    // Edited, and edited back: it reads as it did.
    for policy in ["Ignore", "Fail"] {
        let edit = json!({ "spec": { "failurePolicy": policy } });
        let how = PatchParams::default();
        let policies = pair.policies();
        policies
            .patch(pair.name(), &how, &Patch::Merge(edit))
            .await?;
    }
    operator.accepts(&target("edited")).await?;
    let failed = scene.failed("edited", "TargetPathNotGranted").await?;
    let why = ready(&failed).1;
    assert!(why.contains("was edited since it was created"), "{why}");
    assert!(why.contains("delete it and upgrade the chart"), "{why}");

    // As the message says. Claims are made all the while.
    pair.delete().await?;
    operator.accepts(&target("absent")).await?;
    let failed = scene.failed("absent", "TargetPathNotGranted").await?;
    assert!(
        ready(&failed).1.contains("does not exist"),
        "{}",
        ready(&failed).1
    );
    pair.create().await?;
    let recorded = pair.provable_after();
    let mut recorded = std::pin::pin!(recorded);
    let mut turn = tokio::time::interval(CLAIM_EVERY);
    let mut names = Vec::new();
    let (mut after, mut left) = (None, 16);
    while left > 0 {
        tokio::select! {
            _ = turn.tick() => {
                let name = format!("turn-{}", names.len());
                operator.accepts(&target(&name)).await?;
                names.push(name);
                left -= usize::from(after.is_some());
            }
            found = &mut recorded, if after.is_none() => after = Some(found?),
        }
    }
    let after = after.unwrap();
    let mut proved = Vec::new();
    for name in &names {
        let over = |claim: &SandboxClaim| {
            matches!(phase(claim), Some(ClaimPhase::Bound | ClaimPhase::Failed))
        };
        let claim = scene.becomes(name, "is Bound or Failed", over).await?;
        let created = claim.metadata.creation_timestamp.as_ref().unwrap().0;
        assert_eq!(
            is_verified(&claim),
            created > after,
            "{name} of {created}, {after}"
        );
        if !is_verified(&claim) {
            assert_eq!(ready(&claim).0, "TargetPathNotGranted");
        }
        proved.push(is_verified(&claim));
    }
    assert!(
        proved.contains(&true) && proved.contains(&false),
        "{proved:?}"
    );

    // What was verified stays; and each pair has had one record.
    let before: SandboxClaim = scene.api().get("before").await?;
    assert_eq!(phase(&before), Some(ClaimPhase::Bound));
    assert_ne!(pair.record().await?.uid(), first.uid());
    Ok(())
}
