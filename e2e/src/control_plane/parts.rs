//! The processes of a control plane and their flags. Starts processes.

use super::{ControlPlane, ControlPlaneError, Options};
use crate::fake_node;
use crate::ports::Port;
use crate::process::{Process, ProcessError, Program};

impl ControlPlane {
    fn launch(&mut self, part: &str, program: &Program) -> Result<(), ProcessError> {
        let process = Process::start(part, program, &self.log(part))?;
        self.processes.push(process);
        Ok(())
    }

    /// Returns the URL clients use.
    pub(super) async fn start_etcd(&mut self) -> Result<String, ControlPlaneError> {
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
                "--log-level=warn".to_owned(),
            ],
        );
        self.launch("etcd", &program)?;
        let address = clients.address();
        self.until_ready("etcd", || async {
            tokio::net::TcpStream::connect(&address)
                .await
                .map(drop)
                .map_err(|e| e.to_string())
        })
        .await?;
        self.ports.extend([clients, peers]);
        Ok(client_url)
    }

    pub(super) async fn start_api_server(
        &mut self,
        etcd: &str,
        port: u16,
        options: &Options,
    ) -> Result<(), ControlPlaneError> {
        let mut arguments = vec![
            format!("--etcd-servers={etcd}"),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
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
            "--authorization-mode=RBAC".to_owned(),
            "--allow-privileged".to_owned(),
            "--enable-admission-plugins=NodeRestriction".to_owned(),
            format!("--audit-policy-file={}", self.path("audit-policy.yaml")),
            format!("--audit-log-path={}", self.path("audit.log")),
            "--audit-log-format=json".to_owned(),
        ];
        if !options.policy_api {
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
        self.launch("kube-apiserver", &program)?;
        let client = self.administrator().await?;
        self.until_ready("kube-apiserver", || {
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
        let controllers = Program::new(
            &self.binaries.controllers,
            [
                format!("--kubeconfig={}", self.path("controllers.kubeconfig")),
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
        let scheduler = Program::new(
            &self.binaries.scheduler,
            [
                format!("--kubeconfig={}", self.path("scheduler.kubeconfig")),
                "--leader-elect=false".to_owned(),
                "--secure-port=0".to_owned(),
                "--kube-api-qps=200".to_owned(),
                "--kube-api-burst=400".to_owned(),
            ],
        );
        self.launch("kube-scheduler", &scheduler)?;
        let kwok = fake_node::program(&self.binaries.kwok, &self.folder().join("kwok.kubeconfig"))?;
        Ok(self.launch("kwok", &kwok)?)
    }
}
