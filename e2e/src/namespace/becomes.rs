//! Waiting for what an object becomes, driven by a watch; a failure shows the object, its events and
//! what was waited for. Does I/O.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher::watch_object;
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Namespace;
use crate::failure::{Failure, Outcome};

/// How long a sentence may take to come true.
pub const DEADLINE: Duration = Duration::from_secs(30);

impl Namespace {
    /// Waits until the object called `name` is as `holds` says, and returns it. `sentence` ends
    /// "the `SandboxClaim` x …" in the failure: "is Bound and has addresses".
    pub async fn becomes<K>(
        &self,
        name: &str,
        sentence: &str,
        mut holds: impl FnMut(&K) -> bool,
    ) -> Outcome<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + Serialize + Debug + Send + 'static,
    {
        let found = self.watch::<K, _>(name, |object| match object {
            Some(object) if holds(object) => Some(object.clone()),
            _ => None,
        });
        match found.await {
            Ok(object) => Ok(object),
            Err(last) => Err(self.never::<K>(name, sentence, last).await),
        }
    }

    /// Waits until no object called `name` is there.
    pub async fn vanishes<K>(&self, name: &str) -> Outcome
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + Serialize + Debug + Send + 'static,
    {
        match self
            .watch::<K, _>(name, |object| object.is_none().then_some(()))
            .await
        {
            Ok(()) => Ok(()),
            Err(last) => Err(self.never::<K>(name, "vanishes", last).await),
        }
    }

    /// Follows one object until `decide` has an answer; at the deadline, what it last was.
    async fn watch<K, T>(
        &self,
        name: &str,
        mut decide: impl FnMut(Option<&K>) -> Option<T>,
    ) -> Result<T, Last<K>>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let mut last = Last {
            object: None,
            trouble: None,
        };
        let mut changes = std::pin::pin!(watch_object(self.api::<K>(), name));
        let follow = async {
            while let Some(change) = changes.next().await {
                match change {
                    Ok(object) => {
                        if let Some(answer) = decide(object.as_ref()) {
                            return Some(answer);
                        }
                        last.object = object;
                    }
                    Err(error) => last.trouble = Some(error.to_string()),
                }
            }
            None
        };
        match tokio::time::timeout(DEADLINE, follow).await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) | Err(_) => Err(last),
        }
    }

    async fn never<K>(&self, name: &str, sentence: &str, last: Last<K>) -> Failure
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let kind = K::kind(&());
        let seconds = DEADLINE.as_secs();
        let mut lines = vec![format!(
            "after {seconds} s it is still not so that the {kind} {name} {sentence}"
        )];
        lines.push(match &last.object {
            Some(object) => {
                let mut value = serde_json::to_value(object).unwrap_or_default();
                hide(&kind, &mut value);
                serde_saphyr::to_string(&value).unwrap_or_default()
            }
            None => "there is no such object".to_owned(),
        });
        lines.extend(
            last.trouble
                .map(|trouble| format!("the watch had trouble: {trouble}")),
        );
        let events = self.events_about(name).await;
        lines.extend(events.into_iter().map(|event| format!("event: {event}")));
        let said = self.cluster().what_we_said(self.name(), 20);
        if !said.is_empty() {
            lines.push(format!("our processes said of {}:\n{said}", self.name()));
        }
        Failure::saying(lines.join("\n"))
    }

    /// `reason: message` of each event about an object called `name`.
    pub async fn events_about(&self, name: &str) -> Vec<String> {
        let events: Api<Event> = self.api();
        let about = ListParams::default().fields(&format!("involvedObject.name={name}"));
        let list = events
            .list(&about)
            .await
            .map(|list| list.items)
            .unwrap_or_default();
        list.into_iter()
            .map(|event| {
                let (reason, message) = (event.reason, event.message);
                format!(
                    "{}: {}",
                    reason.unwrap_or_default(),
                    message.unwrap_or_default()
                )
            })
            .collect()
    }
}

/// What was last known of a watched object.
struct Last<K> {
    object: Option<K>,
    trouble: Option<String>,
}

/// Takes out what no log may hold, and what nobody reads.
fn hide(kind: &str, value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        if kind == "Secret" {
            fields.remove("data");
            fields.remove("stringData");
        }
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_secret_in_a_failure_shows_no_value() {
        let mut secret =
            json!({ "metadata": { "name": "s", "managedFields": [] }, "data": { "k": "dg==" } });
        hide("Secret", &mut secret);
        assert_eq!(secret, json!({ "metadata": { "name": "s" } }));
    }
}
