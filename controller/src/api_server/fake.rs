//! An API server in memory, for tests: objects by path, resourceVersions, conflicts, preconditions,
//! dry runs; and faults at a chosen request. It filters no list, defaults nothing and validates nothing: what a real
//! one does is shown by the end-to-end tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use prometheus_client::registry::Registry;
use serde_json::{Map, Value, json};

use super::ApiServer;
use crate::kind::Kind;
use crate::metrics::Metrics;

/// What goes wrong at a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not carried out, and answered with an error.
    Before,
    /// It is refused for what it is.
    Refused,
    /// It is carried out, and the answer is lost.
    After,
    /// It is never answered.
    Hang,
}

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<String, Value>,
    version: u64,
    requests: usize,
    fault: Option<(usize, Fault)>,
    cut: bool,
    log: Vec<String>,
}

/// The server. Clones share their state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fake(Arc<Mutex<State>>);

impl Fake {
    /// A connection to it.
    pub(crate) fn connect(&self) -> (ApiServer, Metrics) {
        let fake = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| fake.clone().answer(request));
        let metrics = Metrics::register(&mut Registry::default());
        (
            ApiServer::new(kube::Client::new(service, "default"), metrics.clone()),
            metrics,
        )
    }

    /// Puts an object in place, as somebody else would.
    pub(crate) fn put(&self, kind: Kind, mut object: Value) {
        let path = path(kind, &object);
        self.0.lock().unwrap().store(&path, &mut object);
    }

    /// Takes an object away.
    pub(crate) fn take(&self, kind: Kind, namespace: &str, name: &str) {
        let place = json!({"metadata": {"namespace": namespace, "name": name}});
        self.0.lock().unwrap().objects.remove(&path(kind, &place));
    }

    /// The same, of a kind that has no namespaces.
    pub(crate) fn take_cluster(&self, kind: Kind, name: &str) {
        let place = json!({"metadata": {"name": name}});
        self.0.lock().unwrap().objects.remove(&path(kind, &place));
    }

    /// The object of a kind, if it stands.
    pub(crate) fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<Value> {
        let place = json!({"metadata": {"namespace": namespace, "name": name}});
        self.0
            .lock()
            .unwrap()
            .objects
            .get(&path(kind, &place))
            .cloned()
    }

    /// All objects of a kind.
    pub(crate) fn all(&self, kind: Kind) -> Vec<Value> {
        let plural = format!("/{}/", kind.resource().plural);
        let state = self.0.lock().unwrap();
        let of_kind = state
            .objects
            .iter()
            .filter(|(path, _)| path.contains(&plural));
        of_kind.map(|(_, object)| object.clone()).collect()
    }

    /// Lets something go wrong at the `nth` request from now, the first being 1.
    pub(crate) fn fail(&self, nth: usize, fault: Fault) {
        let mut state = self.0.lock().unwrap();
        state.fault = Some((state.requests + nth, fault));
    }

    /// From now on no request is answered.
    pub(crate) fn cut(&self) {
        self.0.lock().unwrap().cut = true;
    }

    /// Requests are answered again.
    pub(crate) fn mend(&self) {
        self.0.lock().unwrap().cut = false;
    }

    /// The requests since the last call, as `VERB path?query`, without the field manager.
    pub(crate) fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().log)
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Body>, std::io::Error> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let path = head.uri.path().to_owned();
        let dry_run = head.uri.query().unwrap_or_default().contains("dryRun");
        let (fault, (code, answer)) = {
            let mut state = self.0.lock().unwrap();
            state.requests += 1;
            let chosen = state.fault.filter(|(at, _)| *at == state.requests);
            let fault = if state.cut {
                Some(Fault::Hang)
            } else {
                chosen.map(|(_, what)| what)
            };
            let suffix = if dry_run { "?dryRun" } else { "" };
            state.log.push(format!("{} {path}{suffix}", head.method));
            let answer = match fault {
                Some(Fault::Before) => status(503, "ServiceUnavailable", "down", ""),
                Some(Fault::Refused) => status(422, "Invalid", "refused", ""),
                Some(Fault::Hang) => (0, Value::Null),
                _ => state.carry_out(&head.method, &path, dry_run, body),
            };
            (fault, answer)
        };
        match fault {
            Some(Fault::After) => return Err(std::io::Error::other("the answer was lost")),
            Some(Fault::Hang) => std::future::pending().await,
            _ => {}
        }
        let body = Body::from(serde_json::to_vec(&answer).unwrap());
        Ok(Response::builder().status(code).body(body).unwrap())
    }
}

impl State {
    fn carry_out(
        &mut self,
        method: &Method,
        path: &str,
        dry_run: bool,
        mut body: Value,
    ) -> (u16, Value) {
        let main = path.trim_end_matches("/status");
        let name = main.rsplit('/').next().unwrap_or_default().to_owned();
        if method == Method::POST {
            let name = body["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let path = format!("{path}/{name}");
            if self.objects.contains_key(&path) {
                return status(409, "AlreadyExists", "it exists", &name);
            }
            self.version += 1;
            body["metadata"]["uid"] = json!(format!("uid-{}", self.version));
            self.store(&path, &mut body);
            return (201, body);
        }
        if method == Method::GET && is_collection(path) {
            let all = self.objects.iter();
            let found = all.filter(|(object, _)| is_in(object, path));
            let items: Vec<&Value> = found.map(|(_, object)| object).collect();
            let version = self.version.to_string();
            return (
                200,
                json!({"metadata": {"resourceVersion": version}, "items": items}),
            );
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
                self.objects.remove(main);
                (200, standing)
            }
            Method::PUT | Method::PATCH => {
                let mut next = body;
                if method == Method::PATCH {
                    let changes = std::mem::replace(&mut next, standing.clone());
                    merge(&mut next, &changes);
                }
                if next != standing && !dry_run {
                    self.store(main, &mut next);
                }
                (200, next)
            }
            _ => status(405, "MethodNotAllowed", "no such verb", &name),
        }
    }

    fn store(&mut self, path: &str, object: &mut Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(path.to_owned(), object.clone());
    }
}

/// Whether a path names all objects of a kind, in a namespace or everywhere: `/api` has no group.
fn is_collection(path: &str) -> bool {
    let parts = path.split('/').count();
    let groupless = usize::from(path.starts_with("/api/"));
    [5, 7].contains(&(parts + groupless))
}

/// Whether an object is one of a collection, which is of a namespace or of all.
fn is_in(object: &str, collection: &str) -> bool {
    let (root, plural) = collection.rsplit_once('/').unwrap_or_default();
    let everywhere = || object.starts_with(&format!("{root}/namespaces/"));
    let of_kind = || object.contains(&format!("/{plural}/"));
    object.starts_with(&format!("{collection}/")) || (everywhere() && of_kind())
}

fn path(kind: Kind, object: &Value) -> String {
    let resource = kind.resource();
    let root = if resource.group.is_empty() {
        "/api"
    } else {
        "/apis"
    };
    let namespace = object["metadata"]["namespace"].as_str();
    let namespace = namespace.map(|namespace| format!("/namespaces/{namespace}"));
    format!(
        "{root}/{}{}/{}/{}",
        resource.api_version,
        namespace.unwrap_or_default(),
        resource.plural,
        object["metadata"]["name"].as_str().unwrap_or_default()
    )
}

fn status(code: u16, reason: &str, message: &str, name: &str) -> (u16, Value) {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": reason, "message": message, "details": {"name": name}});
    (code, body)
}

/// JSON merge patch.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (key, change) in changes {
        if change.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key.as_str()], change);
        }
    }
}
