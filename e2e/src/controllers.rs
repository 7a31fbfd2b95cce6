//! Further controllers beside the installation's first, with arguments or a server of their own.
//! Does I/O.

use sandgate_shared::render::Installation as Names;

use crate::cluster::OwnCluster;
use crate::failure::Outcome;
use crate::folders;
use crate::identity::TokenFile;
use crate::kubeconfig::{self, Credential};
use crate::own_binaries::OwnBinaries;
use crate::ports::Port;
use crate::process::Program;
use crate::service::Service;

/// What a further controller is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Names its files.
    pub name: &'a str,
    /// Pod its token is bound to; also its identity.
    pub pod: &'a str,
    /// Release it belongs to.
    pub release: &'a str,
    /// Where it reaches the API server.
    pub server: &'a str,
    /// What else it is told.
    pub arguments: &'a [String],
}

/// A controller that runs until it is dropped.
pub struct Controller {
    /// Its process.
    pub service: Service,
    _token: TokenFile,
}

/// Starts one in place of the installation's first, which is killed, under the same identity: nobody has to wait
/// until its Lease runs out. It reaches the API server at `server`.
pub async fn replace_first(
    cluster: &mut OwnCluster,
    server: &str,
    arguments: &[String],
) -> Outcome<Controller> {
    if let Some(first) = cluster.installation.controller.as_mut() {
        first.service.kill();
    }
    let wanted = Wanted {
        name: "proxied",
        pod: "sandgate-controller-0",
        release: "sandgate",
        server,
        arguments,
    };
    start(cluster, &wanted).await
}

/// Starts one.
pub async fn start(cluster: &OwnCluster, wanted: &Wanted<'_>) -> Outcome<Controller> {
    let plane = &cluster.control_plane;
    let names = Names::default();
    let file = |ending: &str| plane.folder().join(format!("{}.{ending}", wanted.name));
    let bearer = (
        names.namespace.as_str(),
        names.service_account.as_str(),
        wanted.pod,
    );
    let token = file("token");
    let token = TokenFile::keep(&cluster.client(), &plane.kubeconfig(), bearer, &token).await?;
    let credential = Credential::TokenFile(token.path());
    let config = file("kubeconfig");
    kubeconfig::write(&config, wanted.server, plane.authority(), &credential)?;
    let tls = file("tls");
    folders::make(&tls)?;
    let health = Port::free()?;
    let mut arguments = vec![
        format!("--release={}", wanted.release),
        format!("--namespace={}", names.namespace),
        format!("--service-account={}", names.service_account),
        format!("--tls-dir={}", tls.display()),
        format!("--health-listen={}", health.address()),
        format!("--identity={}", wanted.pod),
        format!("--kubeconfig={}", config.display()),
        format!("--webhook-url={}", cluster.installation.webhook_url()),
    ];
    arguments.extend(wanted.arguments.iter().cloned());
    let program = Program::new(&OwnBinaries::find()?.controller, arguments);
    let service = Service::start_new(wanted.name, program, &file("log"), health)?;
    Ok(Controller {
        service,
        _token: token,
    })
}
