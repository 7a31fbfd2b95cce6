//! Laws of what Connections place. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sandgate_shared::names;

use super::bound;
use super::seat::Seat as _;
use crate::chaos::actors::CANARY;
use crate::chaos::history::{Change, Kind, Standing};

/// Whether a text holds the value of a Secret, as it is or as it stands in one.
pub fn tells(text: &str) -> bool {
    text.contains(CANARY) || text.contains(&STANDARD.encode(CANARY))
}

pub fn told(history: &[Change]) -> Vec<(u64, String)> {
    let others = history.iter().filter(|it| it.place.0 != Kind::Secret);
    let telling = others.filter(|it| tells(&it.object.to_string()));
    telling
        .map(|it| (it.version, format!("{:?}", it.place)))
        .collect()
}

/// Whether a credential that stands is not placed, or one that is gone still is: in the end.
pub fn misplaced(now: &Standing<'_>, claim: &Change) -> Option<String> {
    if !bound::binds(claim) || !claim.is_admitted() || !claim.is_live() {
        return None;
    }
    let namespace = &claim.place.1;
    let all_there = bound::has_credential(now, claim);
    let sandbox = names::sandbox(&claim.place.2);
    let deployment = now.get(&(Kind::Deployment, namespace.clone(), sandbox.clone()))?;
    let placed = deployment.object.to_string().contains("secretKeyRef");
    let files = (
        Kind::Secret,
        namespace.clone(),
        format!("{sandbox}-connections"),
    );
    let rendered = now.contains_key(&files);
    ([placed, rendered] != [all_there; 2]).then(|| {
        format!("its credential is there: {all_there}, placed: {placed}, its file: {rendered}")
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::tests::{binding, history, of, sources};
    use super::super::{judge, unsettled};
    use super::*;

    #[rstest]
    #[case::as_it_is(json!({ "spec": { "env": CANARY } }))]
    #[case::as_in_a_secret(json!({ "spec": { "env": STANDARD.encode(CANARY) } }))]
    fn a_value_outside_of_secrets_is_found(#[case] object: Value) {
        let told = history(vec![(Kind::Service, "a", object)]);
        let found = judge(&told);
        assert_eq!(found[0].law, "no value of a Secret is told", "{found:?}");
        let kept = json!({ "data": { "token": STANDARD.encode(CANARY) } });
        assert_eq!(judge(&history(vec![(Kind::Secret, "a", kept)])), []);
    }

    #[rstest]
    #[case::gone_and_placed(false, true, true)]
    #[case::gone_and_its_file_left(false, false, true)]
    #[case::there_and_not_placed(true, false, false)]
    fn a_credential_that_does_not_follow_its_source_is_unsettled(
        #[case] there: bool,
        #[case] placed: bool,
        #[case] rendered: bool,
    ) {
        let mut changes = vec![(Kind::Claim, "a", binding())];
        changes.extend(sources().into_iter().filter(|_| there));
        let template = json!({ "spec": { "env": if placed { "secretKeyRef" } else { "" } } });
        changes.push((Kind::Deployment, "a-sandbox", of("a", &template)));
        if rendered {
            changes.push((Kind::Secret, "a-sandbox-connections", of("a", &json!({}))));
        }
        let told = unsettled(&history(changes), &[]).join("; ");
        assert!(told.contains("its credential is there"), "{told}");
    }
}
