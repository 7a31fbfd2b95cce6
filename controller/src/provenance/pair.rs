//! Reads policy and binding as they stand. Does I/O.

use sandgate_shared::trust::{Distrust, Expected, Stood, Trust};
use serde_json::Value;

use crate::api_server::{ApiServer, CallError, Place};
use crate::cause::Chain;
use crate::kind::Kind;

/// What stands, if it is as it has to be.
///
/// # Errors
/// What is to be thought of it otherwise.
pub(super) async fn read(api: &ApiServer, expected: &Expected) -> Result<Stood, Trust> {
    let policy = get(api, Kind::ValidatingAdmissionPolicy, expected).await?;
    let binding = get(api, Kind::ValidatingAdmissionPolicyBinding, expected).await?;
    match expected.examine(policy.as_ref(), binding.as_ref()) {
        Ok(stood) => Ok(stood),
        Err(absent) if absent.is_absence() => Err(match sibling(api, expected).await? {
            Some(sibling) => Trust::Held { sibling },
            None => Trust::Broken(absent),
        }),
        Err(wrong) => Err(Trust::Broken(wrong)),
    }
}

async fn get(api: &ApiServer, kind: Kind, expected: &Expected) -> Result<Option<Value>, Trust> {
    let place = Place::cluster(kind, expected.name());
    let object = api.get(place).await.map_err(|error| unread(&error))?;
    let object = object.map(serde_json::to_value).transpose();
    object.map_err(|error| Trust::Unread(error.to_string()))
}

/// The policy of another version of this release (P-030).
async fn sibling(api: &ApiServer, expected: &Expected) -> Result<Option<String>, Trust> {
    let labels = expected.siblings();
    let kind = Kind::ValidatingAdmissionPolicy;
    let policies = api.list(kind, Some(&labels)).await;
    let mut names = policies
        .map_err(|error| unread(&error))?
        .into_iter()
        .filter_map(|policy| policy.metadata.name);
    Ok(names.find(|name| name != expected.name()))
}

fn unread(error: &CallError) -> Trust {
    if error.is_not_served() {
        Trust::Broken(Distrust::NotServed)
    } else {
        Trust::Unread(Chain(error).to_string())
    }
}
