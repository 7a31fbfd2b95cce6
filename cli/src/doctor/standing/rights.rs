//! Is what the operator itself may do in every namespace what its version needs, and no more? Pure.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::PolicyRule;
use sandgate_shared::names::GROUP;
use sandgate_shared::render;
use serde_json::Value;

use super::Seen;
use crate::doctor::facts::Facts;
use crate::doctor::rbac::{Subject, limited_to};

/// What people ask about first: group, resource, and what it is for.
const TOLD: &[(&str, &str, &str)] = &[
    (
        "",
        "secrets",
        "a Connection may name any of its namespace, and placed files are kept in one",
    ),
    (
        "",
        "persistentvolumeclaims",
        "the content of workspaces is kept on one",
    ),
    (GROUP, "connections", "what sandboxes are signed in with"),
    (GROUP, "sandboxclaims", "what people and agents ask for"),
    (GROUP, "sandboxclaims/status", "what became of it"),
    ("apps", "deployments", "what runs a sandbox"),
    ("", "services", "what a sandbox is dialled by"),
    (
        "",
        "configmaps",
        "the hosts that a sandbox's egress proxy lets through",
    ),
    (
        "",
        "pods",
        "those of sandboxes that have finished go, and an egress proxy's are told of new hosts",
    ),
    ("networking.k8s.io", "networkpolicies", "what shuts it in"),
];

/// One verb on one resource, and the only names it is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    resource: String,
    names: Vec<String>,
    verb: String,
}

/// Compares what the operator holds in every namespace with what this version's chart gives it.
pub(super) fn cluster_wide(facts: &Facts) -> Seen {
    let needs: BTreeSet<Right> = needed(facts).iter().flat_map(expanded).collect();
    let names = &facts.site.names;
    let operator = Subject {
        kind: "ServiceAccount".to_owned(),
        namespace: Some(names.namespace.clone()),
        name: names.service_account.clone(),
    };
    let grants = facts.rbac.grants();
    let held = grants
        .iter()
        .filter(|grant| grant.subject == operator && grant.namespace.is_none());
    let mut holds = BTreeSet::new();
    let mut more: BTreeMap<(String, &str), BTreeSet<String>> = BTreeMap::new();
    for grant in held {
        for right in expanded(grant.rule) {
            if needs.contains(&right) {
                holds.insert(right);
            } else {
                let of = more.entry((right.on(), &grant.path)).or_default();
                of.insert(right.verb);
            }
        }
    }
    let more = more.into_iter().map(|((resource, path), verbs)| {
        let verbs = listed(verbs);
        format!(
            "the operator may {verbs} {resource}, which this version does not need, by {path}; take that away"
        )
    });
    let mut less: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for right in needs.difference(&holds) {
        let of = less.entry(right.on()).or_default();
        of.insert(right.verb.clone());
    }
    let less = less.into_iter().map(|(resource, verbs)| {
        let verbs = listed(verbs);
        format!("the operator may not {verbs} {resource}; upgrade the chart")
    });
    Seen {
        wrong: less.chain(more).collect(),
        told: told(&needs),
    }
}

impl Right {
    /// The resource, and the names in it, in words.
    fn on(&self) -> String {
        if self.names.is_empty() {
            self.resource.clone()
        } else {
            format!("{} {}", self.resource, self.names.join(" and "))
        }
    }
}

/// The rules of the ClusterRole that the chart makes for the operator.
fn needed(facts: &Facts) -> Vec<PolicyRule> {
    let objects = render::rbac(&facts.site.names);
    let role = objects
        .iter()
        .find(|object| object["kind"] == "ClusterRole");
    let rules = role.map_or(Value::Null, |role| role["rules"].clone());
    serde_json::from_value(rules).unwrap_or_default()
}

fn expanded(rule: &PolicyRule) -> Vec<Right> {
    let mut names = limited_to(rule).to_vec();
    names.sort();
    let mut rights = Vec::new();
    for group in rule.api_groups.iter().flatten() {
        for resource in rule.resources.iter().flatten() {
            rights.extend(rule.verbs.iter().map(|verb| Right {
                resource: qualified(group, resource),
                names: names.clone(),
                verb: verb.clone(),
            }));
        }
    }
    rights
}

fn qualified(group: &str, resource: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}

fn listed(verbs: BTreeSet<String>) -> String {
    verbs.into_iter().collect::<Vec<_>>().join(", ")
}

/// What it may do in every namespace with what people ask about.
fn told(needs: &BTreeSet<Right>) -> Vec<String> {
    let lines = TOLD.iter().filter_map(|(group, resource, what)| {
        let resource = qualified(group, resource);
        let of = needs
            .iter()
            .filter(|right| right.resource == resource && right.names.is_empty());
        let verbs: BTreeSet<String> = of.map(|right| right.verb.clone()).collect();
        (!verbs.is_empty()).then(|| format!("{resource}: {}; {what}", listed(verbs)))
    });
    lines.collect()
}
