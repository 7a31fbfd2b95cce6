//! What the server keeps, and how it answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use k8s_openapi::jiff::Timestamp;
use sandgate_shared::names;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Fault;
use super::history::{self, Happened};
use super::watching::Asked;

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) objects: BTreeMap<String, Value>,
    pub(super) version: u64,
    pub(super) requests: usize,
    pub(super) fault: Option<(usize, Fault)>,
    pub(super) cut: bool,
    pub(super) watches_refused: bool,
    pub(super) log: Vec<String>,
    pub(super) history: Vec<Happened>,
    /// Seconds since the beginning: what was made later is younger.
    made: u32,
    /// When its clock stood at [`EPOCH`]; one that keeps no time tells none.
    pub(super) began: Option<Instant>,
    /// Wakes the watches.
    pub(super) woken: watch::Sender<()>,
}

/// What time it is for a server that keeps time when it begins, in seconds.
const EPOCH: i64 = 1_796_000_000;

impl State {
    pub(super) fn now(&self) -> Option<Timestamp> {
        let seconds = i64::try_from(self.began?.elapsed().as_secs()).unwrap();
        Some(Timestamp::from_second(EPOCH + seconds).unwrap())
    }

    pub(super) fn carry_out(
        &mut self,
        method: &Method,
        path: &str,
        (dry_run, by): (bool, Option<usize>),
        (asked, body): (&Asked, Value),
    ) -> (u16, Value) {
        let main = path.trim_end_matches("/status");
        let name = main.rsplit('/').next().unwrap_or_default().to_owned();
        if method == Method::POST {
            return self.create(path, dry_run, body, by);
        }
        if self.watches_refused && asked.watch_after.is_some() {
            return status(403, "Forbidden", "may not watch", "");
        }
        if method == Method::GET && is_collection(path) {
            let all = self.objects.iter();
            let found = all.filter(|(object, _)| asked.wants(object, path));
            let items: Vec<&Value> = found.map(|(_, object)| object).collect();
            let told = items.get(asked.from..).unwrap_or_default();
            let page = told
                .get(..asked.limit.unwrap_or(told.len()))
                .unwrap_or(told);
            let next = asked.from + page.len();
            let next = (next < items.len()).then(|| next.to_string());
            let version = self.version.to_string();
            let metadata = json!({"resourceVersion": version, "continue": next});
            return (200, json!({"metadata": metadata, "items": page}));
        }
        let Some(standing) = self.objects.get(main).cloned() else {
            return status(404, "NotFound", "no such object", &name);
        };
        let precondition = match *method {
            Method::DELETE => body.get("preconditions").cloned().unwrap_or_default(),
            _ => body.get("metadata").cloned().unwrap_or_default(),
        };
        for field in ["uid", "resourceVersion"] {
            let wanted = precondition.get(field).filter(|wanted| !wanted.is_null());
            if wanted.is_some_and(|wanted| *wanted != standing["metadata"][field]) {
                return status(409, "Conflict", "it changed", &name);
            }
        }
        match *method {
            Method::GET => (200, standing),
            Method::DELETE => {
                self.remove(main, by);
                (200, standing)
            }
            Method::PUT | Method::PATCH => {
                let mut next = body;
                if method == Method::PATCH {
                    let changes = std::mem::replace(&mut next, standing.clone());
                    json_patch::merge(&mut next, &changes);
                } else if let Some(status) = standing.get("status") {
                    next["status"] = status.clone();
                }
                self.number(main, &mut next);
                if let Some(address) = standing.pointer("/spec/clusterIP") {
                    next["spec"]["clusterIP"] = address.clone();
                }
                if next != standing && !dry_run {
                    self.store(main, &mut next, by);
                }
                (200, next)
            }
            _ => status(405, "MethodNotAllowed", "no such verb", &name),
        }
    }

    pub(super) fn create(
        &mut self,
        collection: &str,
        dry_run: bool,
        mut body: Value,
        by: Option<usize>,
    ) -> (u16, Value) {
        let name = history::text(&body, "/metadata/name").to_owned();
        let path = format!("{collection}/{name}");
        if self.objects.contains_key(&path) {
            return status(409, "AlreadyExists", "it exists", &name);
        }
        if path.contains("/services/") {
            let (high, low) = (self.version / 250 % 250, self.version % 250 + 1);
            body["spec"]["clusterIP"] = json!(format!("10.96.{high}.{low}"));
        }
        if !dry_run {
            self.version += 1;
            self.made += 1;
            body["metadata"]["uid"] = json!(format!("uid-{}", self.version));
            // Two of one second now and then.
            let (minutes, seconds) = (self.made / 120, self.made / 2 % 60);
            let made = format!("2026-11-20T10:{minutes:02}:{seconds:02}Z");
            body["metadata"]["creationTimestamp"] = json!(made);
            self.store(&path, &mut body, by);
        }
        (201, body)
    }

    pub(super) fn store(&mut self, path: &str, object: &mut Value, by: Option<usize>) {
        self.number(path, object);
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if let Some(now) = self.now().filter(|_| path.contains("/leases/")) {
            let manager = names::MANAGER_CONTROLLER;
            object["metadata"]["managedFields"] =
                json!([{"manager": manager, "operation": "Update", "time": now.to_string()}]);
        }
        self.objects.insert(path.to_owned(), object.clone());
        self.note(path, object.clone(), false, by);
    }

    /// Says how often the spec or the annotations of a Deployment have changed, as nobody but the server can.
    fn number(&self, path: &str, object: &mut Value) {
        if !path.contains("/deployments/") {
            return;
        }
        let said = |of: &Value| (of["spec"].clone(), of["metadata"]["annotations"].clone());
        let generation = self.objects.get(path).map_or(1, |standing| {
            let before = standing["metadata"]["generation"].as_i64();
            before.unwrap_or(1) + i64::from(said(standing) != said(object))
        });
        object["metadata"]["generation"] = json!(generation);
    }

    pub(super) fn remove(&mut self, path: &str, by: Option<usize>) {
        if let Some(mut object) = self.objects.remove(path) {
            self.version += 1;
            object["metadata"]["resourceVersion"] = json!(self.version.to_string());
            self.note(path, object, true, by);
        }
    }

    fn note(&mut self, path: &str, object: Value, gone: bool, by: Option<usize>) {
        self.history.push(Happened {
            path: path.to_owned(),
            object: Arc::new(object),
            gone,
            by,
        });
        self.woken.send_replace(());
    }
}

/// Whether a path names all objects of a kind, in a namespace or everywhere: `/api` has no group.
fn is_collection(path: &str) -> bool {
    let parts = path.split('/').count();
    let groupless = usize::from(path.starts_with("/api/"));
    [5, 7].contains(&(parts + groupless))
}

/// Whether an object is one of a collection, which is of a namespace or of all.
pub(super) fn is_in(object: &str, collection: &str) -> bool {
    let (root, plural) = collection.rsplit_once('/').unwrap_or_default();
    let everywhere = || object.starts_with(&format!("{root}/namespaces/"));
    let of_kind = || object.contains(&format!("/{plural}/"));
    object.starts_with(&format!("{collection}/")) || (everywhere() && of_kind())
}

pub(super) fn status(code: u16, reason: &str, message: &str, name: &str) -> (u16, Value) {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": reason, "message": message, "details": {"name": name}});
    (code, body)
}
