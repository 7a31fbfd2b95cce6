//! Whatever the schemas admit, the API server and our types keep: what is written is what is read,
//! and nothing is pruned. Does I/O.

use std::collections::BTreeSet;

use futures::StreamExt;
use kube::Api;
use kube::api::{DynamicObject, PostParams};
use sandgate_e2e::binaries::Version;
use sandgate_e2e::installation::Layers;
use sandgate_e2e::{Failure, Namespace, Outcome};
use sandgate_shared::api::{ClusterSandboxClass, Connection, SandboxClaim, SandboxClass};
use sandgate_shared::render;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::generated::{Filling, Generator, nothing};
use crate::layers::cluster_with;
use crate::schema::{differences, leaves, with_defaults};

/// Objects of each kind and filling, unless more are asked for.
const EACH: u64 = 12;

/// One kind's name and schema.
struct Kind {
    name: String,
    schema: Value,
}

/// A manifest made from a schema, the parts of it that were made, and where they came from.
struct Made {
    manifest: Value,
    parts: Vec<&'static str>,
    origin: String,
}

fn kinds() -> Vec<Kind> {
    let crds = render::crds().into_iter();
    let kinds: Vec<Kind> = crds
        .map(|crd| Kind {
            name: crd["spec"]["names"]["kind"].as_str().unwrap().to_owned(),
            schema: crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone(),
        })
        .collect();
    assert_eq!(kinds.len(), 4);
    kinds
}

impl Kind {
    fn part(&self, name: &str) -> &Value {
        &self.schema["properties"][name]
    }

    fn parts(&self) -> Vec<&'static str> {
        let parts = ["spec", "status"].into_iter();
        parts.filter(|part| self.part(part).is_object()).collect()
    }

    /// `each` manifests of every filling; panics if a leaf of the schema is in none of them.
    fn manifests(&self, seed: u64, each: u64) -> Vec<Made> {
        let mut all = Vec::new();
        let (mut made, mut wanted) = (BTreeSet::new(), BTreeSet::new());
        let fillings = [
            Filling::Whole,
            Filling::Longest,
            Filling::Fullest,
            Filling::Partial,
        ];
        for (place, filling) in (0..).zip(fillings) {
            for number in 0..each {
                let seed = seed + number;
                let mut generator = Generator::new(seed, filling, nothing);
                let name = format!("{}-{place}-{seed}", self.name.to_lowercase());
                let mut manifest = json!({
                    "apiVersion": "omnia.altairalabs.ai/v1alpha1",
                    "kind": self.name,
                    "metadata": { "name": name },
                });
                for part in self.parts() {
                    manifest[part] = generator.value(self.part(part), part);
                }
                made.append(&mut generator.made);
                all.push(Made {
                    manifest,
                    parts: self.parts(),
                    origin: format!("{} of seed {seed}, {filling:?}", self.name),
                });
            }
        }
        for part in self.parts() {
            leaves(self.part(part), part, &mut wanted);
        }
        let never: Vec<&String> = wanted.difference(&made).collect();
        assert!(never.is_empty(), "{} never had {never:?}", self.name);
        all
    }

    /// What is to be read back of a part.
    fn expected(&self, made: &Made, part: &str) -> Value {
        with_defaults(self.part(part), &made.manifest[part])
    }
}

/// Writes an object and its status and reads them back; what came back otherwise.
async fn lost_on_the_way(kind: &Kind, made: &Made, namespace: &Namespace) -> Outcome<Vec<String>> {
    let api: Api<DynamicObject> = namespace.api_of(&made.manifest).await?;
    let name = made.manifest["metadata"]["name"].as_str().unwrap();
    let object = serde_json::from_value(made.manifest.clone())?;
    let created = api.create(&PostParams::default(), &object).await?;
    let mut lost = Vec::new();
    if made.parts.contains(&"status") {
        // A status sent with the object itself is nobody's report.
        if created.data.get("status").is_some() {
            lost.push("status was taken from a write of the object".to_owned());
        }
        let mut with_status = created;
        with_status.data["status"] = made.manifest["status"].clone();
        api.replace_status(name, &PostParams::default(), &with_status)
            .await?;
    }
    let read = api.get(name).await?;
    for part in &made.parts {
        let want = kind.expected(made, part);
        differences(&want, &read.data[*part], part, &mut lost);
    }
    Ok(lost)
}

async fn everything_survives(seed: u64, each: u64) -> Outcome {
    let cluster = cluster_with(Layers::NONE, Version::default()).await?;
    let namespace = cluster.namespace("round-trip").await?;
    let mut wrong = Vec::new();
    for kind in kinds() {
        let all = kind.manifests(seed, each);
        let told = futures::stream::iter(&all).map(|made| {
            let (kind, namespace) = (&kind, &namespace);
            async move {
                match lost_on_the_way(kind, made, namespace).await {
                    Ok(lost) if lost.is_empty() => None,
                    Ok(lost) => Some(format!("{}: {}", made.origin, lost.join("\n  "))),
                    Err(failure) => Some(format!("{}: {failure}", made.origin)),
                }
            }
        });
        let told: Vec<Option<String>> = told.buffer_unordered(6).collect().await;
        wrong.extend(told.into_iter().flatten());
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::saying(wrong.join("\n\n")))
    }
}

// Proves: T-001, T-006, T-030, T-031, T-032, T-033, T-034, T-035, T-036
#[tokio::test]
async fn every_field_of_every_kind_is_read_back_as_it_was_written() -> Outcome {
    everything_survives(0, EACH).await
}

/// What our type makes of a part, compared with what the API server makes of it.
fn lost_in_the_type<T: DeserializeOwned + Serialize>(kind: &Kind, made: &Made) -> Vec<String> {
    let typed: T = match serde_json::from_value(made.manifest.clone()) {
        Ok(typed) => typed,
        Err(error) => return vec![error.to_string()],
    };
    let kept = serde_json::to_value(typed).unwrap();
    let mut lost = Vec::new();
    for part in &made.parts {
        let want = quantities_as_text(kind.part(part), &kind.expected(made, part));
        differences(&want, &kept[*part], part, &mut lost);
    }
    lost
}

/// Our types hold a quantity as text, whichever way it was written; both are the same to Kubernetes.
fn quantities_as_text(schema: &Value, value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let child = schema["properties"].get(name);
                let child = child.unwrap_or(&schema["additionalProperties"]);
                (name.clone(), quantities_as_text(child, value))
            })
            .collect(),
        Value::Array(items) => items
            .iter()
            .map(|item| quantities_as_text(&schema["items"], item))
            .collect(),
        Value::Number(number) if schema.get("x-kubernetes-int-or-string").is_some() => {
            json!(number.to_string())
        }
        other => other.clone(),
    }
}

fn types_keep_everything(seed: u64, each: u64) {
    for kind in kinds() {
        for made in kind.manifests(seed, each) {
            let lost = match kind.name.as_str() {
                "SandboxClaim" => lost_in_the_type::<SandboxClaim>(&kind, &made),
                "SandboxClass" => lost_in_the_type::<SandboxClass>(&kind, &made),
                "ClusterSandboxClass" => lost_in_the_type::<ClusterSandboxClass>(&kind, &made),
                "Connection" => lost_in_the_type::<Connection>(&kind, &made),
                other => panic!("{other} has no type"),
            };
            assert_eq!(lost, [""; 0], "{}", made.origin);
        }
    }
}

// Proves: T-001
#[test]
fn every_field_of_every_kind_survives_its_rust_type() {
    types_keep_everything(0, EACH);
}

mod slow {
    use super::{Outcome, everything_survives, types_keep_everything};

    // Proves: T-001, T-006, T-030, T-031, T-032, T-033, T-034, T-035, T-036
    #[tokio::test]
    async fn slow_a_thousand_objects_are_read_back_as_they_were_written() -> Outcome {
        everything_survives(1_000, 60).await
    }

    // Proves: T-001
    #[test]
    fn slow_thousands_of_objects_survive_their_rust_types() {
        types_keep_everything(1_000, 500);
    }
}
