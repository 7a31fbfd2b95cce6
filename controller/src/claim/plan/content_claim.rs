//! The PersistentVolumeClaim of a workspace's content (C-023): made once, then left alone, whoever made it.
//! No claim owns it. Pure.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements},
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};
use sandgate_shared::names;

use super::Refusal;
use crate::claim::observed::Content;

/// How a workspace's content is shared unless it says otherwise: by pods on any node.
const ACCESS_MODE: &str = "ReadWriteMany";

/// What became of the claim that was to be made.
#[derive(Clone, Debug, PartialEq)]
pub enum ContentOutcome {
    /// It was made, or somebody was faster.
    Stands,
    /// The API server refused it.
    Refused(Refusal),
}

/// The claim that a workspace asks for; none if it does not say how large.
pub(super) fn content_claim(content: &Content, namespace: &str) -> Option<PersistentVolumeClaim> {
    let size = content.asked.size.clone()?;
    let modes = content.asked.access_modes.clone();
    let modes = modes.filter(|modes| !modes.is_empty());
    let managed = (names::LABEL_MANAGED_BY, names::MANAGED_BY);
    let labels = [managed].map(|(key, value)| (key.to_owned(), value.to_owned()));
    Some(PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(content.claim.clone()),
            namespace: Some(namespace.to_owned()),
            labels: Some(labels.into()),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(modes.unwrap_or_else(|| vec![ACCESS_MODE.to_owned()])),
            resources: Some(VolumeResourceRequirements {
                requests: Some(BTreeMap::from([("storage".to_owned(), Quantity(size))])),
                limits: None,
            }),
            storage_class_name: content.asked.storage_class.clone(),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    })
}
