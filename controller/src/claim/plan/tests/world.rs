//! A claim and just enough of an API server to carry plans out: it stores what it is sent, fills in
//! a few defaults as the real one does, and answers dry runs.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::api::sandbox_claim::ClaimPhase;
use sandgate_shared::api::{SandboxClaim, SandboxClaimStatus, SandboxClassSpec};
use sandgate_shared::trust::{Stood, Trust};
use serde_json::{Value, json};

use super::super::{
    Action, Applied, DryRun, Intent, Outcome, Plan, Refusal, Settings, StatusDecision, Stored,
    Verdict, plan, status, status_patch,
};
use crate::claim::observed::{
    AllowedTarget, Binding, Content, LiveObject, Lookup, Memory, ObjectKind, Observed, ObservedPod,
    ObservedReplicaSet, ServiceKey, Storage, Target, TargetPort,
};
use crate::leader::Leaderless;

/// UID of the claim of [`World::codegen`].
pub(super) const CLAIM_UID: &str = "0b9c2f0e-6a57-4c53-9c41-1d2f3a4b5c6d";

/// The moment tests begin at.
pub(super) fn start() -> Timestamp {
    "2026-11-20T10:00:00Z".parse().unwrap()
}

/// `seconds` after the beginning.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(start().as_second() + seconds).unwrap()
}

/// The claim of the reference's example.
pub(super) fn claim() -> SandboxClaim {
    serde_json::from_value(json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": "SandboxClaim",
        "metadata": {
            "name": "my-agent-sbx-7k2qp",
            "namespace": "my-agents",
            "uid": CLAIM_UID,
            "resourceVersion": "41",
            "generation": 1,
        },
        "spec": {
            "agentRuntimeRef": {"name": "my-agent"},
            "classRef": {"name": "codegen-default", "kind": "ClusterSandboxClass"},
            "sessionID": "session-7",
            "handle": "codegen/default",
        },
    }))
    .unwrap()
}

/// The class of the reference's example.
pub(super) fn class() -> SandboxClassSpec {
    serde_json::from_value(json!({
        "image": "ghcr.io/altairalabs/codegen-sandbox:latest",
        "args": ["-addr=:8080", "-workspace=/workspace"],
        "env": [
            {"name": "HOME", "value": "/sandbox-cache"},
            {"name": "GOCACHE", "value": "/sandbox-cache/go-build"},
        ],
        "ports": [{"name": "mcp", "port": 8080}],
        "filesystem": {
            "workspace": {"mountPath": "/workspace"},
            "scratch": [{"name": "cache", "mountPath": "/sandbox-cache", "sizeLimit": "4Gi"}],
        },
        "resources": {
            "requests": {"cpu": "50m", "memory": "128Mi"},
            "limits": {"cpu": "1", "memory": "512Mi"},
        },
        "runtimeClassName": "kata-containers",
        "egress": {
            "allowedServices": [{"name": "artifact-mirror", "ports": [443]}],
            "dns": true,
        },
    }))
    .unwrap()
}

/// The content of the workspace that owns the claim's namespace.
pub(super) fn content() -> Content {
    Content {
        workspace: "my-workspace".to_owned(),
        claim: "workspace-my-workspace-content".to_owned(),
        stands: true,
        asked: serde_json::from_value(json!({"enabled": true, "size": "10Gi"})).unwrap(),
    }
}

/// The admission policy, as it stood at the beginning.
pub(super) fn stood() -> Stood {
    Stood {
        policy: "policy".to_owned(),
        binding: "binding".to_owned(),
        policy_created: start(),
        since: start(),
    }
}

/// It was proved to be in force then.
pub(super) fn proven() -> Trust {
    Trust::Proven {
        stood: stood(),
        proof: start(),
    }
}

/// The Service that class names.
pub(super) fn mirror() -> AllowedTarget {
    AllowedTarget {
        selector: vec![("app".to_owned(), "artifact-mirror".to_owned())],
        addresses: vec!["10.96.0.9".parse().unwrap()],
        ports: vec![TargetPort {
            port: 443,
            target: Target::Number(8443),
            protocol: "TCP".to_owned(),
        }],
    }
}

/// A claim and its API server.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) observed: Observed,
    pub(super) settings: Settings,
    /// What the API server holds.
    pub(super) store: BTreeMap<ObjectKind, Value>,
    /// The answer to every write of this kind, instead of taking it.
    pub(super) refuses: Option<(ObjectKind, Refusal)>,
    /// Writes that moved a resourceVersion, status writes among them.
    pub(super) writes: u64,
    /// Reasons of the Events published.
    pub(super) events: Vec<&'static str>,
    /// What the pod of the egress proxy is like, while its Deployment stands.
    pub(super) proxy_pod: ObservedPod,
    /// The cluster IP that the next Service gets.
    pub(super) service_address: String,
}

impl World {
    /// The reference's example: its claim, class, runtime and Service; nothing built yet.
    pub(super) fn codegen() -> Self {
        let key = ServiceKey {
            namespace: "my-agents".to_owned(),
            name: "artifact-mirror".to_owned(),
        };
        let runtime = serde_json::from_value(json!({"sandbox": {"enabled": true}})).unwrap();
        Self {
            observed: Observed {
                runtime: Lookup::Found(runtime),
                class: Lookup::Found(class()),
                services: BTreeMap::from([(key, Lookup::Found(mirror()))]),
                storage: Storage::Content(content()),
                leaderless: Some(Leaderless::default()),
                ..Observed::of(claim())
            },
            settings: Settings::default(),
            store: BTreeMap::new(),
            refuses: None,
            writes: 0,
            events: Vec::new(),
            proxy_pod: ObservedPod {
                ready: true,
                ..ObservedPod::default()
            },
            service_address: "10.96.0.7".to_owned(),
        }
    }

    /// The same, admitted: its objects are to be made.
    pub(super) fn admitted() -> Self {
        let mut world = Self::codegen();
        world.reconcile(start());
        world
    }

    /// The same, built and bound at the beginning.
    pub(super) fn bound() -> Self {
        let mut world = Self::codegen();
        world.settle(start());
        world.pod_is(|pod| pod.ready = true);
        world.settle(start());
        assert_eq!(
            world.phase(),
            Some(ClaimPhase::Bound),
            "{:?}",
            world.ready()
        );
        world
    }

    pub(super) fn class_mut(&mut self) -> &mut SandboxClassSpec {
        match &mut self.observed.class {
            Lookup::Found(class) => class,
            Lookup::Missing => panic!("this world has no class"),
        }
    }

    pub(super) fn plan(&self, now: Timestamp) -> Plan {
        plan(&self.observed, &self.settings, now)
    }

    /// What is planned at the beginning once the claim is admitted.
    pub(super) fn planned(&self) -> Plan {
        let mut world = self.clone();
        if matches!(world.plan(start()).verdict, Verdict::Admit(_)) {
            world.reconcile(start());
        }
        world.plan(start())
    }

    /// One reconcile: plan, apply, remember, report.
    pub(super) fn reconcile(&mut self, now: Timestamp) -> (Plan, StatusDecision) {
        let mut plan = self.plan(now);
        if plan.verdict == Verdict::Look {
            self.observed.bindings = Some(self.without_connections());
            plan = self.plan(now);
        }
        let applied = self.apply(&plan);
        for deletion in &plan.delete {
            self.store.remove(&deletion.kind);
            self.writes += 1;
        }
        self.observed.memory.record(&plan, &applied, now);
        let decision = status(&self.observed, &plan, &applied, &self.settings, now);
        self.events
            .extend(decision.events.iter().map(|event| event.reason));
        if let Some(status) = &decision.status {
            let patch = status_patch(&self.observed.claim, status).unwrap();
            let mut whole = serde_json::to_value(&self.observed.claim).unwrap();
            merge(&mut whole["status"], &patch["status"]);
            self.observed.claim = serde_json::from_value(whole).unwrap();
            assert_eq!(self.observed.claim.status.as_ref(), Some(status));
            self.writes += 1;
        }
        let gone = |pod: &ObservedPod| plan.finished.iter().any(|done| done.uid == pod.uid);
        self.observed.pods.retain(|pod| !gone(pod));
        for poke in &plan.pokes {
            self.proxy_pod.allowlist = Some(poke.told.clone());
            self.writes += 1;
        }
        self.writes += u64::try_from(plan.cut.len()).unwrap();
        self.writes += u64::try_from(plan.finished.len()).unwrap();
        self.look();
        (plan, decision)
    }

    /// Reconciles until nothing is left to do; says how many passes it took.
    pub(super) fn settle(&mut self, now: Timestamp) -> usize {
        for pass in 0..10 {
            let (plan, decision) = self.reconcile(now);
            let deletes = !plan.delete.is_empty() || !plan.finished.is_empty();
            let does = !plan.ensure.is_empty() || deletes || !plan.pokes.is_empty();
            if !does && decision.status.is_none() {
                return pass;
            }
        }
        panic!("the claim does not settle: {:?}", self.plan(now));
    }

    /// What is found of the claim's Connections where a test has put none.
    fn without_connections(&self) -> Vec<Binding> {
        let bindings = self.observed.claim.spec.connections.iter().flatten();
        bindings
            .map(|binding| Binding {
                role: binding.role.clone(),
                connection: binding.connection.clone(),
                found: None,
                secret: None,
            })
            .collect()
    }

    pub(super) fn apply(&mut self, plan: &Plan) -> Applied {
        let mut applied = Applied::default();
        let mut stopped: Vec<ObjectKind> = Vec::new();
        for intent in &plan.ensure {
            if stopped.iter().any(|it| intent.kind.comes_behind(*it)) {
                continue;
            }
            let outcome = self.carry_out(intent);
            if outcome.stops() {
                stopped.push(intent.kind);
            }
            applied.outcomes.push((intent.kind, outcome));
        }
        applied
    }

    fn carry_out(&mut self, intent: &Intent) -> Outcome {
        if let Some((kind, refusal)) = &self.refuses
            && *kind == intent.kind
        {
            return Outcome::Refused(refusal.clone());
        }
        let Some(live) = self.store.get(&intent.kind).cloned() else {
            return Outcome::Created(self.put(intent.kind, intent.object.clone()));
        };
        if let Some(taken) = intent.taken(&live) {
            return taken;
        }
        if live["immutable"] == true {
            return Outcome::Refused(Refusal {
                code: 422,
                message: "immutable: Forbidden: field is immutable when `immutable` is set"
                    .to_owned(),
                ..Refusal::default()
            });
        }
        let merged = intent.merged(&live);
        let merged = with_defaults(intent.kind, merged, Some(&live), &self.service_address);
        if matches!(intent.action, Action::Update(_)) {
            return Outcome::Updated(self.put(intent.kind, merged));
        }
        match intent.judge_dry_run(&live, &merged) {
            DryRun::Same(stored) => Outcome::Unchanged(stored),
            DryRun::Heal(paths) => Outcome::Healed {
                stored: self.put(intent.kind, merged),
                paths,
            },
            DryRun::HoldBack(held) => Outcome::HeldBack(held),
        }
    }

    /// Stores an object as the API server would, or edits one behind the controller's back.
    pub(super) fn put(&mut self, kind: ObjectKind, object: Value) -> Stored {
        let before = self.store.get(&kind).cloned();
        let mut object = with_defaults(kind, object, before.as_ref(), &self.service_address);
        if let Some(before) = &before
            && *before == object
        {
            return Stored::read(before).unwrap();
        }
        self.writes += 1;
        object["metadata"]["resourceVersion"] = json!((1000 + self.writes).to_string());
        let changed = before.as_ref().is_none_or(|before| {
            let annotations = |of: &Value| of["metadata"]["annotations"].clone();
            before["spec"] != object["spec"] || annotations(before) != annotations(&object)
        });
        let generation = before
            .as_ref()
            .and_then(|it| it["metadata"]["generation"].as_i64());
        let generation = generation.unwrap_or(0) + i64::from(changed);
        object["metadata"]["generation"] = json!(generation);
        if before.is_none() {
            let uid = format!("uid-{}-{}", kind.kind().resource().plural, self.writes);
            object["metadata"]["uid"] = json!(uid);
        }
        let stored = Stored::read(&object).unwrap();
        self.store.insert(kind, object);
        stored
    }

    /// A stranger's edit.
    pub(super) fn stranger(&mut self, kind: ObjectKind, edit: impl FnOnce(&mut Value)) {
        let mut object = self.store[&kind].clone();
        edit(&mut object);
        self.put(kind, object);
        self.look();
    }

    /// The watches catch up.
    pub(super) fn look(&mut self) {
        let live = |kind| self.store.get(&kind).and_then(LiveObject::read);
        self.observed.baseline = live(ObjectKind::Baseline);
        self.observed.policy = live(ObjectKind::NetworkPolicy);
        self.observed.service = live(ObjectKind::Service);
        self.observed.deployment = live(ObjectKind::Deployment);
        let proxy = &mut self.observed.proxy;
        proxy.policy = live(ObjectKind::EgressNetworkPolicy);
        proxy.allowlist = live(ObjectKind::EgressAllowlist);
        proxy.service = live(ObjectKind::EgressService);
        proxy.deployment = live(ObjectKind::EgressDeployment);
        proxy.pods.clear();
        let sets = &mut self.observed.replica_sets;
        sets.retain(|set| set.uid != "uid-proxy-set");
        let Some(deployment) = &proxy.deployment else {
            self.proxy_pod.allowlist = None;
            return;
        };
        sets.push(ObservedReplicaSet {
            uid: "uid-proxy-set".to_owned(),
            controller: Some(deployment.uid.clone()),
            failure: None,
        });
        let template = &self.store[&ObjectKind::EgressDeployment]["spec"]["template"]["metadata"];
        let begun = template["annotations"]["omnia.altairalabs.ai/allowlist"].as_str();
        self.proxy_pod
            .allowlist
            .get_or_insert(begun.unwrap().to_owned());
        proxy.pods = vec![ObservedPod {
            name: "my-agent-sbx-7k2qp-egress-5d8f-x".to_owned(),
            uid: "uid-proxy-pod".to_owned(),
            controller: Some("uid-proxy-set".to_owned()),
            ..self.proxy_pod.clone()
        }];
    }

    /// The Deployment's one pod, as `shape` makes it.
    pub(super) fn pod_is(&mut self, shape: impl FnOnce(&mut ObservedPod)) {
        let deployment = self.observed.deployment.as_ref().unwrap();
        let sets = &mut self.observed.replica_sets;
        sets.retain(|set| set.uid != "uid-replica-set");
        sets.push(ObservedReplicaSet {
            uid: "uid-replica-set".to_owned(),
            controller: Some(deployment.uid.clone()),
            failure: None,
        });
        let mut pod = ObservedPod {
            name: "my-agent-sbx-7k2qp-sandbox-5d8f-x".to_owned(),
            uid: "uid-pod".to_owned(),
            controller: Some("uid-replica-set".to_owned()),
            ..ObservedPod::default()
        };
        shape(&mut pod);
        self.observed.pods = vec![pod];
    }

    /// The controller is killed and starts again: its memory is gone.
    pub(super) fn restart(&mut self) {
        self.observed.memory = Memory::recall(self.observed.claim.status.as_ref());
    }

    pub(super) fn status(&self) -> SandboxClaimStatus {
        self.observed.claim.status.clone().unwrap_or_default()
    }

    pub(super) fn phase(&self) -> Option<ClaimPhase> {
        self.status().phase
    }

    /// Status, reason and message of a condition.
    pub(super) fn condition(&self, name: &str) -> Option<(String, String, String)> {
        let conditions = self.status().conditions.unwrap_or_default();
        let found = conditions.into_iter().find(|found| found.type_ == name)?;
        Some((found.status, found.reason, found.message))
    }

    /// Reason and message of `Ready`.
    pub(super) fn ready(&self) -> (String, String) {
        let (_, reason, message) = self.condition("Ready").unwrap_or_default();
        (reason, message)
    }

    /// Kinds a plan writes, in order.
    pub(super) fn kinds(plan: &Plan) -> Vec<ObjectKind> {
        plan.ensure.iter().map(|intent| intent.kind).collect()
    }
}

/// Some of what the real API server fills in, and what it keeps on a PUT.
fn with_defaults(
    kind: ObjectKind,
    mut object: Value,
    before: Option<&Value>,
    address: &str,
) -> Value {
    if kind == ObjectKind::EgressAllowlist {
        return object;
    }
    let spec = &mut object["spec"];
    match kind {
        ObjectKind::EgressService | ObjectKind::Service => {
            let kept = before.and_then(|before| before["spec"].get("clusterIP").cloned());
            if spec.get("clusterIP").is_none() {
                spec["clusterIP"] = kept.unwrap_or_else(|| json!(address));
            }
            spec["sessionAffinity"] = json!("None");
        }
        ObjectKind::EgressDeployment | ObjectKind::Deployment => {
            spec["progressDeadlineSeconds"] = json!(600);
            spec["template"]["spec"]["restartPolicy"] = json!("Always");
        }
        _ => {}
    }
    object
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, change) in changes {
        if change.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key.as_str()], change);
        }
    }
}
