//! The processes of a control plane and their flags. Starts processes.

use super::{ControlPlane, ControlPlaneError};
use crate::fake_node;
use crate::ports::Port;
use crate::process::{Process, ProcessError, Program};

/// What the API server is called; its log, too.
pub(super) const API_SERVER: &str = "kube-apiserver";

/// MiB, more than any run writes.
const AUDIT_LOG: u32 = 1 << 20;

impl ControlPlane {
    pub(super) fn launch(
        &mut self,
        part: &'static str,
        program: &Program,
    ) -> Result<(), ProcessError> {
        let process = Process::start_in(&self.site.room, part, program, &self.log(part))?;
        self.running.insert(part, process);
        Ok(())
    }

    /// Returns the URL clients use. The API server waits until it answers there.
    pub(super) fn start_etcd(&mut self) -> Result<String, ControlPlaneError> {
        let (clients, peers) = (Port::free()?, Port::free()?);
        let client_url = format!("http://{}", clients.address());
        let peer_url = format!("http://{}", peers.address());
        let program = Program::new(
            &self.binaries.etcd,
            [
                format!("--data-dir={}", self.path("etcd")),
                format!("--listen-client-urls={client_url}"),
                format!("--advertise-client-urls={client_url}"),
                format!("--listen-peer-urls={peer_url}"),
                format!("--initial-advertise-peer-urls={peer_url}"),
                format!("--initial-cluster=default={peer_url}"),
                // Nothing here must survive a power cut.
                "--unsafe-no-fsync".to_owned(),
                // What thousands of claims leave behind between two compactions is more than the default.
                "--quota-backend-bytes=8589934592".to_owned(),
                "--log-level=warn".to_owned(),
            ],
        );
        self.launch("etcd", &program)?;
        self.ports.extend([clients, peers]);
        Ok(client_url)
    }

    pub(super) async fn start_api_server(&mut self, etcd: &str) -> Result<(), ControlPlaneError> {
        let mut arguments = vec![
            format!("--etcd-servers={etcd}"),
            format!("--bind-address={}", self.site.listens.ip()),
            format!("--secure-port={}", self.site.listens.port()),
            format!("--cert-dir={}", self.path("apiserver")),
            format!("--tls-cert-file={}", self.path("server.crt")),
            format!("--tls-private-key-file={}", self.path("server.key")),
            format!("--client-ca-file={}", self.path("ca.crt")),
            format!("--service-account-key-file={}", self.path("tokens.pub")),
            format!(
                "--service-account-signing-key-file={}",
                self.path("tokens.key")
            ),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
            "--authorization-mode=Node,RBAC".to_owned(),
            "--allow-privileged".to_owned(),
            format!(
                "--kubelet-client-certificate={}",
                self.path("kubelet-client.crt")
            ),
            format!("--kubelet-client-key={}", self.path("kubelet-client.key")),
            "--kubelet-preferred-address-types=InternalIP".to_owned(),
            "--enable-admission-plugins=NodeRestriction".to_owned(),
            format!("--audit-policy-file={}", self.path("audit-policy.yaml")),
            format!("--audit-log-path={}", self.path("audit.log")),
            "--audit-log-format=json".to_owned(),
            // Whoever reads the log follows one file: it is never put aside for a new one.
            format!("--audit-log-maxsize={AUDIT_LOG}"),
            // Told to end, it waits a minute for watches that nobody ends unless they may take some time.
            "--shutdown-watch-termination-grace-period=2s".to_owned(),
        ];
        if !self.policy_api {
            let off = ["v1", "v1beta1"].map(|version| {
                let group = format!("admissionregistration.k8s.io/{version}");
                format!(
                    "{group}/validatingadmissionpolicies=false,{group}/validatingadmissionpolicybindings=false"
                )
            });
            arguments.push(format!("--runtime-config={}", off.join(",")));
            // The plugin waits for the kinds it cannot list, and holds every request until then.
            arguments.push("--disable-admission-plugins=ValidatingAdmissionPolicy".to_owned());
        }
        let program = Program::new(&self.binaries.api_server, arguments);
        self.launch(API_SERVER, &program)?;
        self.api_server = Some(program);
        self.until_it_serves().await
    }

    /// Waits until the API server says that it is ready.
    pub(super) async fn until_it_serves(&mut self) -> Result<(), ControlPlaneError> {
        let client = self.administrator().await?;
        self.until_ready(API_SERVER, || {
            let client = client.clone();
            async move {
                let request = http::Request::get("/readyz").body(Vec::new());
                let request = request.map_err(|error| error.to_string())?;
                client
                    .request_text(request)
                    .await
                    .map(drop)
                    .map_err(|error| error.to_string())
            }
        })
        .await
    }

    pub(super) fn start_companions(&mut self) -> Result<(), ControlPlaneError> {
        let user = "system:kube-controller-manager";
        let kubeconfig = self.kubeconfig_of("controllers", user, None)?;
        let controllers = Program::new(
            &self.binaries.controllers,
            [
                format!("--kubeconfig={}", kubeconfig.display()),
                format!(
                    "--service-account-private-key-file={}",
                    self.path("tokens.key")
                ),
                format!("--root-ca-file={}", self.path("ca.crt")),
                format!("--cert-dir={}", self.path("controllers")),
                "--use-service-account-credentials".to_owned(),
                "--leader-elect=false".to_owned(),
                "--secure-port=0".to_owned(),
                // Its own throttle would be what a benchmark measures.
                "--kube-api-qps=200".to_owned(),
                "--kube-api-burst=400".to_owned(),
            ],
        );
        self.launch("kube-controller-manager", &controllers)?;
        let kubeconfig = self.kubeconfig_of("scheduler", "system:kube-scheduler", None)?;
        let scheduler = Program::new(
            &self.binaries.scheduler,
            [
                format!("--kubeconfig={}", kubeconfig.display()),
                "--leader-elect=false".to_owned(),
                "--secure-port=0".to_owned(),
                "--kube-api-qps=200".to_owned(),
                "--kube-api-burst=400".to_owned(),
            ],
        );
        Ok(self.launch("kube-scheduler", &scheduler)?)
    }

    pub(super) fn start_fake_kubelet(&mut self) -> Result<(), ControlPlaneError> {
        // The kubelet of all nodes at once; no kubelet's own identity would do.
        let kubeconfig = self.kubeconfig_of("kwok", "kwok", Some("system:masters"))?;
        let kwok = fake_node::program(&self.binaries.kwok, &kubeconfig)?;
        Ok(self.launch("kwok", &kwok)?)
    }
}
