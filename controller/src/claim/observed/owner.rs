//! What an object's owner references say of it. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource as _;
use sandgate_shared::api::SandboxClaim;

/// The owner that controls an object.
pub fn controller(owners: Option<&[OwnerReference]>) -> Option<&OwnerReference> {
    let mut owners = owners.unwrap_or_default().iter();
    owners.find(|owner| owner.controller == Some(true))
}

/// The name of the claim that an owner is, if it is one.
pub fn claim(owner: &OwnerReference) -> Option<&str> {
    let group = owner.api_version.split_once('/').map(|(group, _)| group);
    let is_claim =
        group == Some(&*SandboxClaim::group(&())) && owner.kind == SandboxClaim::kind(&());
    is_claim.then_some(owner.name.as_str())
}
