//! What its watches tell a process.

use std::collections::BTreeSet;

use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::Process;
use crate::api_server::fake::history::Happened;
use crate::claim::tests::model::cluster::standing_at;
use crate::watch::Source;

impl Process {
    /// A watch begins anew, with a list of what stood when this much had happened.
    pub fn list(&mut self, source: Source, at: usize) {
        let index = &self.watches.index;
        index.begin_listing(source);
        let mut concerned = BTreeSet::new();
        for event in standing_at(&self.server, at) {
            if is_of(source, &event) {
                concerned.extend(index.observe(source, told(source, &event.object)).unwrap());
            }
        }
        concerned.extend(index.end_listing(source));
        self.watches.queue.push_all(concerned);
        self.heard.insert(source, at);
    }

    /// A watch tells the next of what happened.
    pub fn hear(&mut self, source: Source, events: usize) {
        let from = self.heard.get(&source).copied().unwrap_or_default();
        let mut at = from;
        let mut left = events;
        for event in self.server.since(from) {
            if left == 0 {
                break;
            }
            at += 1;
            if !is_of(source, &event) {
                continue;
            }
            left -= 1;
            let object = told(source, &event.object);
            let index = &self.watches.index;
            let concerned = if event.gone {
                index.forget(source, &object)
            } else {
                index.observe(source, object).unwrap()
            };
            self.watches.queue.push_all(concerned);
        }
        self.heard.insert(source, at);
    }

    /// All watches are up to date.
    pub fn hear_all(&mut self) {
        for source in Source::ALL {
            self.hear(source, usize::MAX);
        }
    }
}

/// Whether a watch of the source tells of this.
fn is_of(source: Source, event: &Happened) -> bool {
    let labelled = source.label_selector().is_none_or(|label| {
        let labels = event.object.pointer("/metadata/labels");
        labels.is_some_and(|labels| labels.get(&label).is_some())
    });
    labelled && event.is(&source.kind().resource().plural)
}

/// What a watch of the source tells of an object.
fn told(source: Source, object: &Value) -> DynamicObject {
    let mut object = object.clone();
    if source.metadata_only() {
        object = json!({"metadata": object["metadata"]});
    }
    serde_json::from_value(object).unwrap()
}
