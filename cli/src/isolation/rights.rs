//! What whoever runs a measurement must be allowed to, asked before anything is made. Does I/O.

use futures::future::join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::PostParams;

use super::stage::Stage;
use super::trouble::Trouble;

/// Where a right is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the whole cluster, or of what has no namespace.
    Cluster,
    /// In the run's own namespaces, whose names are not known before.
    Run,
    /// In the namespace of the cluster's DNS.
    Dns,
    /// In `default`, where the API server's Service is.
    Default,
}

/// What is done with one resource.
struct Right {
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    place: Place,
}

const fn right(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    place: Place,
) -> Right {
    Right {
        group,
        resource,
        verbs,
        place,
    }
}

/// All that a run does. Deployments of all namespaces were listed by then.
const RIGHTS: &[Right] = &[
    right(
        "",
        "namespaces",
        &["get", "create", "delete", "list", "watch"],
        Place::Cluster,
    ),
    right("", "serviceaccounts", &["list", "watch"], Place::Run),
    right(
        "",
        "pods",
        &["get", "create", "delete", "list", "watch"],
        Place::Run,
    ),
    right("", "pods/log", &["get"], Place::Run),
    right("", "services", &["get", "create"], Place::Run),
    right(
        "networking.k8s.io",
        "networkpolicies",
        &["get", "delete", "list", "watch"],
        Place::Run,
    ),
    right(OURS, "agentruntimes", &["create", "patch"], Place::Run),
    right(OURS, "sandboxclasses", &["create"], Place::Run),
    right(
        OURS,
        "sandboxclaims",
        &["create", "delete", "list", "watch"],
        Place::Run,
    ),
    right("", "services", &["list"], Place::Dns),
    right("discovery.k8s.io", "endpointslices", &["list"], Place::Dns),
    right("", "services", &["get"], Place::Default),
    right(
        "discovery.k8s.io",
        "endpointslices",
        &["list"],
        Place::Default,
    ),
];

/// With a Secret to pull by.
const PULLING: &[Right] = &[
    right("", "secrets", &["create"], Place::Run),
    right("", "serviceaccounts", &["patch"], Place::Run),
];

/// The API group of sandboxes and runtimes.
const OURS: &str = "omnia.altairalabs.ai";

/// Fails with a list of what is missing.
pub async fn check(stage: &Stage) -> Result<(), Trouble> {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(stage.client.clone());
    let pulling = stage.pull_secret.as_ref().map(|_| PULLING);
    let rights = RIGHTS.iter().chain(pulling.into_iter().flatten());
    let asked = rights.flat_map(|right| right.verbs.iter().map(move |verb| (right, *verb)));
    let mut asked: Vec<ResourceAttributes> = asked
        .map(|(right, verb)| attributes(stage, right, verb))
        .collect();
    asked.extend(stage.pull_secret.as_ref().map(|secret| ResourceAttributes {
        verb: Some("get".to_owned()),
        resource: Some("secrets".to_owned()),
        namespace: Some(secret.namespace.clone()),
        name: Some(secret.name.clone()),
        ..ResourceAttributes::default()
    }));
    let answers = asked.iter().map(|attributes| {
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(attributes.clone()),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let reviews = reviews.clone();
        async move { reviews.create(&PostParams::default(), &review).await }
    });
    let mut missing: Vec<&ResourceAttributes> = Vec::new();
    for (attributes, answer) in asked.iter().zip(join_all(answers).await) {
        let answer = answer.map_err(|error| Trouble::of("ask for its own rights", error))?;
        if !answer.status.is_some_and(|status| status.allowed) {
            missing.push(attributes);
        }
    }
    if missing.is_empty() {
        Ok(())
    } else {
        Err(Trouble::MissingRights(in_words(&missing)))
    }
}

fn attributes(stage: &Stage, right: &Right, verb: &str) -> ResourceAttributes {
    let namespace = match right.place {
        Place::Cluster => None,
        Place::Run => Some(stage.sandboxes.clone()),
        Place::Dns => Some(stage.installed.dns_namespace.clone()),
        Place::Default => Some("default".to_owned()),
    };
    let (resource, subresource) = match right.resource.split_once('/') {
        Some((resource, part)) => (resource, Some(part.to_owned())),
        None => (right.resource, None),
    };
    ResourceAttributes {
        verb: Some(verb.to_owned()),
        group: Some(right.group.to_owned()),
        resource: Some(resource.to_owned()),
        subresource,
        namespace,
        ..ResourceAttributes::default()
    }
}

/// One text for each resource and namespace: "create and delete namespaces".
fn in_words(missing: &[&ResourceAttributes]) -> Vec<String> {
    let same = |one: &&&ResourceAttributes, next: &&&ResourceAttributes| {
        one.resource == next.resource
            && one.subresource == next.subresource
            && one.namespace == next.namespace
    };
    let together = missing.chunk_by(|one, next| same(&one, &next));
    let words = together.filter_map(|part| {
        let first = part.first()?;
        let verbs: Vec<&str> = part.iter().filter_map(|it| it.verb.as_deref()).collect();
        let mut words = format!(
            "{} {}",
            verbs.join(" or "),
            first.resource.as_deref().unwrap_or_default()
        );
        if let Some(part) = &first.subresource {
            words = format!("{words}/{part}");
        }
        if let Some(namespace) = &first.namespace {
            words = format!("{words} in namespace {namespace}");
        }
        Some(words)
    });
    words.collect()
}

#[cfg(test)]
mod tests;
