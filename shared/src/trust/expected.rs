//! Policy and binding as an API server stores what this version renders, and how a live pair differs
//! from them. Pure.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use thiserror::Error;

use crate::{
    names,
    render::{Installation, admission_policy},
};

/// The pair that has to stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Name of both.
    name: String,
    release: String,
    policy: Value,
    binding: Value,
}

/// A pair that stands as rendered and was never edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stood {
    /// UID of the policy.
    pub policy: String,
    /// UID of the binding.
    pub binding: String,
    /// When the policy was created.
    pub policy_created: Timestamp,
    /// The later of the two creations.
    pub since: Timestamp,
}

impl Stood {
    /// Name of the `ConfigMap` that records this pair's first refusal (P-029).
    pub fn record_name(&self, release: &str) -> String {
        let both = format!("{}/{}", self.policy, self.binding);
        names::proof(release, &names::short_hash(&both))
    }

    /// What that `ConfigMap` holds: whose refusal it was.
    pub fn record(&self) -> BTreeMap<String, String> {
        let uids = [("policyUID", &self.policy), ("bindingUID", &self.binding)];
        let owned = uids.map(|(key, uid)| (key.to_owned(), uid.clone()));
        owned.into()
    }
}

/// Why policy and binding cannot be trusted. Each text is a clause that a sentence can end with, the
/// way out included.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Distrust {
    /// The API server does not serve the kind (P-024).
    #[error(
        "the API server does not serve ValidatingAdmissionPolicy, without which only scratch claims get sandboxes: use Kubernetes 1.30 or newer with that API on"
    )]
    NotServed,
    /// One of the two does not exist (P-006).
    #[error("{kind} {name} does not exist: upgrade the chart to create it")]
    Missing {
        /// Its kind.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// One of the two was edited, even if edited back (P-012).
    #[error(
        "{kind} {name} was edited since it was created: delete it and upgrade the chart to create it anew"
    )]
    Edited {
        /// Its kind.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// One of the two is not what the chart writes (P-007 to P-011).
    #[error(
        "{kind} {name} is not as this version of the chart writes it, at {path}: delete it and upgrade the chart to create it anew"
    )]
    Differs {
        /// Its kind.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The first place at which it differs, such as `spec.validations[2].message`.
        path: String,
    },
}

impl Distrust {
    /// Whether something is absent, rather than wrong.
    pub const fn is_absence(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}

const POLICY: &str = "ValidatingAdmissionPolicy";
const BINDING: &str = "ValidatingAdmissionPolicyBinding";

impl Expected {
    /// The pair of an installation.
    pub fn of(installation: &Installation) -> Self {
        let [mut policy, binding] = admission_policy(installation);
        fill_in(&mut policy);
        let name = policy.pointer("/metadata/name").and_then(Value::as_str);
        Self {
            name: name.unwrap_or_default().to_owned(),
            release: installation.release.clone(),
            policy,
            binding,
        }
    }

    /// Name of policy and binding.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Selects the policies of all versions of this release, ours among them.
    pub fn siblings(&self) -> String {
        format!(
            "{}={},{}={}",
            names::LABEL_INSTANCE,
            self.release,
            names::LABEL_PART,
            names::PART_CLAIM_POLICY
        )
    }

    /// Examines what stands under [`Self::name`].
    ///
    /// # Errors
    /// Why it cannot be trusted.
    pub fn examine(
        &self,
        policy: Option<&Value>,
        binding: Option<&Value>,
    ) -> Result<Stood, Distrust> {
        let policy = Live::read(POLICY, &self.name, policy)?;
        let binding = Live::read(BINDING, &self.name, binding)?;
        policy.compare(&self.policy)?;
        binding.compare(&self.binding)?;
        Ok(Stood {
            policy: policy.uid,
            binding: binding.uid,
            policy_created: policy.created,
            since: policy.created.max(binding.created),
        })
    }
}

/// What every API server that serves the kind fills in on create; on a binding nothing.
fn fill_in(policy: &mut Value) {
    let Some(constraints) = policy.pointer_mut("/spec/matchConstraints") else {
        return;
    };
    if let Some(fields) = constraints.as_object_mut() {
        fields.insert("matchPolicy".into(), json!("Equivalent"));
        fields.insert("namespaceSelector".into(), json!({}));
        fields.insert("objectSelector".into(), json!({}));
    }
    let rules = constraints
        .get_mut("resourceRules")
        .and_then(Value::as_array_mut);
    for rule in rules.into_iter().flatten() {
        if let Some(rule) = rule.as_object_mut() {
            rule.insert("scope".into(), json!("*"));
        }
    }
}

/// One of the two as it stands.
struct Live<'a> {
    kind: &'static str,
    name: &'a str,
    object: &'a Value,
    uid: String,
    created: Timestamp,
}

impl<'a> Live<'a> {
    fn read(
        kind: &'static str,
        name: &'a str,
        object: Option<&'a Value>,
    ) -> Result<Self, Distrust> {
        let object = object.ok_or_else(|| Distrust::Missing {
            kind,
            name: name.to_owned(),
        })?;
        let metadata = |field: &str| {
            let found = object.pointer(&format!("/metadata/{field}"));
            let found = found.and_then(Value::as_str);
            found.ok_or_else(|| differs(kind, name, format!("metadata.{field}")))
        };
        let created = metadata("creationTimestamp")?
            .parse()
            .map_err(|_| differs(kind, name, "metadata.creationTimestamp".to_owned()))?;
        Ok(Self {
            kind,
            name,
            object,
            uid: metadata("uid")?.to_owned(),
            created,
        })
    }

    /// Generation 1 is an object as it was created: an edit of the spec makes it 2, undoing that edit
    /// 3, and labels leave it alone.
    fn compare(&self, expected: &Value) -> Result<(), Distrust> {
        let spec = |object: &'_ Value| object.get("spec").cloned().unwrap_or_default();
        let name = |object: &'_ Value| object.pointer("/metadata/name").cloned();
        if name(self.object) != name(expected) {
            return Err(differs(self.kind, self.name, "metadata.name".to_owned()));
        }
        let generation = self.object.pointer("/metadata/generation");
        if generation != Some(&json!(1)) {
            return Err(Distrust::Edited {
                kind: self.kind,
                name: self.name.to_owned(),
            });
        }
        match first_difference(&spec(expected), &spec(self.object), "spec") {
            Some(path) => Err(differs(self.kind, self.name, path)),
            None => Ok(()),
        }
    }
}

fn differs(kind: &'static str, name: &str, path: String) -> Distrust {
    Distrust::Differs {
        kind,
        name: name.to_owned(),
        path,
    }
}

/// Where two values first differ; nothing if they are equal in every part. Null is not absent here: an
/// API server stores none.
fn first_difference(expected: &Value, live: &Value, path: &str) -> Option<String> {
    match (expected, live) {
        (Value::Object(expected), Value::Object(live)) => {
            let added = live.keys().find(|key| !expected.contains_key(*key));
            let within = |(key, value): (&String, &Value)| {
                let path = format!("{path}.{key}");
                match live.get(key) {
                    Some(live) => first_difference(value, live, &path),
                    None => Some(path),
                }
            };
            let changed = expected.iter().find_map(within);
            changed.or_else(|| added.map(|key| format!("{path}.{key}")))
        }
        (Value::Array(expected), Value::Array(live)) => {
            let mut pairs = expected.iter().zip(live).enumerate();
            let changed = pairs.find_map(|(index, (expected, live))| {
                first_difference(expected, live, &format!("{path}[{index}]"))
            });
            let shorter = expected.len().min(live.len());
            let length = (expected.len() != live.len()).then(|| format!("{path}[{shorter}]"));
            changed.or(length)
        }
        _ => (expected != live).then(|| path.to_owned()),
    }
}
