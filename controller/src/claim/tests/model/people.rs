//! What people do to a namespace: makers of claims, its administrators, and strangers.

use sandgate_shared::names::{self, BASELINE_POLICY};
use serde_json::{Value, json};

use super::cluster::{STUCK, UNREADY};
use crate::api_server::fake::Fake;
use crate::api_server::fake::history::text;
use crate::kind::Kind;

/// Claims by these names come and go.
pub const CLAIMS: [&str; 4] = ["a", "b", "c", "d"];
/// Stands in the value of the one Secret, and may be seen in Secrets alone.
pub const CANARY: &str = "canary";

/// What claims are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Its pods become ready.
    Quick,
    /// Its pods never do.
    Stuck,
    /// Its pods get a variable and a file of a Connection, and become ready.
    Wired,
}

/// What a claim's sandbox is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Policy,
    Service,
    Deployment,
}

/// What a Connection's credential comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Connection,
    Secret,
}

/// What becomes of a claim's pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Ready,
    Unready,
    Finished,
    Deleted,
}

/// One deed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    Make {
        claim: usize,
        session: usize,
        class: Class,
        most: Option<u32>,
    },
    /// It is gone, and made again under its name before anything of it is.
    Remake {
        claim: usize,
        session: usize,
        class: Class,
    },
    /// It is gone at once, or after it has been on its way out for a while.
    Unmake {
        claim: usize,
        at_once: bool,
    },
    Limit {
        concurrent: Option<u32>,
        per_session: Option<u32>,
    },
    EditClass {
        class: Class,
        value: u32,
    },
    TakeClass(Class),
    Give(Source),
    Take(Source),
    /// Somebody edits or deletes what was built for a claim.
    Harm {
        claim: usize,
        part: Part,
        deletes: bool,
    },
    HarmBaseline {
        deletes: bool,
    },
    /// Somebody else's object takes the name of one of a claim's.
    Obstruct {
        claim: usize,
        part: Part,
    },
    Pods {
        claim: usize,
        fate: Fate,
    },
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Stuck => STUCK,
            Self::Wired => "wired",
        }
    }
}

impl Part {
    pub fn kind(self) -> Kind {
        match self {
            Self::Policy => Kind::NetworkPolicy,
            Self::Service => Kind::Service,
            Self::Deployment => Kind::Deployment,
        }
    }
}

fn named(name: &str) -> Value {
    json!({"namespace": "ns", "name": name})
}

/// A runtime, the classes, and a Connection with its Secret.
pub fn furnish(server: &Fake) {
    limit(server, None, None);
    for class in [Class::Quick, Class::Stuck, Class::Wired] {
        put_class(server, class, 0);
    }
    give(server, Source::Connection);
    give(server, Source::Secret);
}

fn limit(server: &Fake, concurrent: Option<u32>, per_session: Option<u32>) {
    let mut runtime = server
        .get(Kind::AgentRuntime, "ns", "rt")
        .unwrap_or_else(|| json!({"metadata": named("rt")}));
    runtime["metadata"]["uid"] = json!("rt");
    runtime["spec"]["sandbox"] = json!({"enabled": true, "maxConcurrent": concurrent,
        "maxPerSession": per_session});
    server.put(Kind::AgentRuntime, runtime);
}

fn put_class(server: &Fake, class: Class, value: u32) {
    let mut spec = json!({
        "image": class.name(),
        "ports": [{"name": "http", "port": 80}],
        "env": [{"name": "HOME", "value": "/home/agent"},
            {"name": "EDITED", "value": value.to_string()}],
    });
    if class == Class::Wired {
        spec["connections"] = json!([{"role": "vcs"}]);
    }
    let object = json!({"metadata": named(class.name()), "spec": spec});
    if !server.make(Kind::SandboxClass, object) {
        let mut stands = server.get(Kind::SandboxClass, "ns", class.name()).unwrap();
        stands["spec"] = spec;
        server.put(Kind::SandboxClass, stands);
    }
}

fn give(server: &Fake, source: Source) {
    match source {
        Source::Connection => server.make(
            Kind::Connection,
            json!({"metadata": named("github"), "spec": {
                "hosts": ["github.com"],
                "credential": {"kind": "secret", "secretRef": {"name": "token"}},
                "placement": {
                    "env": [{"name": "GH_TOKEN", "key": "token"}],
                    "files": [{"path": "token", "key": "token"}],
                },
            }}),
        ),
        // "canary"
        Source::Secret => server.make(
            Kind::Secret,
            json!({"metadata": named("token"), "data": {"token": "Y2FuYXJ5"}}),
        ),
    };
}

/// A claim, which is known to be the operator's if only the operator may write it.
fn make(server: &Fake, claim: &str, session: usize, class: Class, most: Option<u32>) {
    let mut object = json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": "SandboxClaim",
        "metadata": {"namespace": "ns", "name": claim, "generation": 1},
        "spec": {
            "agentRuntimeRef": {"name": "rt"},
            "classRef": {"name": class.name()},
            "sessionID": format!("s{session}"),
            "handle": format!("box/{claim}"),
        },
    });
    if let Some(most) = most {
        object["spec"]["maxInstances"] = json!(most);
    }
    if class == Class::Wired {
        object["spec"]["connections"] = json!([{"role": "vcs", "connection": "github"}]);
        object["status"] = json!({"phase": "Pending", "conditions": [{
            "type": "ProvenanceVerified", "status": "True", "reason": "WrittenByOperator",
            "message": "", "lastTransitionTime": "2026-11-20T10:00:00Z",
        }]});
    }
    server.make(Kind::SandboxClaim, object);
}

impl Deed {
    /// Does it. What is not there is left alone.
    pub fn act(&self, server: &Fake) {
        match self {
            Self::Make {
                claim,
                session,
                class,
                most,
            } => make(server, CLAIMS[*claim], *session, *class, *most),
            Self::Remake {
                claim,
                session,
                class,
            } => {
                server.take(Kind::SandboxClaim, "ns", CLAIMS[*claim]);
                make(server, CLAIMS[*claim], *session, *class, None);
            }
            Self::Unmake { claim, at_once } => {
                let name = CLAIMS[*claim];
                if *at_once {
                    server.take(Kind::SandboxClaim, "ns", name);
                } else if let Some(mut leaves) = server.get(Kind::SandboxClaim, "ns", name) {
                    leaves["metadata"]["deletionTimestamp"] = json!("2026-11-20T11:00:00Z");
                    server.put(Kind::SandboxClaim, leaves);
                }
            }
            Self::Limit {
                concurrent,
                per_session,
            } => limit(server, *concurrent, *per_session),
            Self::EditClass { class, value } => put_class(server, *class, *value),
            Self::TakeClass(class) => server.take(Kind::SandboxClass, "ns", class.name()),
            Self::Give(source) => give(server, *source),
            Self::Take(Source::Connection) => server.take(Kind::Connection, "ns", "github"),
            Self::Take(Source::Secret) => server.take(Kind::Secret, "ns", "token"),
            Self::Harm {
                claim,
                part,
                deletes,
            } => harm(
                server,
                part.kind(),
                &names::sandbox(CLAIMS[*claim]),
                *deletes,
            ),
            Self::HarmBaseline { deletes } => {
                harm(server, Kind::NetworkPolicy, BASELINE_POLICY, *deletes);
            }
            Self::Obstruct { claim, part } => {
                let name = names::sandbox(CLAIMS[*claim]);
                let foreign = json!({"metadata": named(&name), "spec": {"foreign": true}});
                server.make(part.kind(), foreign);
            }
            Self::Pods { claim, fate } => pods(server, CLAIMS[*claim], *fate),
        }
    }
}

/// Nobody harms what is not the operator's.
fn harm(server: &Fake, kind: Kind, name: &str, deletes: bool) {
    let Some(mut object) = server.get(kind, "ns", name) else {
        return;
    };
    if object["spec"]["foreign"] == json!(true) {
        return;
    }
    if deletes {
        server.take(kind, "ns", name);
        return;
    }
    match kind {
        Kind::NetworkPolicy => object["spec"]["egress"] = json!([{}]),
        Kind::Service => object["spec"]["sessionAffinity"] = json!("ClientIP"),
        _ => object["spec"]["template"]["spec"]["hostNetwork"] = json!(true),
    }
    server.put(kind, object);
}

fn pods(server: &Fake, claim: &str, fate: Fate) {
    let label = names::LABEL_CLAIM.replace('/', "~1");
    for mut pod in server.all(Kind::Pod) {
        if text(&pod, &format!("/metadata/labels/{label}")) != claim {
            continue;
        }
        match fate {
            Fate::Deleted => {
                server.take(Kind::Pod, "ns", text(&pod, "/metadata/name"));
                continue;
            }
            Fate::Finished => {
                pod["status"] = json!({"phase": "Failed", "reason": "Evicted", "message": "full"});
            }
            Fate::Unready => {
                pod["metadata"]["annotations"] = json!({UNREADY: "yes"});
                pod["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
            }
            Fate::Ready => pod["metadata"]["annotations"] = json!({}),
        }
        server.put(Kind::Pod, pod);
    }
}
