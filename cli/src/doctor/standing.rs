//! Does the installation stand as its chart put it? Pure.

use k8s_openapi::api::core::v1::Pod;
use sandgate_shared::names::GROUP;
use sandgate_shared::render;
use sandgate_shared::rules::Subject as Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::facts::{Facts, items, named};
use super::same::{differences, sentence};

mod admission;
mod policy;
mod rights;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// Its name in the report, such as `webhooks`.
    pub id: String,
    /// What should be.
    pub title: String,
    /// Whether it is.
    pub holds: bool,
    /// What was seen; what is wrong comes with the way out.
    pub said: Vec<String>,
}

/// What is wrong, and else what is to be told of a check that holds.
struct Seen {
    wrong: Vec<String>,
    told: Vec<String>,
}

impl From<Vec<String>> for Seen {
    fn from(wrong: Vec<String>) -> Self {
        Self {
            wrong,
            told: Vec::new(),
        }
    }
}

/// Looks at everything.
pub fn checks(facts: &Facts) -> Vec<Check> {
    [
        check("replicas", "the operator's replicas are ready", replicas(facts)),
        check(
            "account",
            "nobody but the operator's pods runs as its ServiceAccount, and no lasting token of it exists",
            account(facts).into(),
        ),
        check(
            "rights",
            "the operator may do in every namespace what this version needs, and no more",
            rights::cluster_wide(facts),
        ),
        check(
            "kinds",
            "the four kinds are served with all rules of this version",
            kinds(facts).into(),
        ),
        check(
            "webhooks",
            "both webhook configurations fail closed and are as the chart writes them",
            admission::webhooks(facts).into(),
        ),
        check(
            "mutators",
            "nobody else rewrites our kinds in admission",
            admission::mutators(facts).into(),
        ),
        check(
            "policy",
            "the admission policy and its binding stand unedited and were seen to refuse",
            policy::proved(facts),
        ),
    ]
    .into()
}

fn check(id: &str, title: &str, seen: Seen) -> Check {
    Check {
        id: id.to_owned(),
        title: title.to_owned(),
        holds: seen.wrong.is_empty(),
        said: if seen.wrong.is_empty() {
            seen.told
        } else {
            seen.wrong
        },
    }
}

fn replicas(facts: &Facts) -> Seen {
    let spec = facts.deployment.spec.as_ref();
    let status = facts.deployment.status.as_ref();
    let wanted = spec.and_then(|spec| spec.replicas).unwrap_or(1);
    let ready = status.and_then(|status| status.ready_replicas).unwrap_or(0);
    let told = format!("{ready} of {wanted} replicas are ready");
    if ready >= wanted && wanted > 0 {
        return Seen {
            wrong: Vec::new(),
            told: vec![told],
        };
    }
    let deployment = facts.operator();
    let namespace = &facts.site.names.namespace;
    let way = format!("kubectl -n {namespace} describe deployment {deployment}");
    vec![format!("{told}; look at {way}")].into()
}

fn account(facts: &Facts) -> Vec<String> {
    let account = &facts.site.names.service_account;
    let foreign = facts.pods.iter().filter(|pod| {
        let spec = pod.spec.as_ref();
        let runs_as = spec.and_then(|spec| spec.service_account_name.as_ref());
        runs_as == Some(account) && !is_of_operator(facts, pod)
    });
    let pods = foreign.map(|pod| {
        let pod = pod.metadata.name.as_deref().unwrap_or_default();
        format!(
            "pod {pod} runs as ServiceAccount {account} and is not the operator's; find out who made it and delete it"
        )
    });
    let secrets = facts.token_secrets.iter().map(|secret| {
        format!(
            "Secret {secret} holds a token of ServiceAccount {account} that never ends; delete it"
        )
    });
    pods.chain(secrets).collect()
}

/// Whether a pod is of a ReplicaSet of the operator's Deployment.
fn is_of_operator(facts: &Facts, pod: &Pod) -> bool {
    let deployment = facts.operator();
    let mut owners = pod.metadata.owner_references.iter().flatten();
    owners.any(|owner| {
        let of_deployment = owner.name.strip_prefix(deployment);
        owner.controller == Some(true)
            && owner.kind == "ReplicaSet"
            && of_deployment.is_some_and(|rest| rest.starts_with('-'))
    })
}

fn kinds(facts: &Facts) -> Vec<String> {
    let expected = render::crds();
    Kind::ALL
        .iter()
        .filter_map(|kind| {
            let wanted = format!("{}.{GROUP}", kind.plural());
            let Some(stored) = named(&facts.kinds, &wanted) else {
                return Some(format!("{wanted} does not exist; install the chart"));
            };
            let conditions = items(stored, "/status/conditions");
            let established = conditions
                .iter()
                .any(|it| it["type"] == "Established" && it["status"] == "True");
            if !established {
                return Some(format!(
                    "{wanted} is not served; kubectl describe crd {wanted} says why"
                ));
            }
            let rendered = named(&expected, &wanted)?;
            // The name of the kind of lists is made up from the kind's own.
            let apart = ["listKind"];
            let found = differences(&rendered["spec"], &stored["spec"], "spec", &apart);
            (!found.is_empty()).then(|| {
                format!(
                    "{wanted} is not as version {} writes it: {}; upgrade the chart",
                    env!("CARGO_PKG_VERSION"),
                    sentence(&found)
                )
            })
        })
        .collect()
}

#[cfg(test)]
pub(super) mod tests;
