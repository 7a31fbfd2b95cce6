//! What the cluster's own controllers do: the garbage collector, the controllers of Deployments and
//! ReplicaSets, and the kubelet.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::api_server::fake::Fake;
use crate::api_server::fake::history::{Happened, text};
use crate::kind::Kind;

/// The image of pods that are never ready.
pub const STUCK: &str = "stuck";
/// The annotation by which somebody keeps a pod from being ready.
pub const UNREADY: &str = "unready";

/// Kinds that objects of a claim are of.
pub const BUILT: [Kind; 7] = [
    Kind::Deployment,
    Kind::Service,
    Kind::NetworkPolicy,
    Kind::Secret,
    Kind::ConfigMap,
    Kind::ReplicaSet,
    Kind::Pod,
];

/// What stood when this much had happened.
pub fn standing_at(server: &Fake, at: usize) -> Vec<Happened> {
    let mut last: BTreeMap<String, Happened> = BTreeMap::new();
    for event in server.since(0).into_iter().take(at) {
        last.insert(event.path.clone(), event);
    }
    last.into_values().filter(|event| !event.gone).collect()
}

/// UID of the object's controller; empty without.
pub fn owner(object: &Value) -> &str {
    text(object, "/metadata/ownerReferences/0/uid")
}

fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// Each of them looks once at what stands and does the next thing.
pub fn turn(server: &Fake) {
    for claim in server.all(Kind::SandboxClaim) {
        if !text(&claim, "/metadata/deletionTimestamp").is_empty() {
            server.take(Kind::SandboxClaim, "ns", name(&claim));
        }
    }
    collect(server);
    for deployment in server.all(Kind::Deployment) {
        roll(server, &deployment);
    }
    for pod in server.all(Kind::Pod) {
        run(server, pod);
    }
}

/// Takes what belongs to nobody any more, and with the next turn what belonged to that.
fn collect(server: &Fake) {
    let owners = [Kind::SandboxClaim, Kind::Deployment, Kind::ReplicaSet];
    let owners = owners.iter().flat_map(|kind| server.all(*kind));
    let owners: BTreeSet<String> = owners
        .map(|object| text(&object, "/metadata/uid").to_owned())
        .collect();
    for kind in BUILT {
        for object in server.all(kind) {
            if !owner(&object).is_empty() && !owners.contains(owner(&object)) {
                server.take(kind, "ns", name(&object));
            }
        }
    }
}

/// Takes the pods of earlier templates first, and makes one of the present one then.
fn roll(server: &Fake, deployment: &Value) {
    let template = &deployment["spec"]["template"];
    let hash = format!("{:x}", Sha256::digest(template.to_string()));
    let uid = text(deployment, "/metadata/uid");
    let present = format!("{}-{:.8}", name(deployment), hash);
    let owned = |of: &str, by: &str| {
        json!({"namespace": "ns", "name": of, "labels": template["metadata"]["labels"],
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "K", "name": "o", "uid": by,
                "controller": true}]})
    };
    server.make(Kind::ReplicaSet, json!({"metadata": owned(&present, uid)}));
    let sets = server.all(Kind::ReplicaSet).into_iter();
    let sets: Vec<Value> = sets.filter(|set| owner(set) == uid).collect();
    let pods = server.all(Kind::Pod);
    let of = |set: &Value| {
        let set = text(set, "/metadata/uid").to_owned();
        pods.iter().filter(move |pod| owner(pod) == set)
    };
    let (new, old): (Vec<&Value>, Vec<&Value>) = sets.iter().partition(|set| name(set) == present);
    let mut outdated = old.into_iter().flat_map(of).peekable();
    if outdated.peek().is_some() {
        for pod in outdated {
            server.take(Kind::Pod, "ns", name(pod));
        }
        return;
    }
    for set in new {
        let runs = |pod: &&Value| text(pod, "/status/phase") != "Failed";
        if of(set).any(|pod| runs(&pod)) {
            continue;
        }
        let pod = format!("{present}-{}", server.happened());
        let mut made = json!({"metadata": owned(&pod, text(set, "/metadata/uid")),
            "status": {"phase": "Pending"}});
        made["spec"] = template["spec"].clone();
        server.make(Kind::Pod, made);
    }
}

/// A pod that can be ready is.
fn run(server: &Fake, mut pod: Value) {
    let image = text(&pod, "/spec/containers/0/image");
    let kept = !text(&pod, &format!("/metadata/annotations/{UNREADY}")).is_empty();
    if text(&pod, "/status/phase") == "Failed" {
        return;
    }
    let ready = if image == STUCK || kept {
        "False"
    } else {
        "True"
    };
    let status = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]});
    if pod["status"] != status {
        pod["status"] = status;
        server.put(Kind::Pod, pod);
    }
}
