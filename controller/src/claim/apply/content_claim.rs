//! Makes the PersistentVolumeClaim of a workspace's content. Does I/O.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt as _;
use kube::core::DynamicObject;

use super::Apply;
use super::objects::refusal;
use crate::claim::plan::{ContentOutcome, Refusal};
use crate::kind::Kind;

impl Apply {
    /// Makes it, once: one that stands is taken as it is.
    pub(super) async fn make_content_claim(&self, claim: &PersistentVolumeClaim) -> ContentOutcome {
        let namespace = claim.namespace().unwrap_or_default();
        let object = serde_json::to_value(claim).and_then(serde_json::from_value::<DynamicObject>);
        let object = match object {
            Ok(object) => object,
            Err(error) => {
                return ContentOutcome::Refused(Refusal {
                    message: error.to_string(),
                    ..Refusal::default()
                });
            }
        };
        let kind = Kind::PersistentVolumeClaim;
        match self.api.create(kind, Some(&namespace), &object).await {
            Ok(_) => ContentOutcome::Stands,
            Err(error) if error.is_already_exists() => ContentOutcome::Stands,
            Err(error) => ContentOutcome::Refused(refusal(&error)),
        }
    }
}
