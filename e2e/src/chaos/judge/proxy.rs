//! Laws of egress proxies. Pure.

use std::collections::BTreeSet;

use sandgate_shared::names::{self, ANNOTATION_PROXY, COMPONENT_EGRESS};

use super::seat::{self, claim_of, component_of};
use super::{of_kind, pods, secrets};
use crate::chaos::deeds::WIRED;
use crate::chaos::history::{Change, Kind, Standing};

/// Sandboxes that were made before the proxy that they are told of was ready.
pub fn late(history: &[Change]) -> Vec<(u64, String)> {
    let annotation = ANNOTATION_PROXY.replace('/', "~1");
    let annotation = format!("/metadata/annotations/{annotation}");
    let mut made: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    let sandboxes = of_kind(history, Kind::Deployment)
        .filter(|it| !claim_of(it).is_empty() && component_of(it) != COMPONENT_EGRESS);
    for sandbox in sandboxes {
        let claim = claim_of(sandbox);
        let told = sandbox.object.pointer(&annotation).is_some();
        if made.insert(claim)
            && told
            && !pods::one_was_ready(history, sandbox, claim, COMPONENT_EGRESS)
        {
            found.push((sandbox.version, sandbox.place.2.clone()));
        }
    }
    found
}

/// What of a proxy stands though its claim has no host to reach any more, or the other way round: in the end.
pub fn misplaced(now: &Standing<'_>, claim: &Change, builds: bool) -> Option<String> {
    let wired = claim.text("/spec/classRef/name") == WIRED;
    let wanted = builds && wired && secrets::source_stands(now, &claim.place.1);
    let name = names::egress(&claim.place.2);
    let stands = [Kind::Deployment, Kind::Service, Kind::Policy]
        .map(|kind| seat::stands(now, claim, kind, &name));
    (stands != [wanted; 3]).then(|| {
        format!(
            "its proxy is wanted: {wanted}, and Deployment, Service and policy stand: {stands:?}"
        )
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use sandgate_shared::names::LABEL_COMPONENT;
    use serde_json::{Value, json};

    use super::super::tests::{claim, history, of, with};
    use super::super::{judge, unsettled};
    use super::*;

    fn of_proxy(more: &Value) -> Value {
        let component = json!({ "metadata": { "labels": { LABEL_COMPONENT: COMPONENT_EGRESS } } });
        of("a", &with(component, more))
    }

    fn pod(ready: &str) -> Value {
        json!({ "status": { "conditions": [{ "type": "Ready", "status": ready }] } })
    }

    fn told() -> Value {
        of(
            "a",
            &json!({ "metadata": { "annotations": { ANNOTATION_PROXY: "10.0.0.9" } } }),
        )
    }

    #[rstest]
    #[case::before_its_proxy_was_ready(vec![(Kind::Pod, "proxy", of_proxy(&pod("False")))], 1)]
    #[case::without_a_proxy(vec![], 1)]
    #[case::with_a_pod_of_another_part(vec![(Kind::Pod, "pod", of("a", &pod("True")))], 1)]
    #[case::after_its_proxy(vec![(Kind::Pod, "proxy", of_proxy(&pod("True")))], 0)]
    fn a_sandbox_that_is_told_of_a_proxy_comes_after_it(
        #[case] mut changes: Vec<(Kind, &str, Value)>,
        #[case] laws: usize,
    ) {
        changes.push((Kind::Deployment, "a-sandbox", told()));
        assert_eq!(late(&history(changes)).len(), laws);
    }

    #[test]
    fn a_proxy_that_is_ready_is_no_pod_that_an_address_may_lead_to() {
        let dialled = with(
            claim(1, "Bound"),
            &json!({ "status": { "addresses": { "tool": "a-sandbox:80" } } }),
        );
        let found = judge(&history(vec![
            (Kind::Claim, "a", claim(1, "Pending")),
            (Kind::Pod, "proxy", of_proxy(&pod("True"))),
            (Kind::Claim, "a", dialled),
        ]));
        let laws: Vec<&str> = found.iter().map(|it| it.law).collect();
        assert_eq!(laws, ["no address is published without a ready pod"]);
    }

    #[rstest]
    #[case::left_behind(false, true)]
    #[case::missing(true, false)]
    fn a_proxy_that_does_not_follow_its_hosts_is_unsettled(
        #[case] hosts: bool,
        #[case] stands: bool,
    ) {
        let wired = json!({ "spec": { "classRef": { "name": WIRED } } });
        let mut changes = vec![(Kind::Claim, "a", with(claim(1, "Bound"), &wired))];
        if hosts {
            changes.push((Kind::Connection, "github", json!({})));
            changes.push((Kind::Secret, "github-secret", json!({})));
        }
        if stands {
            changes.push((Kind::Deployment, "a-egress", of_proxy(&json!({}))));
        }
        let told = unsettled(&history(changes), &[]).join("; ");
        let wanted = format!("its proxy is wanted: {hosts}");
        assert!(told.contains(&wanted), "{told}");
    }
}
