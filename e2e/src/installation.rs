//! Sandgate on a control plane, as a chart would install it: manifests, then the real binaries, each
//! as itself and never as an administrator. Does I/O.

mod judged;
mod layers;

use std::io;
use std::path::PathBuf;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use sandgate_shared::names;
use sandgate_shared::render::{Installation as Names, WebhookEndpoint};
use serde_json::{Value, json};

pub(crate) use judged::until_judged;
use judged::within_patience;
pub use layers::{Layers, without_rules};

use crate::control_plane::ControlPlane;
use crate::folders::{self, FolderError};
use crate::identity::{EDITORS, IdentityError, TokenFile};
use crate::kubeconfig::{self, Credential, KubeconfigError};
use crate::manifests::{self, ManifestError};
use crate::own_binaries::{NotBuilt, OwnBinaries};
use crate::ports::{Port, PortError};
use crate::process::{ProcessError, Program};
use crate::progress::PATIENCE;
use crate::service::{Service, ServiceError};

/// Why Sandgate does not stand on the control plane.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    /// A binary of ours is missing.
    #[error(transparent)]
    NotBuilt(#[from] NotBuilt),
    /// A manifest was refused.
    #[error(transparent)]
    Manifests(#[from] ManifestError),
    /// No port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// No folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// No client.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// No token.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A process of ours did not start.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A process of ours is not ready.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// Nobody wrote the `caBundle`.
    #[error("the controller put no caBundle into the {kind}; the end of its log:\n{tail}")]
    NoCaBundle {
        /// Which configuration.
        kind: &'static str,
        /// The end of the controller's log; the log itself goes with the run.
        tail: String,
    },
    /// The API server does not judge by the webhook.
    #[error("the API server does not judge by the webhook: {0}")]
    NotJudged(String),
    /// The thread that keeps tokens is gone.
    #[error("failed to start a background thread")]
    Background(#[from] io::Error),
}

/// What differs between installations.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which of the layers that judge are put in place.
    pub layers: Layers,
    /// Whether our processes are started, too.
    pub start: bool,
    /// Our binaries; those [`OwnBinaries::find`] finds if `None`.
    pub own: Option<OwnBinaries>,
    /// Further arguments of every controller.
    pub controller_arguments: Vec<String>,
    /// What every controller logs, as `RUST_LOG` has it; what it does by itself if `None`.
    pub controller_log: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            layers: Layers::default(),
            start: true,
            own: None,
            controller_arguments: Vec::new(),
            controller_log: None,
        }
    }
}

/// A controller and what it acts as.
#[derive(Debug)]
pub struct Controller {
    /// Its process.
    pub service: Service,
    /// Where it writes the webhook's certificate.
    pub tls_folder: PathBuf,
    _token: TokenFile,
}

/// Sandgate as installed, with its processes.
#[derive(Debug)]
pub struct Installation {
    /// The first controller, whose certificates the webhook serves.
    pub controller: Option<Controller>,
    /// The webhook.
    pub webhook: Option<Service>,
    names: Names,
    webhook_port: Port,
    options: Options,
}

impl Installation {
    /// Puts all of it onto `plane` and waits until a write is really judged.
    pub async fn install(
        plane: &ControlPlane,
        options: Options,
    ) -> Result<Self, InstallationError> {
        let webhook_port = Port::free()?;
        let names = Names {
            webhook: WebhookEndpoint::Url(format!("https://{}", webhook_port.address())),
            ..Names::default()
        };
        let client = plane.administrator().await?;
        let served = plane.serves_policies();
        manifests::apply(&client, &options.layers.manifests(&names, served)).await?;
        manifests::apply(&client, &editors()).await?;
        let mut this = Self {
            controller: None,
            webhook: None,
            names,
            webhook_port,
            options,
        };
        if this.options.start {
            this.controller = Some(
                this.another_controller(plane, "sandgate-controller-0")
                    .await?,
            );
            this.webhook = this.start_webhook(plane)?;
            this.until_it_judges(plane).await?;
        }
        Ok(this)
    }

    /// `https://127.0.0.1:<port>`, where the webhook listens.
    pub fn webhook_url(&self) -> String {
        format!("https://{}", self.webhook_port.address())
    }

    /// An error if a process of ours has ended that nobody ended on purpose.
    pub fn check(&mut self) -> Result<(), ProcessError> {
        let controller = self
            .controller
            .iter_mut()
            .map(|controller| &mut controller.service);
        controller
            .chain(&mut self.webhook)
            .try_for_each(Service::check)
    }

    /// Starts one more controller beside those there are; `pod` names it and its placeholder pod.
    pub async fn another_controller(
        &self,
        plane: &ControlPlane,
        pod: &str,
    ) -> Result<Controller, InstallationError> {
        self.another_controller_with(plane, pod, &[]).await
    }

    /// The same, with further arguments of its own.
    pub async fn another_controller_with(
        &self,
        plane: &ControlPlane,
        pod: &str,
        more: &[&str],
    ) -> Result<Controller, InstallationError> {
        let folder = plane.folder();
        let tls_folder = folder.join(format!("{pod}.tls"));
        folders::make(&tls_folder)?;
        let client = plane.administrator().await?;
        let (namespace, account) = (&self.names.namespace, &self.names.service_account);
        let bearer = (namespace.as_str(), account.as_str(), pod);
        let file = folder.join(format!("{pod}.token"));
        let token = TokenFile::keep(&client, &plane.kubeconfig(), bearer, &file).await?;
        let kubeconfig = folder.join(format!("{pod}.kubeconfig"));
        let credential = Credential::TokenFile(token.path());
        kubeconfig::write(&kubeconfig, plane.server(), plane.authority(), &credential)?;
        let health = Port::free()?;
        let mut arguments = vec![
            format!("--release={}", self.names.release),
            format!("--namespace={namespace}"),
            format!("--service-account={account}"),
            format!("--tls-dir={}", tls_folder.display()),
            format!("--health-listen={}", health.address()),
            format!("--identity={pod}"),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--webhook-url={}", self.webhook_url()),
        ];
        arguments.extend(self.options.controller_arguments.iter().cloned());
        arguments.extend(more.iter().map(|&argument| argument.to_owned()));
        let program = Program::new(&self.own()?.controller, arguments)
            .logging(self.options.controller_log.clone());
        let log = folder.join(format!("{pod}.log"));
        let service = Service::start_new(pod, program, &log, health)?;
        Ok(Controller {
            service,
            tls_folder,
            _token: token,
        })
    }

    fn own(&self) -> Result<OwnBinaries, NotBuilt> {
        self.options.own.clone().map_or_else(OwnBinaries::find, Ok)
    }

    fn start_webhook(&self, plane: &ControlPlane) -> Result<Option<Service>, InstallationError> {
        let Some(controller) = self
            .controller
            .as_ref()
            .filter(|_| self.options.layers.webhook)
        else {
            return Ok(None);
        };
        let health = Port::free()?;
        let program = Program::new(
            &self.own()?.webhook,
            [
                format!("--listen={}", self.webhook_port.address()),
                format!("--health-listen={}", health.address()),
                format!("--tls-dir={}", controller.tls_folder.display()),
                // Both processes start at once here: the first certificate is not waited for long.
                "--tls-interval=100ms".to_owned(),
                format!("--operator-username={}", self.names.identity().username),
                format!(
                    "--require-pod-bound-token={}",
                    self.names.require_pod_bound_token
                ),
            ],
        );
        let log = plane.folder().join("sandgate-webhook.log");
        Ok(Some(Service::start_new(
            "sandgate-webhook",
            program,
            &log,
            health,
        )?))
    }

    /// Ready processes, both `caBundle`s, a bad write refused by us and a good one admitted.
    async fn until_it_judges(&mut self, plane: &ControlPlane) -> Result<(), InstallationError> {
        let mut config = kubeconfig::config(&plane.kubeconfig()).await?;
        // The storage of a new kind answers "try again in a second" for a few milliseconds. (Its first
        // create is held for two seconds all the same: the API server lets its peers catch up.)
        config.default_retry = false;
        let client = Client::try_from(config).map_err(KubeconfigError::Client)?;
        let log = match &mut self.controller {
            Some(controller) => {
                controller.service.answers("/readyz", PATIENCE).await?;
                controller.service.log().to_owned()
            }
            None => return Ok(()),
        };
        let Some(webhook) = &mut self.webhook else {
            return Ok(());
        };
        webhook.answers("/readyz", PATIENCE).await?;
        let name = names::webhook_configuration(&self.names.release);
        let mutating = await_condition(
            Api::<MutatingWebhookConfiguration>::all(client.clone()),
            &name,
            |live: Option<&MutatingWebhookConfiguration>| {
                let hooks = live
                    .and_then(|live| live.webhooks.as_deref())
                    .unwrap_or_default();
                hooks
                    .iter()
                    .all(|hook| hook.client_config.ca_bundle.is_some())
                    && !hooks.is_empty()
            },
        );
        within_patience(mutating, "MutatingWebhookConfiguration", &log).await?;
        let validating = await_condition(
            Api::<ValidatingWebhookConfiguration>::all(client.clone()),
            &name,
            |live: Option<&ValidatingWebhookConfiguration>| {
                let hooks = live
                    .and_then(|live| live.webhooks.as_deref())
                    .unwrap_or_default();
                hooks
                    .iter()
                    .all(|hook| hook.client_config.ca_bundle.is_some())
                    && !hooks.is_empty()
            },
        );
        within_patience(validating, "ValidatingWebhookConfiguration", &log).await?;
        until_judged(&client).await
    }
}

/// What [`crate::identity::Identity::User`] may do: write all of Sandgate's kinds, so that only
/// admission stands between.
pub(crate) fn editors() -> [Value; 2] {
    let api = "rbac.authorization.k8s.io";
    [
        json!({
            "apiVersion": format!("{api}/v1"),
            "kind": "ClusterRole",
            "metadata": { "name": "sandgate-e2e-editors" },
            "rules": [
                { "apiGroups": [names::GROUP], "resources": ["*"], "verbs": ["*"] },
            ],
        }),
        json!({
            "apiVersion": format!("{api}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": { "name": "sandgate-e2e-editors" },
            "roleRef": { "apiGroup": api, "kind": "ClusterRole", "name": "sandgate-e2e-editors" },
            "subjects": [{ "apiGroup": api, "kind": "Group", "name": EDITORS }],
        }),
    ]
}
