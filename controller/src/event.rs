//! Events, as people read them with `kubectl describe`. The making is pure; [`publish`] does I/O.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::core::DynamicObject;
use sandgate_shared::names;
use serde_json::json;

use crate::api_server::{ApiServer, Place};
use crate::cause::Chain;
use crate::claim::plan::{EventDraft, event_note};
use crate::kind::Kind;

/// Where Events about objects without a namespace are kept; the API server takes them nowhere else.
const CLUSTER: &str = "default";

/// What an Event is called.
#[derive(Clone, Copy, Debug)]
pub enum Called<'a> {
    /// After the moment: each is told.
    ByTime(Timestamp),
    /// After a word: the same is told once, by whichever replica, until Events expire.
    Once(&'a str),
}

/// The Event about the object at `place`, with `uid` if it is known.
pub fn event(
    place: Place<'_>,
    uid: Option<&str>,
    draft: &EventDraft,
    called: Called<'_>,
    instance: &str,
) -> DynamicObject {
    let (now, ending) = match called {
        Called::ByTime(now) => (now, format!("{:x}", now.as_nanosecond())),
        Called::Once(word) => (Timestamp::now(), names::short_hash(word)),
    };
    // A name of an object may be as long as one of an Event.
    let room = 253 - 1 - ending.len();
    let start = place.name.floor_char_boundary(room);
    let start = place.name.get(..start).unwrap_or_default();
    let name = format!("{}.{ending}", start.trim_end_matches(['.', '-']));
    let mut regarding = json!({
        "apiVersion": place.kind.api_version(),
        "kind": place.kind.as_str(),
        "name": place.name,
        "uid": uid,
    });
    if let (Some(namespace), Some(fields)) = (place.namespace, regarding.as_object_mut()) {
        fields.insert("namespace".to_owned(), json!(namespace));
    }
    let data = json!({
        "eventTime": MicroTime(now),
        "reportingController": names::MANAGER_CONTROLLER,
        "reportingInstance": instance,
        "type": if draft.warning { "Warning" } else { "Normal" },
        "reason": draft.reason,
        "action": draft.action,
        "note": event_note(&draft.note),
        "regarding": regarding,
    });
    DynamicObject::new(&name, &Kind::Event.resource())
        .within(place.namespace.unwrap_or(CLUSTER))
        .data(data)
}

/// Writes an Event. One that is lost is lost: it is never the only place that says what it says. One
/// that stands already is told already.
pub async fn publish(api: &ApiServer, event: &DynamicObject) {
    let namespace = event.metadata.namespace.as_deref();
    match api.create(Kind::Event, namespace, event).await {
        Err(error) if !error.is_already_exists() => {
            tracing::info!(
                event = event.metadata.name,
                error = %Chain(&error),
                "an Event could not be written"
            );
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
