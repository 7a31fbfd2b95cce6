//! What of the chart's roles the operator uses, and what it was refused for want of a role. Reads
//! audit logs.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use k8s_openapi::api::rbac::v1::PolicyRule;
use sandgate_cli::doctor::held::Right;
use sandgate_cli::doctor::rbac::{Asked, limited_to, speaks_of};
use sandgate_shared::render::{self, Installation as Names};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::audit::{CONTROLLER, Request};

/// Names the folder in which each cluster leaves a [`Record`] when it ends.
pub const VARIABLE: &str = "SANDGATE_RIGHTS";

/// Rights that no request shows, and what they are for.
pub const NEVER_ASKED_FOR: &[(&str, &str)] = &[(
    "update sandboxclaims.omnia.altairalabs.ai/finalizers",
    "where OwnerReferencesPermissionEnforcement is on, an owner reference that blocks its owner's deletion needs it",
)];

/// What the operator asked for on one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Rights that it used.
    pub used: BTreeSet<Right>,
    /// Requests that RBAC refused and that no role of the chart would allow.
    pub refused: Vec<String>,
}

/// One rule of a role of the operator's.
#[derive(Clone, Debug)]
struct Granted {
    rule: PolicyRule,
    namespace: Option<String>,
}

impl Granted {
    fn covers(&self, request: &Request) -> bool {
        let resource = request.resource();
        let asked = Asked {
            verb: request.verb(),
            group: request.group(),
            resource: &resource,
        };
        let names = limited_to(&self.rule);
        let here = self.namespace.as_deref();
        speaks_of(&self.rule, &asked)
            && (names.is_empty() || names.iter().any(|name| name == request.name()))
            && here.is_none_or(|here| here == request.namespace())
    }

    fn rights(&self) -> impl Iterator<Item = Right> + '_ {
        let groups = self.rule.api_groups.iter().flatten();
        groups.flat_map(move |group| {
            let resources = self.rule.resources.iter().flatten();
            resources.flat_map(move |resource| {
                self.rule.verbs.iter().map(move |verb| Right {
                    group: group.clone(),
                    resource: resource.clone(),
                    verb: verb.clone(),
                })
            })
        })
    }
}

/// The rules that the chart gives the operator's ServiceAccount.
fn granted() -> Vec<Granted> {
    let names = Names::default();
    let objects = render::rbac(&names);
    let of_operator = objects.iter().filter(|object| {
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        name == Some(names.release.as_str())
    });
    let rules = of_operator.flat_map(|object| {
        let namespace = object
            .pointer("/metadata/namespace")
            .and_then(Value::as_str);
        let rules = object.get("rules").and_then(Value::as_array);
        rules.into_iter().flatten().filter_map(move |rule| {
            Some(Granted {
                rule: serde_json::from_value(rule.clone()).ok()?,
                namespace: namespace.map(str::to_owned),
            })
        })
    });
    rules.collect()
}

/// Every right that the chart gives the operator.
pub fn all() -> BTreeSet<Right> {
    let granted = granted();
    granted.iter().flat_map(Granted::rights).collect()
}

impl Record {
    /// Reads an audit log.
    pub fn read(log: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(log)?;
        let ours = text.lines().filter(|line| line.contains(CONTROLLER));
        let requests = ours.filter_map(Request::read);
        Ok(Self::of(requests.filter(Request::of_controller)))
    }

    /// Of these requests.
    fn of(requests: impl Iterator<Item = Request>) -> Self {
        let granted = granted();
        let mut record = Self::default();
        for request in requests {
            if !request.forbidden() {
                record.used.insert(Right {
                    group: request.group().to_owned(),
                    resource: request.resource(),
                    verb: request.verb().to_owned(),
                });
            } else if !granted.iter().any(|it| it.covers(&request)) {
                // A role that would allow it was taken away, or was not known yet: a test does that, or a
                // chart that comes or goes.
                let sentence = request.sentence();
                if !record.refused.contains(&sentence) {
                    record.refused.push(sentence);
                }
            }
        }
        record
    }

    /// Adds another cluster's.
    pub fn add(&mut self, other: Self) {
        self.used.extend(other.used);
        self.refused.extend(other.refused);
    }

    /// Rights that the chart gives and nobody used, those apart that no request shows.
    pub fn unused(&self) -> Vec<Right> {
        let known = |right: &Right| {
            let mut known = NEVER_ASKED_FOR.iter();
            known.any(|(name, _)| *name == right.to_string())
        };
        let unused = all().into_iter().filter(|right| !self.used.contains(right));
        unused.filter(|right| !known(right)).collect()
    }
}

/// Dropped with its cluster, leaves a [`Record`] of it, and fails a test in which the operator was refused
/// what no role of the chart would allow.
#[derive(Debug)]
pub struct Watch {
    log: PathBuf,
    for_a_test: bool,
}

impl Watch {
    /// Of a cluster with this audit log.
    pub fn over(log: PathBuf) -> Self {
        Self {
            log,
            for_a_test: false,
        }
    }

    /// The cluster ends with a test, which is to fail.
    pub fn for_a_test(&mut self) {
        self.for_a_test = true;
    }
}

impl Drop for Watch {
    // A test that ends has no other way to fail.
    fn drop(&mut self) {
        let Ok(record) = Record::read(&self.log) else {
            return;
        };
        if let Some(folder) = std::env::var_os(VARIABLE) {
            let name = self.log.parent().and_then(Path::file_name);
            let file = Path::new(&folder).join(name.unwrap_or_default());
            if let Ok(text) = serde_json::to_string(&record) {
                // The one who set the variable misses the rights of it and says so.
                drop(fs::write(file.with_extension("json"), text));
            }
        }
        let fails = self.for_a_test && !std::thread::panicking();
        assert!(
            record.refused.is_empty() || !fails,
            "the operator was refused what it needs and no role of the chart allows: {}",
            record.refused.join(", ")
        );
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn request(verb: &str, reference: &Value, decision: &str) -> Request {
        let event = json!({
            "verb": verb,
            "objectRef": reference,
            "user": {
                "username": CONTROLLER,
                "extra": { "authentication.kubernetes.io/pod-name": ["sandgate-controller-0"] },
            },
            "annotations": { "authorization.k8s.io/decision": decision },
        });
        Request::read(&event.to_string()).unwrap()
    }

    fn right(verb: &str, group: &str, resource: &str) -> Right {
        Right {
            group: group.to_owned(),
            resource: resource.to_owned(),
            verb: verb.to_owned(),
        }
    }

    #[test]
    fn a_right_that_was_used_is_not_among_the_unused() {
        let status = json!({
            "apiGroup": "omnia.altairalabs.ai", "resource": "sandboxclaims",
            "subresource": "status", "namespace": "a", "name": "b",
        });
        let used = right("patch", "omnia.altairalabs.ai", "sandboxclaims/status");
        assert!(Record::default().unused().contains(&used));
        let record = Record::of([request("patch", &status, "allow")].into_iter());
        assert!(!record.unused().contains(&used));
        assert_eq!(record.refused, Vec::<String>::new());
    }

    fn lease(namespace: &str, name: &str) -> Value {
        json!({
            "apiGroup": "coordination.k8s.io", "resource": "leases",
            "namespace": namespace, "name": name,
        })
    }

    #[rstest]
    #[case::no_role_allows_it("list", json!({ "resource": "nodes" }), true)]
    #[case::a_role_allows_it("list", json!({ "resource": "namespaces" }), false)]
    #[case::by_name("get", lease("sandgate-system", "sandgate-controller"), false)]
    #[case::by_another_name("get", lease("sandgate-system", "other"), true)]
    #[case::in_another_namespace("get", lease("default", "sandgate-controller"), true)]
    fn a_refusal_counts_unless_a_role_of_the_chart_would_have_allowed_it(
        #[case] verb: &str,
        #[case] reference: Value,
        #[case] counts: bool,
    ) {
        let refused = request(verb, &reference, "forbid");
        let record = Record::of([refused].into_iter());
        assert_eq!(!record.refused.is_empty(), counts, "{record:?}");
        assert!(record.used.is_empty());
    }

    #[test]
    fn what_is_never_asked_for_is_granted_all_the_same() {
        let all: Vec<String> = all().iter().map(Right::to_string).collect();
        for (right, _) in NEVER_ASKED_FOR {
            assert!(all.iter().any(|granted| granted == right), "{right}");
        }
    }
}
