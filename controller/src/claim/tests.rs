//! The whole of a reconcile against an API server in memory, cut off at every request.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::header::DATE;
use kube::core::DynamicObject;
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::names;
use sandgate_shared::render::Installation;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use super::memories::Memories;
use super::observed::{Memory, ObjectKind};
use super::plan::Settings;
use super::{Reconciler, Watches};
use crate::api_server::fake::{Fake, Fault};
use crate::api_server::{ApiServer, Clock};
use crate::key::Key;
use crate::kind::Kind;
use crate::leader::{Elector, Fence, Leaderless, Timing};
use crate::metrics::Metrics;
use crate::provenance::Provenance;
use crate::queue::Next;
use crate::watch::{Source, Subject};

mod connections;
mod finished;
mod guard;
mod idle;
mod leaving;
mod model;
mod places;

/// What becomes of a claim that is not bound where the API server tells no time.
const UNTIL_THE_TIME_IS_KNOWN: Next = Next::After(Duration::from_mins(1));
/// How long the Lease lasts.
const LEASE: Duration = Duration::from_secs(15);

/// One installation: what stands, and the controller process of the moment.
struct World {
    server: Fake,
    watches: Arc<Watches>,
    reconciler: Reconciler,
    fence: Fence,
    under_way: TaskTracker,
}

/// A server with a runtime, a class and a claim of it.
fn server() -> Fake {
    let server = Fake::default();
    let placed = |name: &str| json!({"namespace": "ns", "name": name, "uid": name});
    let runtime = json!({"metadata": placed("rt"), "spec": {"sandbox": {"enabled": true}}});
    server.put(Kind::AgentRuntime, runtime);
    let class = json!({"metadata": placed("py"),
        "spec": {"image": "x", "ports": [{"name": "http", "port": 80}]}});
    server.put(Kind::SandboxClass, class);
    server.put(Kind::SandboxClaim, claim("a", "claim"));
    server
}

impl World {
    /// A runtime, a class and a claim of it.
    fn new() -> Self {
        Self::started_on(server())
    }

    /// A controller that has just started and listed everything.
    fn started_on(server: Fake) -> Self {
        Self::with_clock(server, Clock::default())
    }

    /// The same, of an API server whose answers told `clock` the time.
    fn with_clock(server: Fake, clock: Clock) -> Self {
        let (api, metrics) = server.connect();
        Self::connected(server, (api.with_clock(clock), metrics))
    }

    /// The same, of an API server that keeps time, and of a leader who knows that there was one always.
    fn keeping_time(server: Fake) -> Self {
        let connection = server.connect_keeping_time();
        let world = Self::connected(server, connection);
        world.fence.knows(Some(Leaderless::default()));
        world
    }

    fn connected(server: Fake, (api, metrics): (ApiServer, Metrics)) -> Self {
        let watches = Arc::new(Watches::default());
        let provenance = Provenance::new(&Installation::default());
        let lease = json!({"metadata": {"namespace": "ns", "name": "lease", "uid": "lease"},
            "spec": {"holderIdentity": "pod-1"}});
        server.put(Kind::Lease, lease);
        let timing = Timing::of(LEASE);
        let elector = Elector::new(&api, metrics.clone(), "ns", "lease", "pod-1", timing);
        let fence = elector.fence();
        fence.until(Some(tokio::time::Instant::now() + timing.deadline));
        let (parts, under_way) = ((&watches, &provenance), TaskTracker::new());
        let settings = (Settings::default(), None);
        let leading = (&fence, &under_way);
        let reconciler = Reconciler::new(&api, parts, leading, settings, &metrics, "pod-1");
        let world = Self {
            server,
            watches,
            reconciler,
            fence,
            under_way,
        };
        world.list();
        world
    }

    /// The process is gone, another one starts.
    fn restarted(self) -> Self {
        Self::started_on(self.server)
    }

    /// Lets the watches catch up with what stands.
    fn list(&self) {
        for source in Source::ALL {
            self.list_only(source);
        }
    }

    /// Lets one watch catch up with what stands; what that concerns.
    fn list_only(&self, source: Source) -> BTreeSet<Subject> {
        self.watches.index.begin_listing(source);
        let mut concerned = BTreeSet::new();
        for object in self.server.all(source.kind()) {
            let object: DynamicObject = serde_json::from_value(object).unwrap();
            concerned.extend(self.watches.index.observe(source, object).unwrap());
        }
        concerned.extend(self.watches.index.end_listing(source));
        self.watches.confirmed.told();
        concerned
    }

    /// A claim whose pod is ready.
    async fn bound() -> Self {
        let world = Self::new();
        world.look().await;
        world.pod_becomes_ready();
        world.list();
        world.look().await;
        world
    }

    async fn look(&self) -> Next {
        let claim = Subject::Claim(Key::new("ns", "a"));
        Box::pin(self.reconciler.look_after(&claim)).await
    }

    /// What the cluster's own controllers would do: a pod of the Deployment becomes ready.
    fn pod_becomes_ready(&self) {
        self.becomes_ready("a-sandbox", ("set", "pod"));
    }

    /// The same of its egress proxy.
    fn proxy_becomes_ready(&self) {
        self.becomes_ready("a-egress", ("proxy-set", "proxy-pod"));
    }

    fn becomes_ready(&self, deployment: &str, (set, pod): (&str, &str)) {
        let Some(deployment) = self.server.get(Kind::Deployment, "ns", deployment) else {
            return;
        };
        let template = deployment["spec"]["template"]["metadata"].clone();
        let owned = |name: &str, owner: &Value| {
            json!({"namespace": "ns", "name": name, "uid": name, "labels": template["labels"],
                "annotations": template["annotations"],
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "K", "name": "o",
                    "uid": owner, "controller": true}]})
        };
        let made = json!({"metadata": owned(set, &deployment["metadata"]["uid"])});
        self.server.put(Kind::ReplicaSet, made);
        let made = json!({"metadata": owned(pod, &json!(set)),
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        self.server.put(Kind::Pod, made);
    }

    fn sandbox(&self, kind: Kind) -> Option<Value> {
        self.server.get(kind, "ns", "a-sandbox")
    }

    fn status(&self) -> Value {
        self.server.get(Kind::SandboxClaim, "ns", "a").unwrap()["status"].clone()
    }

    fn ready(&self) -> Value {
        let status = self.status();
        let conditions = status["conditions"].as_array().unwrap();
        conditions
            .iter()
            .find(|found| found["type"] == "Ready")
            .unwrap()
            .clone()
    }

    /// Everything that stands but what differs from run to run.
    fn standing(&self) -> Vec<Value> {
        let kinds = [
            Kind::SandboxClaim,
            Kind::Deployment,
            Kind::Service,
            Kind::NetworkPolicy,
        ];
        let mut all: Vec<Value> = kinds
            .iter()
            .flat_map(|kind| self.server.all(*kind))
            .collect();
        for object in &mut all {
            object["metadata"]["uid"] = json!(null);
            object["metadata"]["resourceVersion"] = json!(null);
            object["metadata"]["creationTimestamp"] = json!(null);
            if let Some(address) = object.pointer_mut("/spec/clusterIP") {
                *address = json!(null);
            }
            if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
                status.remove("lastUsedAt");
                // Object UIDs; and what an interrupted process could not note is noted with the
                // next status write.
                status.remove("applied");
                for condition in status["conditions"].as_array_mut().unwrap() {
                    condition["lastTransitionTime"] = json!(null);
                }
            }
        }
        all
    }
}

/// A claim of the runtime.
fn claim(name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": "SandboxClaim",
        "metadata": {"namespace": "ns", "name": name, "uid": uid, "generation": 1},
        "spec": {"agentRuntimeRef": {"name": "rt"}, "classRef": {"name": "py"}, "sessionID": "s"},
    })
}

fn writes(log: &[String]) -> Vec<&String> {
    log.iter()
        .filter(|line| !line.starts_with("GET") && !line.ends_with("dryRun"))
        .collect()
}

// Proves: O-001, O-037, C-018, C-019, C-020
#[tokio::test]
async fn a_claim_is_built_policies_first_and_bound_when_its_pod_is_ready() {
    let world = World::new();
    assert_eq!(world.look().await, UNTIL_THE_TIME_IS_KNOWN);
    assert_eq!(world.status()["phase"], "Pending");
    assert_eq!(world.status().get("addresses"), None);
    let log = world.server.log();
    let first = "PATCH /apis/omnia.altairalabs.ai/v1alpha1/namespaces/ns/sandboxclaims/a/status";
    assert_eq!(writes(&log)[0], first, "admitted before anything is made");
    let made: Vec<&str> = log
        .iter()
        .filter_map(|line| line.strip_prefix("POST ")?.rsplit('/').next())
        .filter(|made| *made != "events")
        .collect();
    assert_eq!(
        made,
        [
            "networkpolicies",
            "networkpolicies",
            "services",
            "deployments"
        ]
    );
    world.pod_becomes_ready();
    world.list();
    assert_eq!(world.look().await, Next::Settled);
    assert_eq!(world.status()["phase"], "Bound");
    let address = "a-sandbox.ns.svc.cluster.local:80";
    assert_eq!(world.status()["addresses"], json!({"http": address}));
    // Two status writes and three objects; the baseline is the namespace's (budget).
    let log = [log, world.server.log()].concat();
    let events = log.iter().filter(|line| line.ends_with("/events")).count();
    assert!(events <= 2, "{log:?}");
    assert_eq!(writes(&log).len() - events, 4 + 2, "{log:?}");
}

#[tokio::test]
async fn an_unchanged_claim_is_looked_at_without_a_request_even_after_a_restart() {
    let mut world = World::new();
    for _ in 0..2 {
        world.look().await;
        world.pod_becomes_ready();
        world.list();
    }
    world.server.log();
    world.look().await;
    assert_eq!(world.server.log(), Vec::<String>::new());
    world = world.restarted();
    world.look().await;
    assert_eq!(world.server.log(), Vec::<String>::new());
}

#[tokio::test]
async fn a_controller_cut_off_at_any_request_and_started_again_ends_in_the_same_state() {
    let undisturbed = World::new();
    undisturbed.look().await;
    undisturbed.pod_becomes_ready();
    undisturbed.list();
    undisturbed.look().await;
    let expected = undisturbed.standing();
    let requests = undisturbed.server.log().len();
    assert!(requests >= 6);
    for nth in 1..=requests {
        for fault in [Fault::Before, Fault::After] {
            let mut world = World::new();
            world.server.fail(nth, fault);
            for _ in 0..4 {
                world.look().await;
                world.pod_becomes_ready();
                world = world.restarted();
            }
            assert_eq!(world.standing(), expected, "request {nth}, {fault:?}");
        }
    }
}

#[tokio::test]
async fn a_second_controller_that_knows_nothing_yet_makes_no_duplicate_and_changes_nothing() {
    let first = World::new();
    let second = World::started_on(first.server.clone());
    first.look().await;
    first.server.log();
    let before = first.standing();
    second.look().await;
    assert_eq!(second.standing(), before);
    let log = first.server.log();
    let moved: Vec<_> = log.iter().filter(|line| line.starts_with("PUT")).collect();
    assert!(
        moved.iter().all(|line| line.ends_with("dryRun")),
        "{moved:?}"
    );
}

// Proves: C-034
#[tokio::test]
async fn what_another_leader_recorded_meanwhile_is_known_beside_what_is_remembered() {
    let world = World::bound().await;
    let stands = world.server.get(Kind::SandboxClaim, "ns", "a").unwrap();
    let claim: SandboxClaim = serde_json::from_value(stands).unwrap();
    let key = Key::new("ns", "a");
    // A look of this process came to nothing before the other leader wrote the status.
    let memories = Memories::default();
    memories.keep(&key, &claim, Memory::default());
    let known = memories.recall(&key, &claim).applied;
    let kinds: Vec<ObjectKind> = known.keys().copied().collect();
    assert_eq!(kinds, ObjectKind::OWNED);
}

// Proves: O-040
#[tokio::test]
async fn a_strangers_edit_is_undone_and_reported() {
    let world = World::new();
    world.look().await;
    let mut policy = world.sandbox(Kind::NetworkPolicy).unwrap();
    let intended = policy["spec"].clone();
    policy["spec"]["egress"] = json!([{}]);
    world.server.put(Kind::NetworkPolicy, policy);
    world.list();
    world.look().await;
    assert_eq!(
        world.sandbox(Kind::NetworkPolicy).unwrap()["spec"],
        intended
    );
    let status = world.status();
    let conditions = status["conditions"].as_array().unwrap();
    let found = conditions
        .iter()
        .find(|found| found["type"] == "SandboxModified")
        .unwrap();
    assert!(
        found["message"].as_str().unwrap().contains(".spec.egress"),
        "{found}"
    );
}

#[tokio::test]
async fn a_foreign_object_of_the_name_is_left_alone_and_fails_the_claim() {
    let world = World::new();
    let foreign = json!({"metadata": {"namespace": "ns", "name": "a-sandbox", "uid": "foreign"},
        "spec": {"replicas": 7}});
    world.server.put(Kind::Deployment, foreign);
    let stood = world.sandbox(Kind::Deployment);
    world.look().await;
    assert_eq!(world.ready()["reason"], "NameConflict");
    assert_eq!(world.status()["phase"], "Failed");
    assert_eq!(world.sandbox(Kind::Deployment), stood);
    // Nothing of ours is left.
    world.list();
    world.look().await;
    assert_eq!(world.sandbox(Kind::NetworkPolicy), None);
    assert_eq!(world.sandbox(Kind::Service), None);
}

#[tokio::test]
async fn a_claim_fails_only_on_what_the_api_server_says_now() {
    let world = World::new();
    // The watch of classes is behind: it does not know the class.
    world.watches.index.begin_listing(Source::Classes);
    world.watches.index.end_listing(Source::Classes);
    world.look().await;
    assert_eq!(world.status()["phase"], "Pending");
    assert!(world.sandbox(Kind::Deployment).is_some());
}

// Proves: C-004
#[tokio::test]
async fn a_claim_whose_class_is_missing_fails_without_an_object() {
    let world = World::new();
    world.server.take(Kind::SandboxClass, "ns", "py");
    world.list();
    world.look().await;
    assert_eq!(world.ready()["reason"], "ClassNotFound");
    assert_eq!(world.server.all(Kind::NetworkPolicy), Vec::<Value>::new());
    assert_eq!(world.server.all(Kind::Deployment), Vec::<Value>::new());
}

// Proves: C-035
#[tokio::test]
async fn a_failed_claims_deployment_goes_at_once_and_the_rest_when_its_pods_are_gone() {
    let world = World::new();
    world.look().await;
    world.pod_becomes_ready();
    let mut claim = world.server.get(Kind::SandboxClaim, "ns", "a").unwrap();
    claim["status"]["phase"] = json!("Failed");
    world.server.put(Kind::SandboxClaim, claim);
    world.list();
    world.look().await;
    assert_eq!(world.sandbox(Kind::Deployment), None);
    assert!(world.sandbox(Kind::NetworkPolicy).is_some());
    world.list();
    world.look().await;
    assert!(world.sandbox(Kind::NetworkPolicy).is_some());
    world.server.take(Kind::Pod, "ns", "pod");
    world.server.take(Kind::ReplicaSet, "ns", "set");
    world.list();
    world.look().await;
    assert_eq!(world.sandbox(Kind::NetworkPolicy), None);
    assert_eq!(world.sandbox(Kind::Service), None);
    let baseline = world
        .server
        .get(Kind::NetworkPolicy, "ns", names::BASELINE_POLICY);
    assert!(baseline.is_some());
}

#[tokio::test]
async fn a_status_that_moved_meanwhile_is_decided_upon_anew() {
    let world = World::new();
    let mut claim = world.server.get(Kind::SandboxClaim, "ns", "a").unwrap();
    claim["metadata"]["labels"] = json!({"somebody": "labelled"});
    world.server.put(Kind::SandboxClaim, claim);
    assert_eq!(world.look().await, UNTIL_THE_TIME_IS_KNOWN);
    assert_eq!(world.status()["phase"], "Pending");
}

// Proves: C-027
#[tokio::test]
async fn the_times_of_a_status_are_the_api_servers_whatever_our_clock_says() {
    let clock = Clock::default();
    let date = "Thu, 01 Jan 2037 00:00:00 GMT".parse().unwrap();
    clock.note(&[(DATE, date)].into_iter().collect(), Instant::now());
    let world = World::with_clock(World::new().server, clock);
    world.look().await;
    let used = world.status()["lastUsedAt"].clone();
    assert!(
        used.as_str().unwrap().starts_with("2037-01-01T00:0"),
        "{used}"
    );
}

#[tokio::test]
async fn a_claim_that_is_gone_is_let_go() {
    let world = World::new();
    world.server.take(Kind::SandboxClaim, "ns", "a");
    world.list();
    world.server.log();
    assert_eq!(world.look().await, Next::Settled);
    assert_eq!(world.server.log(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_never_answered_holds_a_claim_up_for_a_bounded_time() {
    let world = World::new();
    // After a look at the runtime, the admission and its Event.
    world.server.fail(4, Fault::Hang);
    let begun = tokio::time::Instant::now();
    world.look().await;
    assert!(begun.elapsed() <= crate::api_server::ANSWER_WITHIN + Duration::from_secs(1));
    assert_eq!(world.ready()["reason"], "WriteRetried");
}
