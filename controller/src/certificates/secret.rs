//! The Secret that CAs and leaf are kept in. Pure.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use k8s_openapi::ByteString;
use kube::core::DynamicObject;
use sandgate_certs::certificate::Certificate;
use sandgate_certs::directory::TlsFiles;
use sandgate_certs::store::Stored;
use sandgate_shared::names;
use serde_json::json;

use crate::kind::Kind;

/// Reads the Secret; what it holds that is of no use is named in the result.
pub(super) fn read(secret: &DynamicObject) -> Result<Stored, serde_json::Error> {
    let data: BTreeMap<String, ByteString> = match secret.data.get("data") {
        Some(data) if !data.is_null() => serde_json::from_value(data.clone())?,
        _ => BTreeMap::new(),
    };
    Ok(Stored::from_data(&data))
}

/// The Secret to be written: over `standing`, with its uid and resourceVersion, or anew.
pub(super) fn object(
    standing: Option<&DynamicObject>,
    namespace: &str,
    name: &str,
    next: &Stored,
) -> DynamicObject {
    let fresh = || DynamicObject::new(name, &Kind::Secret.resource()).within(namespace);
    let mut object = standing.cloned().unwrap_or_else(fresh);
    object.metadata.labels.get_or_insert_default().insert(
        names::LABEL_MANAGED_BY.to_owned(),
        names::MANAGED_BY.to_owned(),
    );
    object.data(json!({"type": "Opaque", "data": next.to_data()}))
}

/// When the leaf in the TLS directory expires, since the epoch.
pub(super) fn expiry(files: &TlsFiles) -> Option<Duration> {
    let chain = Certificate::read_all(files.certificate.as_bytes()).ok()?;
    chain
        .first()?
        .not_after()
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()
}

#[cfg(test)]
mod tests;
