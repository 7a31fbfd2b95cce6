//! The API server without some of its rules: what only those refused is admitted, so no rule stands
//! there in vain. Does I/O.
//!
//! All of these API servers are one: where rules are missing is an API group of its own, with the
//! same kind and every other rule of the layer in place.

use std::collections::BTreeSet;

use futures::StreamExt;
use kube::Client;
use sandgate_e2e::binaries::Version;
use sandgate_e2e::identity::EDITORS;
use sandgate_e2e::installation::{Layers, without_rules};
use sandgate_e2e::{Failure, Namespace, Outcome, manifests};
use sandgate_shared::corpus::{Case, cases};
use sandgate_shared::names::GROUP;
use sandgate_shared::render::{self, Installation};
use sandgate_shared::rules::{Layer, Row, Subject, table};
use serde_json::{Value, json};

use crate::corpus::{Answer, Desk, broken, named, of, until};
use crate::layers::cluster_with;
use crate::writers::Writers;

/// Some rules of one layer and one kind, all missing in one group.
struct Gap {
    layer: Layer,
    subject: Subject,
    rows: Vec<&'static Row>,
}

/// All that the API server itself holds, in gaps: the rules of each layer and kind in `parts` parts, or
/// each rule alone. Where a rule holds for two kinds, both get it from one row.
fn gaps(parts: usize) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for (layer, subject) in [
        (Layer::Crd, Subject::SandboxClaim),
        (Layer::Crd, Subject::SandboxClass),
        (Layer::Crd, Subject::Connection),
        (Layer::Policy, Subject::SandboxClaim),
    ] {
        let rows = table().filter(|row| row.layer == layer && row.subjects[0] == subject);
        let rows: Vec<_> = rows.collect();
        let size = rows.len().div_ceil(parts).max(1);
        gaps.extend(rows.chunks(size).map(|rows| Gap {
            layer,
            subject,
            rows: rows.to_vec(),
        }));
    }
    let covered: usize = gaps.iter().map(|gap| gap.rows.len()).sum();
    let held = table().filter(|row| row.layer != Layer::Webhook).count();
    assert_eq!(covered, held, "a row belongs to no gap");
    gaps
}

impl Gap {
    fn group(&self) -> String {
        format!("{}.missing.test", self.rows[0].id)
    }

    fn lacks(&self, rule: &str) -> bool {
        self.rows.iter().any(|row| row.id == rule)
    }

    /// The layer without these rules.
    fn manifests(&self) -> Vec<Value> {
        let mut crds = render::crds().into_iter();
        let mut crd = crds
            .find(|crd| crd["spec"]["names"]["kind"] == self.subject.kind())
            .unwrap();
        crd["metadata"]["name"] = json!(format!("{}.{GROUP}", self.subject.plural()));
        // Short names would be claimed by many groups at once.
        crd["spec"]["names"]["shortNames"] = json!([]);
        let mut all = vec![crd];
        if self.layer == Layer::Policy {
            without_rules(&mut all[0]);
            let mut policy = render::admission_policy(&Installation::default());
            let name = format!("missing-{}", self.rows[0].id);
            policy[0]["metadata"]["name"] = json!(name);
            policy[1]["metadata"]["name"] = json!(name);
            policy[1]["spec"]["policyName"] = json!(name);
            all.extend(policy);
        }
        for row in &self.rows {
            let removed: usize = all.iter_mut().map(|manifest| remove(manifest, row)).sum();
            assert!(removed > 0, "{} is in no manifest", row.id);
        }
        all.iter()
            .map(|manifest| manifest.to_string().replace(GROUP, &self.group()))
            .map(|text| serde_json::from_str(&text).unwrap())
            .collect()
    }

    /// Puts the layer up and looks, for each missing rule, for a case that only this rule refuses
    /// and that is admitted now.
    async fn shows(&self, client: Client, namespace: &Namespace, writers: &Writers) -> Outcome {
        manifests::apply(&client, &self.manifests()).await?;
        let group = self.group();
        let desk = Desk {
            group: &group,
            ..Desk::new(namespace, writers)
        };
        let all = cases().map_err(Failure::saying)?;
        let all: Vec<&Case> = all
            .iter()
            .filter(|case| case.subject == self.subject && !case.breaks_the_schema())
            .collect();
        let another = all
            .iter()
            .find(|case| {
                let broken = broken(case, of(self.layer));
                case.old.is_none() && broken.len() == 1 && broken.iter().all(|id| !self.lacks(id))
            })
            .ok_or_else(|| Failure::saying("no case breaks another rule of this layer"))?;
        let in_force = |answer: &Answer| named(answer).is_ok_and(|named| !named.is_empty());
        let ask = || desk.answer(all.len(), another);
        until("the rest of the layer is in force", ask, in_force).await?;
        for row in &self.rows {
            let only_this = BTreeSet::from([row.id]);
            let cases = all.iter().enumerate();
            let mut cases = cases.filter(|(_, case)| broken(case, of(self.layer)) == only_this);
            let missed = loop {
                match cases.next() {
                    Some((number, case)) if desk.answer(number, case).await?.is_none() => {
                        break true;
                    }
                    Some(_) => {}
                    None => break false,
                }
            };
            if !missed {
                let id = row.id;
                return Err(Failure::saying(format!(
                    "nothing is admitted for lack of {id}"
                )));
            }
        }
        Ok(())
    }
}

/// Takes the list items out whose message names the rule; how many that were.
fn remove(value: &mut Value, row: &Row) -> usize {
    let signature = format!("[{}]", row.id);
    let is_it = |item: &Value| {
        item["message"]
            .as_str()
            .is_some_and(|text| text.ends_with(&signature))
    };
    match value {
        Value::Object(fields) => fields.values_mut().map(|value| remove(value, row)).sum(),
        Value::Array(items) => {
            let before = items.len();
            items.retain(|item| !is_it(item));
            let removed = before - items.len();
            removed
                + items
                    .iter_mut()
                    .map(|item| remove(item, row))
                    .sum::<usize>()
        }
        _ => 0,
    }
}

/// Lets everybody who writes in the corpus write all of these groups.
fn everybody_may_write(gaps: &[Gap]) -> [Value; 2] {
    let api = "rbac.authorization.k8s.io";
    let names = Installation::default();
    let groups: Vec<String> = gaps.iter().map(Gap::group).collect();
    [
        json!({
            "apiVersion": format!("{api}/v1"),
            "kind": "ClusterRole",
            "metadata": { "name": "missing-rules" },
            "rules": [{ "apiGroups": groups, "resources": ["*"], "verbs": ["*"] }],
        }),
        json!({
            "apiVersion": format!("{api}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": { "name": "missing-rules" },
            "roleRef": { "apiGroup": api, "kind": "ClusterRole", "name": "missing-rules" },
            "subjects": [
                { "apiGroup": api, "kind": "Group", "name": EDITORS },
                {
                    "kind": "ServiceAccount",
                    "name": names.service_account,
                    "namespace": names.namespace,
                },
            ],
        }),
    ]
}

async fn every_gap_shows(gaps: Vec<Gap>) -> Outcome {
    let cluster = cluster_with(Layers::NONE, Version::default()).await?;
    let namespace = cluster.namespace("missing").await?;
    let writers = Writers::of(&namespace).await?;
    manifests::apply(&cluster.client(), &everybody_may_write(&gaps)).await?;
    let each = futures::stream::iter(gaps).map(|gap| {
        let (client, namespace, writers) = (cluster.client(), &namespace, &writers);
        async move {
            let shown = gap.shows(client, namespace, writers).await;
            shown.map_err(|failure| format!("{}: {failure}", gap.group()))
        }
    });
    let each: Vec<Result<(), String>> = each.buffer_unordered(4).collect().await;
    let wrong: Vec<String> = each.into_iter().filter_map(Result::err).collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::saying(wrong.join("\n\n")))
    }
}

// Proves: W-003
#[tokio::test]
async fn without_its_rules_the_api_server_admits_what_only_they_refused() -> Outcome {
    every_gap_shows(gaps(3)).await
}

mod slow {
    use super::{Outcome, every_gap_shows, gaps, table};

    // Proves: W-003
    #[tokio::test]
    async fn slow_without_any_one_rule_the_api_server_admits_what_only_that_rule_refused() -> Outcome
    {
        every_gap_shows(gaps(table().count())).await
    }
}
