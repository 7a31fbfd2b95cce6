//! Who else may rewrite objects of our kinds on their way in. Pure.
//!
//! Whether a selector or a condition lets a webhook see a given object cannot be known before there is
//! one, so a webhook counts by its rules alone.

use std::collections::BTreeSet;
use std::fmt;

use sandgate_shared::names;
use sandgate_shared::rules::Subject;
use serde_json::Value;

use super::compare::{entries, name};
use crate::kind::Kind;

/// Somebody else's webhook or policy that may rewrite what is ours.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mutator {
    /// What it is part of.
    pub(super) kind: Kind,
    /// What that is called.
    pub(super) object: String,
    /// Its uid.
    pub(super) uid: String,
    /// Which of its webhooks; `None` of a policy.
    pub(super) webhook: Option<String>,
    /// Which of our resources it matches.
    resources: Vec<String>,
    /// Whether it sees not each object of them.
    narrowed: bool,
}

impl fmt::Display for Mutator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(webhook) = &self.webhook {
            write!(f, "webhook {webhook:?} of ")?;
        }
        write!(
            f,
            "{} {:?} may rewrite {}{} on the way in: what is stored may differ from what was \
             written; unless that is meant, take {} out of its rules",
            self.kind.as_str(),
            self.object,
            self.resources.join(", "),
            if self.narrowed {
                ", as far as its selectors and conditions let it,"
            } else {
                ""
            },
            names::GROUP,
        )
    }
}

/// The foreign webhooks among these mutating configurations; entries called as those of `ours` are not
/// foreign where `ours` stands.
pub(super) fn of_webhooks(configurations: &[Value], ours: &Value) -> BTreeSet<Mutator> {
    let own: BTreeSet<&str> = entries(ours).map(name).collect();
    let mut found = BTreeSet::new();
    for configuration in configurations {
        let is_ours = text(configuration, "/metadata/name") == text(ours, "/metadata/name");
        for entry in entries(configuration) {
            if is_ours && own.contains(name(entry)) {
                continue;
            }
            let rules = items(entry, "/rules");
            let narrowing = ["/namespaceSelector", "/objectSelector", "/matchConditions"];
            found.extend(mutator(
                Kind::MutatingWebhookConfiguration,
                configuration,
                Some(name(entry)),
                &rules,
                says_any(entry, &narrowing),
            ));
        }
    }
    found
}

/// The policies that a binding puts in force.
pub(super) fn of_policies(policies: &[Value], bindings: &[Value]) -> BTreeSet<Mutator> {
    let bound: BTreeSet<&str> = bindings
        .iter()
        .map(|binding| text(binding, "/spec/policyName"))
        .collect();
    let mut found = BTreeSet::new();
    for policy in policies {
        if !bound.contains(text(policy, "/metadata/name")) {
            continue;
        }
        let rules = items(policy, "/spec/matchConstraints/resourceRules");
        let narrowing = [
            "/spec/matchConditions",
            "/spec/matchConstraints/namespaceSelector",
            "/spec/matchConstraints/objectSelector",
            "/spec/matchConstraints/excludeResourceRules",
        ];
        found.extend(mutator(
            Kind::MutatingAdmissionPolicy,
            policy,
            None,
            &rules,
            says_any(policy, &narrowing),
        ));
    }
    found
}

fn mutator(
    kind: Kind,
    object: &Value,
    webhook: Option<&str>,
    rules: &[&Value],
    narrowed: bool,
) -> Option<Mutator> {
    let resources: Vec<String> = targets()
        .filter(|target| rules.iter().any(|rule| target.matches(rule)))
        .map(|target| target.to_string())
        .collect();
    let by_name = rules.iter().any(|rule| says_any(rule, &["/resourceNames"]));
    (!resources.is_empty()).then(|| Mutator {
        kind,
        object: text(object, "/metadata/name").to_owned(),
        uid: text(object, "/metadata/uid").to_owned(),
        webhook: webhook.map(str::to_owned),
        resources,
        narrowed: narrowed || by_name,
    })
}

/// A resource of ours, as rules name it.
#[derive(Clone, Copy)]
struct Target {
    resource: &'static str,
    subresource: &'static str,
    namespaced: bool,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.resource)?;
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        Ok(())
    }
}

fn targets() -> impl Iterator<Item = Target> {
    let whole = Subject::ALL.into_iter().map(|subject| Target {
        resource: subject.plural(),
        subresource: "",
        namespaced: subject != Subject::ClusterSandboxClass,
    });
    let status = Target {
        resource: Subject::SandboxClaim.plural(),
        subresource: "status",
        namespaced: true,
    };
    whole.chain([status])
}

impl Target {
    /// As the API server matches rules: `*` alone means no subresource.
    fn matches(self, rule: &Value) -> bool {
        let lists = |field: &str, wanted: &[&str]| {
            let values = items(rule, field);
            let mut values = values.into_iter().filter_map(Value::as_str);
            values.any(|value| value == "*" || wanted.contains(&value))
        };
        let resources = items(rule, "/resources");
        let mut resources = resources.into_iter().filter_map(Value::as_str);
        let resource = resources.any(|pattern| {
            let (resource, subresource) = pattern.split_once('/').unwrap_or((pattern, ""));
            (resource == "*" || resource == self.resource)
                && (subresource == "*" || subresource == self.subresource)
        });
        let scope = match text(rule, "/scope") {
            "Namespaced" => self.namespaced,
            "Cluster" => !self.namespaced,
            _ => true,
        };
        resource
            && scope
            && lists("/apiGroups", &[names::GROUP])
            && lists("/apiVersions", &[names::VERSION])
            && lists("/operations", &["CREATE", "UPDATE"])
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn items<'a>(value: &'a Value, pointer: &str) -> Vec<&'a Value> {
    let items = value.pointer(pointer).and_then(Value::as_array);
    items.into_iter().flatten().collect()
}

/// Whether something stands at any of these places.
fn says_any(value: &Value, pointers: &[&str]) -> bool {
    pointers.iter().any(|pointer| match value.pointer(pointer) {
        None | Some(Value::Null) => false,
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
        Some(_) => true,
    })
}

#[cfg(test)]
mod tests;
