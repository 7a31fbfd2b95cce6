//! The admission policy, its binding, and the record of its first refusal. Pure.

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::trust::{Distrust, Expected, Stood};

use super::Seen;
use crate::doctor::facts::{Facts, named};

/// Whether both stand as rendered, were never edited, and were seen to refuse.
pub(super) fn proved(facts: &Facts) -> Seen {
    let stood = match stands(facts) {
        Ok(stood) => stood,
        Err(distrust) => return vec![distrust.to_string()].into(),
    };
    let Some(refused) = first_refusal(facts, &stood) else {
        let namespace = &facts.site.names.namespace;
        return vec![format!(
            "nobody has seen the policy refuse since it was created at {}, so claims that need proof wait; the operator's leader tries it by dry run: its log in namespace {namespace} says who answers instead",
            stood.policy_created
        )]
        .into();
    };
    let after = refused.duration_since(stood.policy_created).as_secs();
    Seen {
        wrong: Vec::new(),
        told: vec![format!(
            "it was first seen to refuse {after} s after its creation at {}",
            stood.policy_created
        )],
    }
}

fn stands(facts: &Facts) -> Result<Stood, Distrust> {
    let expected = Expected::of(&facts.site.names);
    let (Some(policies), Some(bindings)) = (&facts.policies, &facts.policy_bindings) else {
        return Err(Distrust::NotServed);
    };
    let find = |objects| named(objects, expected.name());
    expected.examine(find(policies), find(bindings))
}

/// When the record of this very pair was made, by the API server's clock; nothing if it could still be
/// changed.
fn first_refusal(facts: &Facts, stood: &Stood) -> Option<Timestamp> {
    let name = stood.record_name(&facts.site.names.release);
    let mut records = facts.config_maps.iter();
    let record = records.find(|found| found.metadata.name.as_deref() == Some(&name))?;
    let ours = record.immutable == Some(true) && record.data == Some(stood.record());
    let created = record.metadata.creation_timestamp.as_ref();
    created.filter(|_| ours).map(|created| created.0)
}
