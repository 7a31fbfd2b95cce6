//! An API server in memory, for tests: objects by path, resourceVersions, conflicts, preconditions,
//! dry runs; faults at a chosen request, or at a gate where each request waits; and the history of all
//! objects, which watches tell. It selects by name alone, defaults nothing but the cluster IP of a Service and
//! validates nothing: what a real one does is shown by the end-to-end tests.

pub(crate) mod gate;
pub(crate) mod history;
mod state;
mod watching;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::DATE;
use k8s_openapi::jiff::Timestamp;
use kube::client::Body;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{ApiServer, Clock};
use crate::kind::Kind;
use crate::metrics::Metrics;
use gate::Gate;
use history::Happened;
use state::{State, status};
use watching::Asked;

/// What goes wrong at a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not carried out, and answered with an error.
    Before,
    /// It is refused for what it is.
    Refused,
    /// It is refused because the object changed, whether it did or not.
    Conflict,
    /// It is carried out, and the answer is lost.
    After,
    /// It is never answered.
    Hang,
}

/// The body of an answer: that of a watch goes on.
type Answer = UnsyncBoxBody<Bytes, Infallible>;

/// The server. Clones share their state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fake(Arc<Mutex<State>>);

impl Fake {
    /// A connection to it.
    pub(crate) fn connect(&self) -> (ApiServer, Metrics) {
        self.connected(None)
    }

    /// The same, whose requests wait at a gate.
    pub(crate) fn connect_through(&self, gate: &Gate) -> (ApiServer, Metrics) {
        self.connected(Some(gate.clone()))
    }

    fn connected(&self, gate: Option<Gate>) -> (ApiServer, Metrics) {
        let fake = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            fake.clone().answer(request, gate.clone())
        });
        let metrics = Metrics::register(&mut Registry::default());
        (
            ApiServer::new(kube::Client::new(service, "default"), metrics.clone()),
            metrics,
        )
    }

    /// A connection to it that hears what time it is there, by tokio's clock. A Lease that is written
    /// says when, as that of a real one does.
    pub(crate) fn connect_keeping_time(&self) -> (ApiServer, Metrics) {
        self.0
            .lock()
            .unwrap()
            .began
            .get_or_insert_with(Instant::now);
        let (fake, clock) = (self.clone(), Clock::default());
        let told = clock.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (fake, told) = (fake.clone(), told.clone());
            async move {
                let answer = fake.answer(request, None).await?;
                told.note(answer.headers(), std::time::Instant::now());
                Ok::<_, std::io::Error>(answer)
            }
        });
        let metrics = Metrics::register(&mut Registry::default());
        let client = kube::Client::new(service, "default");
        let api = ApiServer::new(client, metrics.clone()).with_clock(clock);
        (api, metrics)
    }

    /// What time it is there.
    pub(crate) fn now(&self) -> Timestamp {
        self.0.lock().unwrap().now().unwrap()
    }

    /// Puts an object in place, as somebody else would.
    pub(crate) fn put(&self, kind: Kind, mut object: Value) {
        let path = path(kind, &object);
        self.0.lock().unwrap().store(&path, &mut object, None);
    }

    /// Changes an object without anything that a write would leave.
    pub(crate) fn edit(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        edit: impl FnOnce(&mut Value),
    ) {
        let place = json!({"metadata": {"namespace": namespace, "name": name}});
        let mut state = self.0.lock().unwrap();
        edit(state.objects.get_mut(&path(kind, &place)).unwrap());
    }

    /// Takes an object away.
    pub(crate) fn take(&self, kind: Kind, namespace: &str, name: &str) {
        let place = json!({"metadata": {"namespace": namespace, "name": name}});
        self.0.lock().unwrap().remove(&path(kind, &place), None);
    }

    /// Makes an object, as somebody else would: unless one of its name is there, with a UID of its own.
    pub(crate) fn make(&self, kind: Kind, object: Value) -> bool {
        let path = path(kind, &object);
        let collection = path.rsplit_once('/').unwrap().0;
        let mut state = self.0.lock().unwrap();
        state.create(collection, false, object, None).0 == 201
    }

    /// What happened since, which is numbered from there on.
    pub(crate) fn since(&self, number: usize) -> Vec<Happened> {
        let state = self.0.lock().unwrap();
        state.history.get(number..).unwrap_or_default().to_vec()
    }

    /// How much has happened.
    pub(crate) fn happened(&self) -> usize {
        self.0.lock().unwrap().history.len()
    }

    /// The same, of a kind that has no namespaces.
    pub(crate) fn take_cluster(&self, kind: Kind, name: &str) {
        let place = json!({"metadata": {"name": name}});
        self.0.lock().unwrap().remove(&path(kind, &place), None);
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

    /// From now on nobody may watch anything.
    pub(crate) fn refuse_watches(&self) {
        self.0.lock().unwrap().watches_refused = true;
    }

    /// Requests are answered again.
    pub(crate) fn mend(&self) {
        let mut state = self.0.lock().unwrap();
        state.cut = false;
        state.woken.send_replace(());
    }

    /// The requests since the last call, as `VERB path?query`, without the field manager.
    pub(crate) fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().log)
    }

    async fn answer(
        self,
        request: Request<Body>,
        gate: Option<Gate>,
    ) -> Result<Response<Answer>, std::io::Error> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let path = head.uri.path().to_owned();
        let query = head.uri.query().unwrap_or_default();
        let (dry_run, asked) = (query.contains("dryRun"), Asked::read(query));
        let mut at_the_gate = None;
        if let Some(gate) = &gate {
            at_the_gate = gate.pass(&format!("{} {path}", head.method)).await;
        }
        let by = gate.map(|gate| gate.who);
        let (fault, (code, answer)) = {
            let mut state = self.0.lock().unwrap();
            state.requests += 1;
            let chosen = state.fault.filter(|(at, _)| *at == state.requests);
            let fault = if state.cut {
                Some(Fault::Hang)
            } else {
                at_the_gate.or(chosen.map(|(_, what)| what))
            };
            let suffix = if dry_run { "?dryRun" } else { "" };
            state.log.push(format!("{} {path}{suffix}", head.method));
            let answer = match fault {
                Some(Fault::Before) => status(503, "ServiceUnavailable", "down", ""),
                Some(Fault::Refused) => status(422, "Invalid", "refused", ""),
                Some(Fault::Conflict) => status(409, "Conflict", "it changed", ""),
                Some(Fault::Hang) => (0, Value::Null),
                _ => state.carry_out(&head.method, &path, (dry_run, by), (&asked, body)),
            };
            (fault, answer)
        };
        match fault {
            Some(Fault::After) => return Err(std::io::Error::other("the answer was lost")),
            Some(Fault::Hang) => std::future::pending().await,
            _ => {}
        }
        let body = if code == 200 && asked.watch_after.is_some() {
            watching::body(&self, &path, asked)
        } else {
            Full::from(serde_json::to_vec(&answer).unwrap()).boxed_unsync()
        };
        let mut response = Response::builder().status(code);
        if let Some(now) = self.0.lock().unwrap().now() {
            let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
            response = response.header(DATE, date);
        }
        Ok(response.body(body).unwrap())
    }
}

/// Where an object of a kind stands.
pub(crate) fn path(kind: Kind, object: &Value) -> String {
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
