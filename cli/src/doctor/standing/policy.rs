//! The admission policy and its binding. Pure.

use sandgate_shared::render;
use serde_json::Value;

use super::Seen;
use crate::doctor::facts::{Facts, name, named};
use crate::doctor::same::{differences, sentence};

/// Whether both stand as rendered, and were never edited.
pub(super) fn stands(facts: &Facts) -> Seen {
    let [policy, binding] = render::admission_policy(&facts.site.names);
    let (Some(policies), Some(bindings)) = (&facts.policies, &facts.policy_bindings) else {
        return vec![
            "the API server does not serve ValidatingAdmissionPolicy, without which only scratch claims get sandboxes; use Kubernetes 1.30 or newer with that API on".to_owned(),
        ]
        .into();
    };
    let pairs = [(&policy, policies), (&binding, bindings)];
    let wrong = pairs
        .into_iter()
        .filter_map(|(expected, stored)| examine(expected, stored));
    wrong.collect::<Vec<String>>().into()
}

fn examine(expected: &Value, stored: &[Value]) -> Option<String> {
    let kind = expected["kind"].as_str().unwrap_or_default();
    let wanted = name(expected);
    let Some(stored) = named(stored, wanted) else {
        return Some(format!(
            "{kind} {wanted} does not exist; upgrade the chart to create it"
        ));
    };
    let found = differences(&expected["spec"], &stored["spec"], "spec", &[]);
    if !found.is_empty() {
        return Some(format!(
            "{kind} {wanted} is not as the chart writes it: {}; delete it and upgrade the chart to create it anew",
            sentence(&found)
        ));
    }
    (stored.pointer("/metadata/generation") != Some(&Value::from(1))).then(|| {
        format!(
            "{kind} {wanted} was edited since it was created; delete it and upgrade the chart to create it anew"
        )
    })
}
