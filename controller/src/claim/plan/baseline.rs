//! The policy that shuts every sandbox pod of a namespace, before and after its claim's own policy
//! stands (O-037). Pure.
//!
//! Nothing in it is filled in by the API server, so what should be returned is known beforehand and
//! no dry run is needed to see a stranger's edit.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::networking::v1::{NetworkPolicy, NetworkPolicySpec},
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};
use sandgate_shared::names;
use serde_json::Value;

use super::{Action, Intent, LiveRef, intent::seal};
use crate::claim::digest::digest;
use crate::claim::observed::{Guarded, LiveObject, ObjectKind};

/// The write that puts the baseline policy of a namespace in order; `None` when it is.
pub fn baseline(live: Option<&LiveObject>, namespace: &str) -> Option<Intent> {
    let mut intent = baseline_intent(namespace);
    if let Some(live) = live {
        let in_order = live.digest == digest(&intent.object)
            && live.intent.as_deref() == Some(intent.hash.as_str());
        if in_order {
            return None;
        }
        intent.action = Action::Update(LiveRef::of(live));
    }
    Some(intent)
}

/// The same, where no claim is being built: for pods that a claim leaves behind, too. Nothing can be
/// made in a namespace that is being deleted; what stands there is put in order all the same.
pub fn guard(guarded: &Guarded, namespace: &str) -> Option<Intent> {
    let intent = baseline(guarded.baseline.as_ref(), namespace)?;
    (intent.action != Action::Create || !guarded.terminating).then_some(intent)
}

/// The baseline policy of a namespace, to be created.
pub fn baseline_intent(namespace: &str) -> Intent {
    let policy = NetworkPolicy {
        metadata: ObjectMeta {
            name: Some(names::BASELINE_POLICY.to_owned()),
            namespace: Some(namespace.to_owned()),
            labels: Some(pairs(&[(names::LABEL_MANAGED_BY, names::MANAGED_BY)])),
            ..ObjectMeta::default()
        },
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(LabelSelector {
                match_labels: Some(pairs(&[(names::LABEL_SANDBOX_POD, "true")])),
                ..LabelSelector::default()
            }),
            policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
            ..NetworkPolicySpec::default()
        }),
    };
    let sealed = seal(
        ObjectKind::Baseline,
        serde_json::to_value(policy).unwrap_or(Value::Null),
    );
    Intent {
        kind: sealed.kind,
        namespace: namespace.to_owned(),
        name: names::BASELINE_POLICY.to_owned(),
        claim_uid: String::new(),
        object: sealed.object,
        hash: sealed.hash,
        action: Action::Create,
        resting: BTreeMap::new(),
        keeps_spec: false,
        known_uid: None,
    }
}

fn pairs(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = entries
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    owned.collect()
}
