//! Webhook configurations, and who else rewrites our kinds. Pure.

use sandgate_shared::names::{self, GROUP};
use sandgate_shared::render;
use sandgate_shared::rules::Subject as Kind;
use serde_json::Value;

use crate::doctor::facts::{Facts, items, name, named};
use crate::doctor::same::{differences, sentence};

/// What is wrong with our own configurations.
pub(super) fn webhooks(facts: &Facts) -> Vec<String> {
    let stored = [&facts.mutating, &facts.validating];
    let expected = render::webhook_configurations(&facts.site.names);
    let pairs = expected.iter().zip(stored);
    pairs
        .flat_map(|(expected, stored)| webhook(expected, stored))
        .collect()
}

fn webhook(expected: &Value, stored: &[Value]) -> Vec<String> {
    let kind = expected["kind"].as_str().unwrap_or_default();
    let wanted = name(expected);
    let Some(stored) = named(stored, wanted) else {
        return vec![format!(
            "{kind} {wanted} does not exist; upgrade the chart to create it"
        )];
    };
    let mut wrong = Vec::new();
    let hooks = &stored["webhooks"];
    let found = differences(&expected["webhooks"], hooks, "webhooks", &["caBundle"]);
    if !found.is_empty() {
        wrong.push(format!(
            "{kind} {wanted} is not as the chart writes it: {}; upgrade the chart, and find out who changed it",
            sentence(&found)
        ));
    }
    for hook in items(stored, "/webhooks") {
        let bundle = hook.pointer("/clientConfig/caBundle");
        if bundle.and_then(Value::as_str).is_none_or(str::is_empty) {
            let hook = hook["name"].as_str().unwrap_or_default();
            wrong.push(format!(
                "webhook {hook} of {kind} {wanted} has no caBundle, so every write it judges is refused; the operator's leader puts it in: look at its log"
            ));
        }
    }
    wrong
}

/// Who else is called before our kinds are stored, and may change them.
pub(super) fn mutators(facts: &Facts) -> Vec<String> {
    let ours = names::webhook_configuration(&facts.site.names.release);
    let webhooks = facts
        .mutating
        .iter()
        .filter(|configuration| name(configuration) != ours)
        .flat_map(|configuration| {
            let hooks = items(configuration, "/webhooks").iter();
            let reaching = hooks.filter(|hook| items(hook, "/rules").iter().any(reaches_us));
            reaching.map(|hook| {
                format!(
                    "webhook {} of MutatingWebhookConfiguration {} is called for our kinds; if it need not be, narrow its rules",
                    hook["name"].as_str().unwrap_or_default(),
                    name(configuration)
                )
            })
        });
    let policies = facts.mutating_policies.iter().filter(|policy| {
        let rules = items(policy, "/spec/matchConstraints/resourceRules");
        rules.iter().any(reaches_us)
    });
    let policies = policies.map(|policy| {
        format!(
            "MutatingAdmissionPolicy {} applies to our kinds; if it need not, narrow its matchConstraints",
            name(policy)
        )
    });
    webhooks.chain(policies).collect()
}

/// Whether a rule is about creating or changing an object of ours.
fn reaches_us(rule: &Value) -> bool {
    let any = |field: &str, wanted: &dyn Fn(&str) -> bool| {
        let words = rule[field].as_array().into_iter().flatten();
        words.filter_map(Value::as_str).any(wanted)
    };
    any("apiGroups", &|it| it == "*" || it == GROUP)
        && any("operations", &|it| matches!(it, "*" | "CREATE" | "UPDATE"))
        && any("resources", &|it| {
            let resource = it.split_once('/').map_or(it, |(resource, _)| resource);
            resource == "*" || Kind::ALL.iter().any(|kind| kind.plural() == resource)
        })
}
