//! RBAC as the API server's authorizer reads it: which rule of which role reaches whom. Pure.

use std::fmt;

use k8s_openapi::api::rbac::v1::{
    AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that says who may do what.
#[derive(Clone, Debug, Default)]
pub struct Rbac {
    /// All ClusterRoles.
    pub cluster_roles: Vec<ClusterRole>,
    /// The Roles of the operator's namespace.
    pub roles: Vec<Role>,
    /// All ClusterRoleBindings.
    pub cluster_role_bindings: Vec<ClusterRoleBinding>,
    /// The RoleBindings of the operator's namespace.
    pub role_bindings: Vec<RoleBinding>,
}

/// Whom a binding names.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// `User`, `Group` or `ServiceAccount`.
    pub kind: String,
    /// Namespace of a ServiceAccount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{} {namespace}/{}", self.kind, self.name),
            None => write!(formatter, "{} {}", self.kind, self.name),
        }
    }
}

/// One rule that reaches one subject.
#[derive(Clone, Debug)]
pub struct Grant<'a> {
    /// Whom it reaches.
    pub subject: Subject,
    /// What it allows.
    pub rule: &'a PolicyRule,
    /// The only namespace in which it does; everywhere and cluster-wide if `None`.
    pub namespace: Option<&'a str>,
    /// Metadata of the binding that brings it.
    pub binding: &'a ObjectMeta,
    /// By which way: `RoleBinding sandgate-system/a → ClusterRole edit ← ClusterRole b`.
    pub path: String,
}

/// What somebody may ask the API server for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// `create`, `get`, …
    pub verb: &'a str,
    /// API group, empty for the core one.
    pub group: &'a str,
    /// `pods` or `pods/exec`.
    pub resource: &'a str,
}

impl Rbac {
    /// Every rule that reaches somebody: cluster-wide, or in the operator's namespace.
    pub fn grants(&self) -> Vec<Grant<'_>> {
        let mut grants = Vec::new();
        for binding in &self.cluster_role_bindings {
            let subjects = binding.subjects.as_deref().unwrap_or_default();
            let subjects = subjects.iter().map(|it| read(it, None));
            let way = format!("ClusterRoleBinding {}", name(&binding.metadata));
            let at = (None, &binding.metadata);
            self.granted(&mut grants, at, &way, &binding.role_ref, subjects);
        }
        for binding in &self.role_bindings {
            let namespace = binding.metadata.namespace.as_deref().unwrap_or_default();
            let subjects = binding.subjects.as_deref().unwrap_or_default();
            let subjects = subjects.iter().map(|it| read(it, Some(namespace)));
            let way = format!("RoleBinding {namespace}/{}", name(&binding.metadata));
            let at = (Some(namespace), &binding.metadata);
            self.granted(&mut grants, at, &way, &binding.role_ref, subjects);
        }
        grants
    }

    fn granted<'a>(
        &'a self,
        grants: &mut Vec<Grant<'a>>,
        (namespace, binding): (Option<&'a str>, &'a ObjectMeta),
        way: &str,
        role: &RoleRef,
        subjects: impl Iterator<Item = Subject>,
    ) {
        let rules = self.rules(role, namespace);
        for subject in subjects {
            grants.extend(rules.iter().map(|(rule, via)| Grant {
                subject: subject.clone(),
                rule,
                namespace,
                binding,
                path: format!("{way} → {via}"),
            }));
        }
    }

    /// The rules of a role, and how each got into it. What an aggregated ClusterRole selects counts, too,
    /// whether or not the controller manager has copied it yet.
    fn rules(&self, role: &RoleRef, namespace: Option<&str>) -> Vec<(&PolicyRule, String)> {
        if role.kind == "Role" {
            let of_name = |it: &&Role| {
                it.metadata.name.as_deref() == Some(&role.name)
                    && it.metadata.namespace.as_deref() == namespace
            };
            let rules = self.roles.iter().filter(of_name);
            return rules
                .flat_map(|it| it.rules.iter().flatten())
                .map(|rule| (rule, format!("Role {}", role.name)))
                .collect();
        }
        let Some(found) = self.cluster_role(&role.name) else {
            return Vec::new();
        };
        let via = format!("ClusterRole {}", role.name);
        let mut rules: Vec<(&PolicyRule, String)> = Vec::new();
        let selected = found.aggregation_rule.iter();
        for source in selected.flat_map(|rule| self.selected(rule)) {
            if name(&source.metadata) == role.name {
                continue;
            }
            let from = format!("{via} ← ClusterRole {}", name(&source.metadata));
            rules.extend(source.rules.iter().flatten().map(|it| (it, from.clone())));
        }
        for rule in found.rules.iter().flatten() {
            if rules.iter().all(|(known, _)| *known != rule) {
                rules.push((rule, via.clone()));
            }
        }
        rules
    }

    fn cluster_role(&self, wanted: &str) -> Option<&ClusterRole> {
        let mut roles = self.cluster_roles.iter();
        roles.find(|it| it.metadata.name.as_deref() == Some(wanted))
    }

    fn selected<'a>(
        &'a self,
        rule: &'a AggregationRule,
    ) -> impl Iterator<Item = &'a ClusterRole> + 'a {
        let selectors = rule.cluster_role_selectors.as_deref().unwrap_or_default();
        self.cluster_roles.iter().filter(move |role| {
            let mut selectors = selectors.iter();
            selectors.any(|selector| selects(selector, &role.metadata))
        })
    }

    /// Names of ClusterRoles one of whose rules, an aggregated one among them, is `wanted`.
    pub fn cluster_roles_with(&self, wanted: impl Fn(&PolicyRule) -> bool) -> Vec<String> {
        let names = self.cluster_roles.iter().map(|it| name(&it.metadata));
        let holds = |role: &&str| {
            let reference = RoleRef {
                api_group: String::new(),
                kind: "ClusterRole".to_owned(),
                name: (*role).to_owned(),
            };
            let rules = self.rules(&reference, None);
            rules.iter().any(|(rule, _)| wanted(rule))
        };
        names.filter(holds).map(str::to_owned).collect()
    }
}

/// Whether a rule speaks of this verb, group and resource, whatever names it is limited to.
pub fn speaks_of(rule: &PolicyRule, asked: &Asked<'_>) -> bool {
    let any = |said: Option<&[String]>, wanted: &str| {
        let mut said = said.unwrap_or_default().iter();
        said.any(|word| word == "*" || word == wanted)
    };
    let everywhere = asked
        .resource
        .split_once('/')
        .map(|(_, subresource)| format!("*/{subresource}"));
    let resources = rule.resources.as_deref();
    any(Some(&rule.verbs), asked.verb)
        && any(rule.api_groups.as_deref(), asked.group)
        && (any(resources, asked.resource)
            || everywhere.is_some_and(|word| resources.unwrap_or_default().contains(&word)))
}

/// The names a rule is limited to; none if it is not limited.
pub fn limited_to(rule: &PolicyRule) -> &[String] {
    rule.resource_names.as_deref().unwrap_or_default()
}

/// Whether a rule allows everything on everything.
pub fn is_everything(rule: &PolicyRule) -> bool {
    let all = |said: Option<&[String]>| said.unwrap_or_default().iter().any(|word| word == "*");
    all(Some(&rule.verbs))
        && all(rule.api_groups.as_deref())
        && all(rule.resources.as_deref())
        && limited_to(rule).is_empty()
}

fn read(subject: &k8s_openapi::api::rbac::v1::Subject, of_binding: Option<&str>) -> Subject {
    let is_account = subject.kind == "ServiceAccount";
    let namespace = subject.namespace.as_deref().or(of_binding);
    Subject {
        kind: subject.kind.clone(),
        namespace: namespace.filter(|_| is_account).map(str::to_owned),
        name: subject.name.clone(),
    }
}

fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

fn selects(selector: &LabelSelector, metadata: &ObjectMeta) -> bool {
    let label = |key: &str| metadata.labels.as_ref().and_then(|labels| labels.get(key));
    let mut labels = selector.match_labels.iter().flatten();
    let mut expressions = selector.match_expressions.iter().flatten();
    labels.all(|(key, value)| label(key) == Some(value))
        && expressions.all(|wanted| {
            let values = wanted.values.as_deref().unwrap_or_default();
            let found = label(&wanted.key);
            match wanted.operator.as_str() {
                "In" => found.is_some_and(|value| values.contains(value)),
                "NotIn" => found.is_none_or(|value| !values.contains(value)),
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}

#[cfg(test)]
pub(super) mod tests;
