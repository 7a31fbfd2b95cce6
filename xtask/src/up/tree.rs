//! What was built for a claim, as a tree of owners. Reading does I/O; drawing is pure.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::ListParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

/// An object and the one that owns it.
#[derive(Clone, Debug)]
pub struct Node {
    kind: String,
    name: String,
    uid: String,
    owner: Option<String>,
}

/// A drawing and the kinds that are in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Drawing {
    /// A line per object, the root first.
    pub text: String,
    /// Kinds below the root.
    pub kinds: BTreeSet<String>,
}

/// The objects of the namespace that Sandgate or Kubernetes builds.
pub async fn read(client: &Client, namespace: &str) -> kube::Result<Vec<Node>> {
    let mut nodes = list::<Deployment>(client, namespace).await?;
    nodes.extend(list::<ReplicaSet>(client, namespace).await?);
    nodes.extend(list::<Pod>(client, namespace).await?);
    nodes.extend(list::<NetworkPolicy>(client, namespace).await?);
    nodes.extend(list::<Service>(client, namespace).await?);
    nodes.extend(list::<EndpointSlice>(client, namespace).await?);
    Ok(nodes)
}

async fn list<K>(client: &Client, namespace: &str) -> kube::Result<Vec<Node>>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let objects = api.list(&ListParams::default()).await?.items;
    Ok(objects
        .iter()
        .map(|object| Node {
            kind: K::kind(&()).into_owned(),
            name: object.name_any(),
            uid: object.uid().unwrap_or_default(),
            owner: object
                .owner_references()
                .first()
                .map(|owner| owner.uid.clone()),
        })
        .collect())
}

/// Draws what `root` (with its `uid`) owns, then the policies that nobody owns.
pub fn render(nodes: &[Node], root: &str, uid: &str) -> Drawing {
    let mut drawing = Drawing {
        text: format!("{root}\n"),
        kinds: BTreeSet::new(),
    };
    branch(nodes, uid, "", &mut drawing);
    for node in nodes
        .iter()
        .filter(|node| node.owner.is_none() && node.kind == "NetworkPolicy")
    {
        let line = format!(
            "{} {}  (shuts every sandbox of the namespace)\n",
            node.kind, node.name
        );
        drawing.text.push_str(&line);
    }
    drawing
}

fn branch(nodes: &[Node], owner: &str, margin: &str, drawing: &mut Drawing) {
    let below: Vec<&Node> = nodes
        .iter()
        .filter(|node| node.owner.as_deref() == Some(owner))
        .collect();
    for (index, node) in below.iter().enumerate() {
        let last = index + 1 == below.len();
        let (elbow, rest) = if last {
            ("└── ", "    ")
        } else {
            ("├── ", "│   ")
        };
        let line = [
            margin, elbow, &node.kind, " ", &node.name, "
",
        ]
        .concat();
        drawing.text.push_str(&line);
        drawing.kinds.insert(node.kind.clone());
        branch(nodes, &node.uid, &format!("{margin}{rest}"), drawing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(kind: &str, name: &str, owner: Option<&str>) -> Node {
        Node {
            kind: kind.to_owned(),
            name: name.to_owned(),
            uid: name.to_owned(),
            owner: owner.map(str::to_owned),
        }
    }

    #[test]
    fn objects_hang_below_their_owners_and_strangers_are_left_out() {
        let nodes = [
            node("Deployment", "d", Some("claim")),
            node("ReplicaSet", "r", Some("d")),
            node("Pod", "p", Some("r")),
            node("Service", "s", Some("claim")),
            node("Service", "other", None),
            node("NetworkPolicy", "baseline", None),
        ];
        let drawing = render(&nodes, "SandboxClaim c", "claim");
        assert_eq!(
            drawing.text,
            "SandboxClaim c\n\
             ├── Deployment d\n\
             │   └── ReplicaSet r\n\
             │       └── Pod p\n\
             └── Service s\n\
             NetworkPolicy baseline  (shuts every sandbox of the namespace)\n"
        );
        assert!(drawing.kinds.contains("Pod") && !drawing.kinds.contains("NetworkPolicy"));
    }
}
