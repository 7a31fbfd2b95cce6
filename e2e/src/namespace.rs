//! A namespace of a test, and the sentences a test is written in. Does I/O.

mod becomes;
mod writer;

use std::ops::Deref;

use k8s_openapi::api::core::v1::{Namespace as Object, ServiceAccount};
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::core::NamespaceResourceScope;
use kube::runtime::wait::await_condition;
use kube::{Api, Resource, ResourceExt};

pub use becomes::DEADLINE;
pub use writer::Writer;

use crate::background;
use crate::cluster::{Cluster, Said};
use crate::failure::{Failure, Outcome};
use crate::identity::Identity;
use crate::kubeconfig;

/// A namespace nobody else uses. Its own sentences are the administrator's (see [`Writer`]);
/// [`Namespace::acting_as`] gives those of somebody else.
pub struct Namespace {
    cluster: Cluster,
    name: String,
    writer: Writer,
}

impl Deref for Namespace {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl Namespace {
    pub(crate) async fn create(cluster: Cluster, prefix: &str) -> Outcome<Self> {
        let wanted = Object {
            metadata: ObjectMeta {
                generate_name: Some(format!("{prefix}-")),
                ..ObjectMeta::default()
            },
            ..Object::default()
        };
        let namespaces: Api<Object> = Api::all(cluster.client());
        let name = namespaces
            .create(&PostParams::default(), &wanted)
            .await?
            .name_any();
        let writer = Writer::new(cluster.client(), &name);
        let this = Self {
            cluster,
            name,
            writer,
        };
        // Until it is there no pod is admitted, and a ReplicaSet that was refused waits long.
        let accounts: Api<ServiceAccount> = this.api();
        let there = await_condition(accounts, "default", |account: Option<&ServiceAccount>| {
            account.is_some()
        });
        match tokio::time::timeout(DEADLINE, there).await {
            Ok(Ok(_)) => Ok(this),
            _ => Err(Failure::saying(format!(
                "{} never got its ServiceAccount",
                this.name
            ))),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cluster it is in.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The administrator's view of one kind in it.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.cluster.client(), &self.name)
    }

    /// The sentences of somebody else.
    pub async fn acting_as(&self, identity: &Identity) -> Outcome<Writer> {
        Ok(Writer::new(
            self.cluster.client_as(identity).await?,
            &self.name,
        ))
    }

    /// Runs the pinned `kubectl` in this namespace, with `input` (if any) on standard input.
    pub async fn kubectl(&self, arguments: &[&str], input: Option<&str>) -> Outcome<Said> {
        let mut all = vec!["--namespace", self.name.as_str()];
        all.extend(arguments);
        self.cluster.kubectl(&all, input).await
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let kubeconfig = self.cluster.access().kubeconfig.clone();
        let name = std::mem::take(&mut self.name);
        let Ok(background) = background::handle() else {
            return;
        };
        // On a thread that may block; a namespace that stays is only untidy.
        let goodbye = std::thread::spawn(move || {
            background.block_on(async {
                if let Ok(client) = kubeconfig::client(&kubeconfig).await {
                    let namespaces: Api<Object> = Api::all(client);
                    drop(namespaces.delete(&name, &DeleteParams::background()).await);
                }
            });
        });
        drop(goodbye.join());
    }
}
