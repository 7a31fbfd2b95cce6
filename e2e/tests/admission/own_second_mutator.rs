//! Other mutating webhooks before and after ours: what counts is the object as it will be stored.
//! Does I/O.

use std::collections::BTreeMap;

use kube::api::{DynamicObject, PostParams};
use sandgate_e2e::installation::{self, Layers};
use sandgate_e2e::{Cluster, Options, Outcome, manifests};
use sandgate_shared::corpus::Who;
use sandgate_shared::rules::Subject;
use serde_json::{Value, json};

use crate::corpus::{ASK_EVERY, DRY_RUN, Desk, PATIENCE, answer, named};
use crate::foreign_webhook::ForeignWebhook;
use crate::writers::Writers;

const GOOD: &str = "codegen/default";
const BETTER: &str = "codegen/of-the-platform";
const BAD: &str = "Code Gen";

/// A claim that `platform` changes, if anybody.
fn claim(name: &str, platform: &str, handle: &str) -> Value {
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": "SandboxClaim",
        "metadata": { "name": name, "labels": { "platform": platform } },
        "spec": {
            "agentRuntimeRef": { "name": "my-agent" },
            "classRef": { "name": "codegen-default" },
            "sessionID": "session-7",
            "handle": handle,
        },
    })
}

fn handle(value: &str) -> Value {
    json!([{ "op": "replace", "path": "/spec/handle", "value": value }])
}

/// Waits until the API server asks this webhook.
async fn is_asked(desk: &Desk<'_>, foreign: &ForeignWebhook, platform: &str) -> Outcome {
    let api = desk.api(Subject::SandboxClaim, desk.writers.get(Who::User));
    let object: DynamicObject = serde_json::from_value(claim("asked", platform, GOOD))?;
    let asked = async {
        let mut turn = tokio::time::interval(ASK_EVERY);
        while foreign.calls(platform) == 0 {
            turn.tick().await;
            answer(api.create(&DRY_RUN, &object).await)?;
        }
        Outcome::Ok(())
    };
    tokio::time::timeout(PATIENCE, asked).await?
}

// Proves: W-030
#[tokio::test]
async fn mutators_before_ours_may_repair_a_claim_and_later_ones_may_rewrite_but_not_break_it()
-> Outcome {
    // Nothing but our webhook judges, so that no other layer hides what it misses.
    let layers = Layers {
        webhook: true,
        ..Layers::NONE
    };
    let installation = installation::Options {
        layers,
        start: true,
        ..installation::Options::default()
    };
    let options = Options {
        installation,
        ..Options::default()
    };
    let cluster = Box::pin(Cluster::own(options)).await?;
    let namespace = cluster.namespace("mutators").await?;
    let writers = Writers::of(&namespace).await?;
    let desk = Desk::new(&namespace, &writers);
    let patches = [("repairs", GOOD), ("rewrites", BETTER), ("breaks", BAD)];
    let patches = patches.map(|(path, value)| (path, handle(value)));
    let foreign = ForeignWebhook::start(BTreeMap::from(patches)).await?;
    let configurations = [
        foreign.configuration("aa-platform-repairs", "repairs"),
        foreign.configuration("zzz-platform-rewrites", "rewrites"),
        foreign.configuration("zzz-platform-breaks", "breaks"),
    ];
    manifests::apply(&cluster.client(), &configurations).await?;
    for platform in ["repairs", "rewrites", "breaks"] {
        is_asked(&desk, &foreign, platform).await?;
    }
    let api = desk.api(Subject::SandboxClaim, writers.get(Who::User));
    for (platform, written, stored) in [
        ("nobody", GOOD, Some(GOOD)),
        ("nobody", BAD, None),
        ("repairs", BAD, Some(GOOD)),
        ("rewrites", GOOD, Some(BETTER)),
        ("breaks", GOOD, None),
        // Ours refuses before a later one could repair: it runs last but for those who want to.
        ("rewrites", BAD, None),
    ] {
        let name = format!("{platform}-{}", written == GOOD);
        let object = serde_json::from_value(claim(&name, platform, written))?;
        let told = answer(api.create(&PostParams::default(), &object).await)?;
        if let Some(stored) = stored {
            assert_eq!(told, None, "{platform} of {written}");
            let read = api.get(&name).await?;
            let handle = &read.data["spec"]["handle"];
            assert_eq!(handle, stored, "{platform} of {written}");
        } else {
            let named: Vec<_> = named(&told).unwrap().into_iter().collect();
            assert_eq!(named, ["claim-handle"], "{platform} of {written}: {told:?}");
        }
    }
    Ok(())
}
