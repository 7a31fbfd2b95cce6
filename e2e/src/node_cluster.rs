//! Sandgate as it runs in production: the real node, our image on it, the chart by the real Helm. Does
//! I/O.

use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use sandgate_shared::render::Installation as Names;
use serde_json::{Value, json};

use crate::cluster::{Access, Cluster};
use crate::failure::{Failure, Outcome};
use crate::helm::Helm;
use crate::installation;
use crate::manifests;
use crate::progress::Step;
use crate::real_node::{self, RealNode};
use crate::rights::Watch;

/// How long Helm may wait for both replicas.
const INSTALLED_WITHIN: Duration = Duration::from_secs(90);

/// How long Helm may wait for an upgrade: two pods come up, and two drain.
pub const UPGRADED_WITHIN: Duration = Duration::from_mins(2);

/// What differs between such clusters.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Of the node.
    pub node: real_node::Options,
    /// What is there before the chart is installed, such as volumes that its pods mount.
    pub prepared: Vec<Value>,
    /// Values of the chart that are set beside those every test needs.
    pub values: Value,
}

/// A real node with Sandgate on it. Dropped, nothing of it is left.
///
/// Fields are dropped in order: the audit log is read while it is there.
pub struct NodeCluster {
    _rights: Watch,
    /// The node, to disturb.
    pub node: RealNode,
    /// The Helm that installed the chart.
    pub helm: Helm,
    /// What Helm said after installing.
    pub notes: String,
    cluster: Cluster,
}

impl Deref for NodeCluster {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl NodeCluster {
    /// Starts a node, brings the image onto it, installs the chart, and waits until a write is judged by
    /// a webhook in a pod. What is missing is built, which is told on standard error.
    pub async fn start(options: Options) -> Outcome<Self> {
        let helm = tokio::task::spawn_blocking(Helm::ensure).await??;
        let step =
            Step::begin("starting a real node: API server, kubelet, containerd, DNS, enforcer");
        let node = Box::pin(RealNode::start(options.node)).await?;
        step.done();
        let step = Step::begin("installing Sandgate: our image, our chart, by Helm");
        let access = Access {
            kubeconfig: node.plane().kubeconfig(),
            folder: node.plane().folder().to_owned(),
            audit_log: node.plane().audit_log(),
            kubectl: node.plane().binaries().kubectl.clone(),
            webhook_url: None,
        };
        let cluster = Cluster::reach(access).await?;
        manifests::apply(&cluster.client(), &installation::editors()).await?;
        manifests::apply(&cluster.client(), &options.prepared).await?;
        let names = Names::default();
        let values = values(&options.values);
        let notes = helm.install(
            &cluster.access().kubeconfig,
            &names.release,
            &names.namespace,
            &values,
            Some(INSTALLED_WITHIN),
        );
        let notes = match notes.await {
            Ok(notes) => notes,
            Err(error) => return Err(why_not(&cluster, &names.namespace, &error.to_string()).await),
        };
        let this = Self {
            _rights: Watch::over(cluster.access().audit_log.clone()),
            node,
            helm,
            notes,
            cluster,
        };
        this.until_judged().await?;
        step.done();
        Ok(this)
    }

    /// Upgrades the release to these values and no others; back when the new replicas are ready.
    pub async fn upgrade(&self, further: &Value) -> Outcome {
        let names = Names::default();
        let kubeconfig = &self.cluster.access().kubeconfig;
        let values = values(further);
        let wait = Some(UPGRADED_WITHIN);
        self.helm
            .upgrade(kubeconfig, &names.release, &names.namespace, &values, wait)
            .await?;
        Ok(())
    }

    /// Waits until writes are judged by a webhook in a pod, as after a reboot of its node.
    pub async fn until_judged(&self) -> Outcome {
        Ok(installation::until_judged(&self.client()).await?)
    }

    /// Writes the file for [`crate::cluster::NODE_VARIABLE`] and returns its path.
    pub fn announce(&self) -> Outcome<PathBuf> {
        self.cluster.announce()
    }

    /// An error if any part of the node has ended.
    pub fn check(&mut self) -> Outcome {
        Ok(self.node.check()?)
    }
}

/// Values that every installation here has, with `further` ones over them.
pub fn values(further: &Value) -> Value {
    let mut values = json!({
        "standalone": true,
        // Nothing is fetched here: images are brought.
        "image": { "pullPolicy": "Never" },
    });
    // A merge with nothing would leave nothing.
    if further.is_object() {
        json_patch::merge(&mut values, further);
    }
    values
}

/// The image that pods of tests run, too: it holds the probe.
pub fn image_name() -> String {
    format!("sandgate.local/sandgate:{}", env!("CARGO_PKG_VERSION"))
}

/// Helm says that something was not ready; the pods say why.
async fn why_not(cluster: &Cluster, namespace: &str, helm: &str) -> Failure {
    let mut text = helm.to_owned();
    for question in [
        &["get", "pods", "-o", "wide"][..],
        &["get", "events", "--sort-by=.lastTimestamp"],
        &[
            "logs",
            "--selector=app.kubernetes.io/component=operator",
            "--all-containers",
            "--tail=15",
        ],
    ] {
        let arguments = [&["-n", namespace][..], question].concat();
        if let Ok(said) = cluster.kubectl(&arguments, None).await {
            text.push_str("\n\n");
            text.push_str(&said.stdout);
            text.push_str(&said.stderr);
        }
    }
    Failure::saying(text)
}
