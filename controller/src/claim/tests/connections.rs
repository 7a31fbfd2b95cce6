//! What is read and written for a claim that binds a Connection, and in which order.

use serde_json::{Value, json};

use super::World;
use crate::api_server::fake::Fault;
use crate::cause::Chain;
use crate::kind::Kind;
use crate::queue::Next;

const FILES: &str = "a-sandbox-connections";

/// A claim that is known to be the operator's and binds one Connection with a variable and a file.
fn world() -> World {
    let world = World::new();
    let placed = |name: &str| json!({"namespace": "ns", "name": name, "uid": name});
    let class = json!({"metadata": placed("py"), "spec": {
        "image": "x",
        "ports": [{"name": "http", "port": 80}],
        "env": [{"name": "HOME", "value": "/home/agent"}],
        "connections": [{"role": "vcs"}],
    }});
    world.server.put(Kind::SandboxClass, class);
    let connection = json!({"metadata": placed("github"), "spec": {
        "hosts": ["github.com"],
        "credential": {"kind": "secret", "secretRef": {"name": "token"}},
        "placement": {
            "env": [{"name": "GH_TOKEN", "key": "token"}],
            "files": [{"path": "token", "key": "token"}],
        },
    }});
    world.server.put(Kind::Connection, connection);
    put_secret(&world, "Zmlyc3Q=");
    let mut claim = world.server.get(Kind::SandboxClaim, "ns", "a").unwrap();
    claim["spec"]["connections"] = json!([{"role": "vcs", "connection": "github"}]);
    claim["status"] = json!({"phase": "Pending", "conditions": [{
        "type": "ProvenanceVerified",
        "status": "True",
        "reason": "WrittenByOperator",
        "message": "",
        "lastTransitionTime": "2026-11-20T10:00:00Z",
    }]});
    world.server.put(Kind::SandboxClaim, claim);
    world.list();
    world
}

fn put_secret(world: &World, token: &str) {
    let secret = json!({
        "metadata": {"namespace": "ns", "name": "token", "uid": "token"},
        "data": {"token": token},
    });
    world.server.put(Kind::Secret, secret);
}

async fn bound() -> World {
    let world = world();
    world.look().await;
    world.proxy_becomes_ready();
    world.list();
    world.look().await;
    world.pod_becomes_ready();
    world.list();
    world.look().await;
    world.list();
    assert_eq!(world.status()["phase"], "Bound", "{}", world.ready());
    world.server.log();
    world
}

/// The one value of the rendered Secret.
fn rendered(world: &World) -> Option<Value> {
    let secret = world.server.get(Kind::Secret, "ns", FILES)?;
    let values = secret["data"].as_object().unwrap().values();
    let values: Vec<_> = values.cloned().collect();
    assert_eq!(values.len(), 1);
    values.into_iter().next()
}

/// The writes since the last look, as verb and last part of the path.
fn writes(world: &World) -> Vec<String> {
    let log = world.server.log().into_iter();
    log.filter(|request| !request.starts_with("GET"))
        .map(|request| {
            let (verb, path) = request.split_once(' ').unwrap();
            format!("{verb} {}", path.rsplit('/').next().unwrap())
        })
        .collect()
}

// Proves: K-005
#[tokio::test]
async fn the_files_are_written_before_the_pod_that_mounts_them() {
    let world = world();
    world.look().await;
    world.proxy_becomes_ready();
    world.list();
    world.look().await;
    let writes = writes(&world);
    let at = |what: &str| writes.iter().rposition(|write| write == what).unwrap();
    assert!(at("POST secrets") < at("POST deployments"), "{writes:?}");
    assert_eq!(rendered(&world), Some(json!("Zmlyc3Q=")));
}

// Proves: K-006, O-033
#[tokio::test]
async fn the_files_follow_their_source_and_nothing_is_written_where_bytes_are_the_same() {
    let world = bound().await;
    world.look().await;
    assert_eq!(writes(&world), Vec::<String>::new());
    put_secret(&world, "c2Vjb25k");
    world.look().await;
    assert_eq!(writes(&world), [format!("PUT {FILES}")]);
    assert_eq!(rendered(&world), Some(json!("c2Vjb25k")));
}

// Proves: K-030, K-031
#[tokio::test]
async fn a_credential_that_is_gone_is_taken_from_the_pod_before_its_files_go() {
    let world = bound().await;
    world.server.take(Kind::Secret, "ns", "token");
    world.look().await;
    let writes = writes(&world);
    assert_eq!(
        writes[..2],
        ["PUT a-sandbox".to_owned(), format!("DELETE {FILES}")],
        "{writes:?}"
    );
    let deployment = world.sandbox(Kind::Deployment).unwrap();
    assert!(!deployment["spec"].to_string().contains("GH_TOKEN"));
    assert_eq!(rendered(&world), None);
    assert_eq!(world.status()["phase"], "Bound");
}

// Proves: K-031
#[tokio::test]
async fn a_pod_that_cannot_be_made_anew_without_the_credential_goes() {
    let world = bound().await;
    world.server.take(Kind::Secret, "ns", "token");
    // Connection, Secret and Deployment are read; then it is written.
    world.server.fail(4, Fault::Refused);
    world.look().await;
    let writes = writes(&world);
    assert_eq!(
        writes[..3],
        [
            "PUT a-sandbox".to_owned(),
            "DELETE a-sandbox".to_owned(),
            format!("DELETE {FILES}"),
        ],
        "{writes:?}"
    );
    assert_eq!(world.sandbox(Kind::Deployment), None);
    assert_eq!(rendered(&world), None);
}

// Proves: K-025
#[tokio::test]
async fn a_read_that_goes_unanswered_takes_nothing_away() {
    let world = bound().await;
    let before = world.standing();
    for nth in 1..=2 {
        world.server.fail(nth, Fault::Before);
        assert_eq!(world.look().await, Next::Retry);
        assert_eq!(writes(&world), Vec::<String>::new());
        assert_eq!(world.standing(), before);
    }
}

// Proves: K-032
#[tokio::test]
async fn a_secret_that_cannot_be_read_is_told_by_name_alone() {
    let world = bound().await;
    let secret = json!({
        "metadata": {"namespace": "ns", "name": "token", "uid": "token"},
        "data": "canary",
    });
    world.server.put(Kind::Secret, secret);
    let claim = world.server.get(Kind::SandboxClaim, "ns", "a").unwrap();
    let claim = serde_json::from_value(claim).unwrap();
    let error = world.reconciler.gather.bindings(&claim).await.unwrap_err();
    let told = format!("{} {error:?}", Chain(&error));
    assert!(told.contains("token"), "{told}");
    assert!(!told.contains("canary"), "{told}");
    let before = world.standing();
    assert_eq!(world.look().await, Next::Retry);
    assert_eq!(world.standing(), before);
}

// Proves: K-005, O-001
#[tokio::test]
async fn the_files_of_an_earlier_claim_of_the_name_are_waited_for_and_left_alone() {
    let world = world();
    let left = json!({
        "metadata": {"namespace": "ns", "name": FILES, "uid": "theirs", "ownerReferences": [{
            "apiVersion": "omnia.altairalabs.ai/v1alpha1", "kind": "SandboxClaim", "name": "a",
            "uid": "earlier", "controller": true,
        }]},
        "data": {"theirs": "dGhlaXJz"},
    });
    world.server.put(Kind::Secret, left);
    world.look().await;
    assert_eq!(world.ready()["reason"], "PreviousObjectsRemain");
    assert_eq!(rendered(&world), Some(json!("dGhlaXJz")));
    assert_eq!(world.sandbox(Kind::Deployment), None);
    world.server.take(Kind::Secret, "ns", FILES);
    world.list();
    world.look().await;
    assert_eq!(world.ready()["reason"], "SandboxStarting");
}

// Proves: K-005
#[tokio::test]
async fn a_secret_of_somebody_else_is_left_alone() {
    let world = world();
    let foreign = json!({
        "metadata": {"namespace": "ns", "name": FILES, "uid": "theirs"},
        "data": {"theirs": "dGhlaXJz"},
    });
    world.server.put(Kind::Secret, foreign);
    world.look().await;
    assert_eq!(world.ready()["reason"], "NameConflict");
    assert_eq!(rendered(&world), Some(json!("dGhlaXJz")));
    assert_eq!(world.sandbox(Kind::Deployment), None);
}
