//! Everything that became of a few namespaces, as an independent watch saw it. Does I/O.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use kube::api::{ApiResource, DynamicObject, ListParams, WatchEvent, WatchParams};
use kube::core::{GroupVersionKind, metadata::ObjectMeta};
use kube::{Api, Client};
use sandgate_shared::names::{GROUP, VERSION};
use sandgate_shared::reason::EGRESS_PROXY_MOVED;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::failure::{Failure, Outcome};

/// Seconds a watch lasts before it is begun anew where it ended.
const WATCH: u32 = 290;

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `SandboxClaim`
    Claim,
    /// `AgentRuntime`
    Runtime,
    /// `Deployment`
    Deployment,
    /// `Service`
    Service,
    /// `NetworkPolicy`
    Policy,
    /// `ConfigMap`, of which claims have one with hosts.
    Allowlist,
    /// `Pod`
    Pod,
    /// `Connection`
    Connection,
    /// `Secret`
    Secret,
    /// `Event` that says a sandbox is started anew for another address of its proxy.
    Move,
    /// `Namespace`, which is in itself.
    Namespace,
}

impl Kind {
    /// Each of them.
    pub const ALL: [Self; 11] = [
        Self::Claim,
        Self::Runtime,
        Self::Deployment,
        Self::Service,
        Self::Policy,
        Self::Allowlist,
        Self::Pod,
        Self::Connection,
        Self::Secret,
        Self::Move,
        Self::Namespace,
    ];

    /// How the API server is asked for it.
    pub fn resource(self) -> ApiResource {
        let (group, version, kind, plural) = match self {
            Self::Claim => (GROUP, VERSION, "SandboxClaim", "sandboxclaims"),
            Self::Runtime => (GROUP, VERSION, "AgentRuntime", "agentruntimes"),
            Self::Deployment => ("apps", "v1", "Deployment", "deployments"),
            Self::Service => ("", "v1", "Service", "services"),
            Self::Policy => (
                "networking.k8s.io",
                "v1",
                "NetworkPolicy",
                "networkpolicies",
            ),
            Self::Allowlist => ("", "v1", "ConfigMap", "configmaps"),
            Self::Pod => ("", "v1", "Pod", "pods"),
            Self::Connection => (GROUP, VERSION, "Connection", "connections"),
            Self::Secret => ("", "v1", "Secret", "secrets"),
            Self::Move => ("", "v1", "Event", "events"),
            Self::Namespace => ("", "v1", "Namespace", "namespaces"),
        };
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }
}

impl Kind {
    /// Those of a namespace: where they are asked for, and by which fields.
    fn within(self, client: &Client, namespace: &str) -> (Api<DynamicObject>, String) {
        let resource = self.resource();
        let all_within = || Api::namespaced_with(client.clone(), namespace, &resource);
        match self {
            Self::Namespace => (
                Api::all_with(client.clone(), &resource),
                format!("metadata.name={namespace}"),
            ),
            Self::Move => (all_within(), format!("reason={EGRESS_PROXY_MOVED}")),
            _ => (all_within(), String::new()),
        }
    }
}

/// What an object is found by.
pub type Place = (Kind, String, String);

/// One change of one object.
#[derive(Clone, Debug)]
pub struct Change {
    /// The resourceVersion it made: etcd's revision, so that changes of all kinds have one order.
    pub version: u64,
    /// When it was seen, since the beginning of the history.
    pub at: Duration,
    /// Kind, namespace and name.
    pub place: Place,
    /// The object after the change, or as it was last.
    pub object: Value,
    /// Whether the change removed it.
    pub gone: bool,
}

impl Change {
    /// A text of the object; empty if it is not there.
    pub fn text(&self, pointer: &str) -> &str {
        text(&self.object, pointer)
    }

    /// The object's UID.
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }
}

/// A text of an object; empty if it is not there.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Namespaces that were deleted, by the version that says so.
pub fn leaving(changes: &[Change]) -> BTreeMap<&str, u64> {
    let mut leaving = BTreeMap::new();
    let namespaces = changes.iter().filter(|it| it.place.0 == Kind::Namespace);
    let leave = namespaces
        .filter(|it| it.gone || it.object.pointer("/metadata/deletionTimestamp").is_some());
    for change in leave {
        let name = change.place.1.as_str();
        leaving.entry(name).or_insert(change.version);
    }
    leaving
}

/// The objects that stand at one moment.
pub type Standing<'h> = BTreeMap<&'h Place, &'h Change>;

/// Collects until it is dropped.
pub struct History {
    seen: Arc<Mutex<Vec<Change>>>,
    watches: JoinSet<Outcome>,
}

impl History {
    /// Begins with what is in these namespaces now.
    pub async fn begin(client: &Client, namespaces: &[&str]) -> Outcome<Self> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let began = Instant::now();
        let mut watches = JoinSet::new();
        for namespace in namespaces {
            for kind in Kind::ALL {
                let (api, only) = kind.within(client, namespace);
                let there = api.list(&ListParams::default().fields(&only)).await?;
                let keep = Keep {
                    seen: Arc::clone(&seen),
                    kind,
                    began,
                };
                for object in there.items {
                    keep.keep(object, false)?;
                }
                let from = there.metadata.resource_version.unwrap_or_default();
                watches.spawn(follow((api, only), keep, from));
            }
        }
        Ok(Self { seen, watches })
    }

    /// All changes up to now, in the order the API server made them; an error if a watch broke off.
    pub fn so_far(&mut self) -> Outcome<Vec<Change>> {
        if let Some(ended) = self.watches.try_join_next() {
            ended??;
            return Err(Failure::saying("a watch of the history ended"));
        }
        let seen = self
            .seen
            .lock()
            .map_err(|_| Failure::saying("the history is lost"))?;
        let mut changes = seen.clone();
        changes.sort_by_key(|change| change.version);
        Ok(changes)
    }
}

/// What stands after all these changes.
pub fn standing(changes: &[Change]) -> Standing<'_> {
    let mut standing = Standing::new();
    for change in changes {
        advance(&mut standing, change);
    }
    standing
}

/// Brings what stands one change on.
pub fn advance<'h>(standing: &mut Standing<'h>, change: &'h Change) {
    if change.gone {
        standing.remove(&change.place);
    } else {
        standing.insert(&change.place, change);
    }
}

struct Keep {
    seen: Arc<Mutex<Vec<Change>>>,
    kind: Kind,
    began: Instant,
}

impl Keep {
    fn keep(&self, mut object: DynamicObject, gone: bool) -> Outcome {
        object.metadata.managed_fields = None;
        let ObjectMeta {
            name,
            namespace,
            resource_version,
            ..
        } = object.metadata.clone();
        let name = name.unwrap_or_default();
        let change = Change {
            version: resource_version.unwrap_or_default().parse()?,
            at: self.began.elapsed(),
            place: (self.kind, namespace.unwrap_or_else(|| name.clone()), name),
            object: serde_json::to_value(object)?,
            gone,
        };
        let mut seen = self
            .seen
            .lock()
            .map_err(|_| Failure::saying("the history is lost"))?;
        seen.push(change);
        Ok(())
    }
}

/// Ends with an error alone: a history with a hole proves nothing.
async fn follow(
    (api, only): (Api<DynamicObject>, String),
    keep: Keep,
    mut from: String,
) -> Outcome {
    let how = WatchParams::default().timeout(WATCH).fields(&only);
    loop {
        let mut events = std::pin::pin!(api.watch(&how, &from).await?);
        while let Some(event) = events.try_next().await? {
            let (object, gone) = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                WatchEvent::Deleted(object) => (object, true),
                WatchEvent::Bookmark(mark) => {
                    from = mark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(status) => {
                    return Err(Failure::saying(format!("a watch ended: {status:?}")));
                }
            };
            from = object.metadata.resource_version.clone().unwrap_or(from);
            keep.keep(object, gone)?;
        }
    }
}
