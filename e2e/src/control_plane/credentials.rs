//! The certificates, keys and kubeconfigs of a control plane. Writes files.

use std::path::PathBuf;

use super::{ControlPlane, ControlPlaneError};
use crate::folders;
use crate::kubeconfig::{self, Credential};
use crate::pki;

impl ControlPlane {
    pub(super) fn write_credentials(&self) -> Result<(), ControlPlaneError> {
        let write =
            |name: &str, text: &str| folders::write_private(&self.folder().join(name), text);
        write("ca.crt", self.authority.certificate())?;
        let address = self.site.listens.ip().to_string();
        let hosts = [
            "127.0.0.1",
            "localhost",
            "kubernetes.default.svc",
            "10.96.0.1",
            &address,
        ];
        let server = self.authority.server(&hosts)?;
        write("server.crt", &server.certificate)?;
        write("server.key", &server.key)?;
        let (public, private) = pki::token_keys()?;
        write("tokens.pub", &public)?;
        write("tokens.key", &private)?;
        // As whom the API server asks a kubelet for logs.
        let masters = Some("system:masters");
        let asks = self.authority.client("kube-apiserver", masters)?;
        write("kubelet-client.crt", &asks.certificate)?;
        write("kubelet-client.key", &asks.key)?;
        write("audit-policy.yaml", include_str!("audit-policy.yaml"))?;
        let administrator = self.authority.client("administrator", masters)?;
        kubeconfig::write(
            &self.kubeconfig(),
            &self.server,
            self.authority.certificate(),
            &Credential::Certificate(&administrator),
        )?;
        Ok(())
    }

    /// Writes `<part>.kubeconfig` for a process beside the API server, and returns its path.
    pub fn kubeconfig_of(
        &self,
        part: &str,
        user: &str,
        group: Option<&str>,
    ) -> Result<PathBuf, ControlPlaneError> {
        let path = self.folder().join(format!("{part}.kubeconfig"));
        kubeconfig::write(
            &path,
            &format!("https://{}", self.site.listens),
            self.authority.certificate(),
            &Credential::Certificate(&self.authority.client(user, group)?),
        )?;
        Ok(path)
    }
}
