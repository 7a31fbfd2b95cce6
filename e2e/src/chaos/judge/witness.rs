//! Laws of what controllers asked for, as the API server's audit log tells: the second witness beside the
//! history. Pure.

use std::collections::{BTreeMap, BTreeSet};

use sandgate_shared::names::BASELINE_POLICY;

use super::seat::claim_of;
use crate::audit::Request;
use crate::chaos::history::{Change, Kind};

/// Objects that were no claim's when they were first seen.
fn strange(history: &[Change]) -> BTreeSet<&str> {
    let built = [
        Kind::Deployment,
        Kind::Service,
        Kind::Policy,
        Kind::Allowlist,
        Kind::Secret,
    ];
    let mut first: BTreeMap<&str, &Change> = BTreeMap::new();
    for change in history.iter().filter(|it| built.contains(&it.place.0)) {
        first.entry(change.uid()).or_insert(change);
    }
    let strange = first
        .into_iter()
        .filter(|(_, it)| claim_of(it).is_empty() && it.place.2 != BASELINE_POLICY);
    strange.map(|(uid, _)| uid).collect()
}

/// A write by a controller to an object that was no claim's.
pub fn foreign(history: &[Change], asked: &[Request]) -> Vec<(u64, String)> {
    let strange = strange(history);
    let writes = asked
        .iter()
        .filter(|it| it.of_controller() && it.wrote() && it.verb() != "create");
    writes
        .filter(|it| strange.contains(it.uid()))
        .map(|it| (it.version().parse().unwrap_or_default(), it.sentence()))
        .collect()
}

/// A status of a claim that somebody else wrote.
pub fn forged(_: &[Change], asked: &[Request]) -> Vec<(u64, String)> {
    let statuses = asked
        .iter()
        .filter(|it| it.resource() == "sandboxclaims/status" && it.wrote());
    statuses
        .filter(|it| !it.of_controller())
        .map(|it| (0, format!("{} by {}", it.sentence(), it.user())))
        .collect()
}

/// The value of a Secret in whatever a controller asked for or was answered.
pub fn told(_: &[Change], asked: &[Request]) -> Vec<(u64, String)> {
    let telling = asked.iter().filter(|it| super::secrets::tells(&it.line()));
    telling.map(|it| (0, it.sentence())).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::tests::{history, of};
    use super::super::{WITNESSED, judge_witnessed};
    use super::*;
    use crate::chaos::actors::CANARY;

    /// A line of the log: what a controller's pod wrote, with `more` laid over it.
    fn asked(more: &Value) -> Request {
        let pod = json!(["sandgate-controller-0"]);
        let mut line = json!({
            "verb": "update",
            "user": {
                "username": crate::audit::CONTROLLER,
                "extra": { "authentication.kubernetes.io/pod-name": pod },
            },
            "objectRef": { "resource": "services", "name": "a-sandbox" },
            "responseStatus": { "code": 200 },
            "responseObject": { "metadata": { "uid": "a-sandbox", "resourceVersion": "7" } },
        });
        json_patch::merge(&mut line, more);
        Request::read(&line.to_string()).unwrap()
    }

    #[rstest]
    #[case::somebody_elses(0, json!({}))]
    #[case::somebody_elses_is_deleted(0, json!({
        "verb": "delete",
        "responseObject": { "metadata": null, "details": { "uid": "a-sandbox" } },
    }))]
    #[case::a_status(1, json!({
        "user": { "username": "alice" },
        "objectRef": { "resource": "sandboxclaims", "subresource": "status" },
    }))]
    #[case::a_value(2, json!({ "requestObject": { "note": CANARY } }))]
    fn what_breaks_a_law_is_found_in_the_log(#[case] law: usize, #[case] more: Value) {
        let history = history(vec![(Kind::Service, "a-sandbox", json!({ "spec": {} }))]);
        let found = judge_witnessed(&history, &[asked(&more)]);
        let laws: Vec<&str> = found.iter().map(|it| it.law).collect();
        assert!(laws.contains(&WITNESSED[law].0), "{found:?}");
    }

    #[test]
    fn somebody_elses_allowlist_is_known_by_its_uid() {
        let history = history(vec![(Kind::Allowlist, "a-egress", json!({ "data": {} }))]);
        let writes = asked(&json!({
            "objectRef": { "resource": "configmaps", "name": "a-egress" },
            "responseObject": { "metadata": { "uid": "a-egress" } },
        }));
        let found = judge_witnessed(&history, &[writes]);
        assert!(
            found.len() == 1 && found[0].law == WITNESSED[0].0,
            "{found:?}"
        );
    }

    #[test]
    fn a_claims_own_object_and_what_was_refused_or_only_tried_break_none() {
        let mine = of("a", &json!({ "spec": {} }));
        let own = history(vec![(Kind::Service, "a-sandbox", mine)]);
        assert_eq!(judge_witnessed(&own, &[asked(&json!({}))]), []);
        let foreign = history(vec![(Kind::Service, "a-sandbox", json!({ "spec": {} }))]);
        let refused = asked(&json!({ "responseStatus": { "code": 409 } }));
        let tried = asked(&json!({ "requestURI": "/x?dryRun=All" }));
        assert_eq!(judge_witnessed(&foreign, &[refused, tried]), []);
    }
}
