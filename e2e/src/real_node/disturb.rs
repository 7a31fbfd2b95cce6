//! Parts of a node, ended and started again, as operators and power cuts do. Does I/O.

use std::ops::Range;
use std::time::Instant;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, ResourceExt};

use super::{ASK_EVERY, KUBELET, NODE, PROXY, RealNode, RealNodeError, containerd};

impl RealNode {
    /// Ends the kubelet and starts it again; back when it answers.
    pub async fn restart_kubelet(&mut self) -> Result<(), RealNodeError> {
        self.machine.stop(KUBELET).await?;
        self.machine.start(KUBELET, &self.programs.kubelet)?;
        self.until_the_kubelet_answers().await
    }

    /// Ends containerd and starts it again, while pods run on; back when it answers.
    pub async fn restart_containerd(&mut self) -> Result<(), RealNodeError> {
        self.machine.stop(containerd::PART).await?;
        self.start_containerd().await
    }

    /// Ends the API server and starts it again, while the node goes on; back when it is ready. Says from
    /// when until when nobody could count on it.
    pub async fn restart_api_server(&mut self) -> Result<Range<Instant>, RealNodeError> {
        Ok(self.plane.restart_api_server().await?)
    }

    /// Kills what runs in a container of a pod, by the id in the pod's status (`containerd://…`). The
    /// kubelet sees to the rest.
    pub fn kill_container(&self, id: &str) -> Result<(), RealNodeError> {
        let (_, id) = id.split_once("://").unwrap_or(("", id));
        Ok(self.machine.kill_container(id)?)
    }

    /// Replaces the pod that enforces policies; back when the new one judges. In between nothing new gets
    /// through.
    pub async fn restart_enforcer(&mut self) -> Result<(), RealNodeError> {
        let client = self.plane.administrator().await?;
        let pods: Api<Pod> = Api::namespaced(client, "kube-system");
        let ours = ListParams::default().labels("app=kube-network-policies");
        for pod in pods.list(&ours).await? {
            let (name, uid) = (pod.name_any(), pod.uid().unwrap_or_default());
            pods.delete(&name, &DeleteParams::default()).await?;
            let gone = await_condition(pods.clone(), &name, conditions::is_deleted(&uid));
            Box::pin(self.patiently("the old enforcer was not gone", gone)).await?;
        }
        self.until_judged().await
    }

    /// Cuts the power: every process, mount, pod network and rule of the node is gone, its disk stays.
    /// Then starts it again; back when the kubelet answers and pods are judged. The API server, as on
    /// another machine, runs on.
    pub async fn reboot(&mut self) -> Result<(), RealNodeError> {
        self.machine
            .reboot(&self.network.node, &self.programs.first)?;
        self.network.forget_rules()?;
        self.network.judge(&self.options)?;
        self.start_containerd().await?;
        self.machine.start(KUBELET, &self.programs.kubelet)?;
        self.machine.start(PROXY, &self.programs.proxy)?;
        self.until_the_kubelet_answers().await?;
        self.until_judged().await
    }

    async fn start_containerd(&mut self) -> Result<(), RealNodeError> {
        self.machine
            .start(containerd::PART, &self.programs.containerd)?;
        Ok(containerd::answers(&mut self.machine).await?)
    }

    async fn until_the_kubelet_answers(&mut self) -> Result<(), RealNodeError> {
        let client = self.plane.administrator().await?;
        let path = format!("/api/v1/nodes/{NODE}/proxy/healthz");
        let answers = async {
            let mut turn = tokio::time::interval(ASK_EVERY);
            loop {
                turn.tick().await;
                let request = http::Request::get(&path).body(Vec::new());
                let request = request.map_err(kube::Error::HttpError)?;
                if client.request_text(request).await.is_ok() {
                    return Ok::<_, kube::Error>(());
                }
            }
        };
        self.patiently("the kubelet did not answer", answers).await
    }
}
