//! The webhook's certificates, renewed under it while it answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use prometheus_client::registry::Registry;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use sandgate_controller::api_server::ApiServer;
use sandgate_controller::certificates::Certificates;
use sandgate_controller::leader::Leadership;
use sandgate_controller::metrics::{Metrics, exposition};
use sandgate_e2e::identity::Identity;
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::{Cluster, Options, Outcome, OwnCluster, Stage, Writer};
use sandgate_shared::names;
use sandgate_shared::render::Installation as Names;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

use crate::manifests;
use crate::scene::Scene;

const SECRET: &str = "sandgate-webhook-certs";

/// Nobody tells when a process serves another certificate; it is asked this often.
const ASK_EVERY: Duration = Duration::from_millis(20);

fn secrets(cluster: &OwnCluster) -> Api<Secret> {
    Api::namespaced(cluster.client(), &Names::default().namespace)
}

/// The different `caBundle`s of all webhooks of ours; two while a CA is on its way to both
/// configurations.
async fn bundles(cluster: &OwnCluster) -> Outcome<Vec<Vec<u8>>> {
    let name = names::webhook_configuration("sandgate");
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(cluster.client());
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client());
    let mutating = mutating.get(&name).await?.webhooks.unwrap().into_iter();
    let validating = validating.get(&name).await?.webhooks.unwrap().into_iter();
    let mut bundles: Vec<Vec<u8>> = mutating
        .map(|hook| hook.client_config)
        .chain(validating.map(|hook| hook.client_config))
        .map(|config| config.ca_bundle.unwrap_or_default().0)
        .collect();
    bundles.dedup();
    Ok(bundles)
}

/// The one `caBundle`.
async fn bundle(cluster: &OwnCluster) -> Outcome<Vec<u8>> {
    let mut bundles = bundles(cluster).await?;
    assert_eq!(bundles.len(), 1, "the configurations hold different CAs");
    Ok(bundles.remove(0))
}

/// The certificate the webhook shows to whoever trusts `bundle`, as the API server does.
async fn served(cluster: &OwnCluster, bundle: &[u8]) -> Outcome<Vec<u8>> {
    let mut trusted = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle) {
        trusted.add(authority?)?;
    }
    let config = ClientConfig::builder()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let url = cluster.installation.webhook_url();
    let stream = TcpStream::connect(url.trim_start_matches("https://")).await?;
    let name = ServerName::try_from("127.0.0.1")?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await?;
    let shown = stream.get_ref().1.peer_certificates().unwrap();
    Ok(shown[0].to_vec())
}

/// Waits until the webhook shows another certificate than `before`, which both configurations trust.
async fn serves_another(cluster: &OwnCluster, before: &[u8]) -> Outcome<Vec<u8>> {
    let mut turn = tokio::time::interval(ASK_EVERY);
    let another = async {
        loop {
            turn.tick().await;
            if let [bundle] = bundles(cluster).await?.as_slice()
                && let Ok(shown) = served(cluster, bundle).await
                && shown != before
            {
                return Outcome::Ok(shown);
            }
        }
    };
    tokio::time::timeout(DEADLINE, another).await?
}

/// What the Secret keeps of each CA under this ending.
fn of_authorities<'a>(secret: &'a Secret, ending: &str) -> Vec<&'a [u8]> {
    let data = secret.data.iter().flatten();
    let of_one = |name: &str| name.strip_prefix("ca-")?.strip_suffix(ending).map(drop);
    let entries = data.filter(|(name, _)| of_one(name).is_some());
    entries.map(|(_, ByteString(pem))| pem.as_slice()).collect()
}

/// The certificates of the CAs in the Secret.
fn authorities(secret: &Secret) -> Vec<CertificateDer<'static>> {
    let certificates = of_authorities(secret, ".crt").into_iter();
    certificates
        .map(|pem| CertificateDer::from_pem_slice(pem).unwrap())
        .collect()
}

/// Asks for admission again and again, one request after the other.
struct Asker {
    stop: Arc<AtomicBool>,
    admitted: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<Outcome>,
}

impl Asker {
    fn start(writer: Writer) -> Self {
        let (stop, admitted) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (ended, count) = (Arc::clone(&stop), Arc::clone(&admitted));
        let task = tokio::spawn(async move {
            while !ended.load(Ordering::Relaxed) {
                let class = manifests::class("another", Stage::Ready);
                writer.would_accept(&class).await?;
                AtomicUsize::fetch_add(&count, 1, Ordering::Relaxed);
            }
            Ok(())
        });
        Self {
            stop,
            admitted,
            task,
        }
    }

    /// How many were admitted; an error if one was not.
    async fn stop(self) -> Outcome<usize> {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await??;
        Ok(self.admitted.load(Ordering::Relaxed))
    }
}

// Proves: X-012
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leaf_and_then_a_ca_are_replaced_under_a_webhook_that_goes_on_answering() -> Outcome {
    let cluster = Cluster::own(Options::default()).await?;
    let scene = Scene::on(&cluster, "certificates").await?;
    let webhook = cluster.installation.webhook.as_ref().unwrap().id();
    let trust = bundle(&cluster).await?;
    let text = String::from_utf8(trust.clone())?;
    assert!(text.contains("BEGIN CERTIFICATE") && !text.contains("KEY"));
    let secret = secrets(&cluster).get(SECRET).await?;
    let live: Vec<_> = CertificateDer::pem_slice_iter(&trust).collect::<Result<_, _>>()?;
    assert_eq!(live, authorities(&secret));
    // The webhook's folder holds its own key and no CA's.
    let folder = &cluster.installation.controller.as_ref().unwrap().tls_folder;
    let file = |name: &str| std::fs::read(folder.join(name));
    assert_eq!(file("ca.crt")?, trust);
    assert_eq!(
        String::from_utf8(file("server-names")?)?.trim(),
        "127.0.0.1"
    );
    let keys = of_authorities(&secret, ".key");
    assert!(!keys.is_empty());
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let content = std::fs::read(&path)?;
        assert!(
            !keys.contains(&content.as_slice()),
            "{} is a CA's key",
            path.display()
        );
    }

    // The leaf goes; another of the same CA takes its place without one refused request.
    let first = served(&cluster, &trust).await?;
    let asker = Asker::start(scene.user().clone());
    let gone = json!({ "data": { "tls.crt": null, "tls.key": null } });
    let how = PatchParams::default();
    secrets(&cluster)
        .patch(SECRET, &how, &Patch::Merge(gone))
        .await?;
    let second = serves_another(&cluster, &first).await?;
    assert_eq!(bundle(&cluster).await?, trust);
    assert!(asker.stop().await? > 0);

    // The whole Secret goes, and with it every CA there was.
    secrets(&cluster)
        .delete(SECRET, &DeleteParams::default())
        .await?;
    serves_another(&cluster, &second).await?;
    let anew = bundle(&cluster).await?;
    let secret = secrets(&cluster).get(SECRET).await?;
    let live: Vec<_> = CertificateDer::pem_slice_iter(&anew).collect::<Result<_, _>>()?;
    assert_eq!(live, authorities(&secret));
    assert!(!String::from_utf8(anew)?.contains("KEY"));
    scene.claims("judged", Stage::Ready).await?;
    scene.bound("judged").await?;
    assert_eq!(cluster.installation.webhook.as_ref().unwrap().id(), webhook);
    Ok(())
}

/// One of several replicas that all take themselves for the leader.
struct Leader {
    folder: TempDir,
    registry: Arc<Registry>,
    task: tokio::task::JoinHandle<()>,
    _leads: watch::Sender<Leadership>,
}

impl Leader {
    async fn start(cluster: &OwnCluster, name: &str) -> Outcome<Self> {
        let names = Names::default();
        let mut registry = Registry::default();
        let metrics = Metrics::register(&mut registry);
        let client = cluster.client_as(&Identity::Operator).await?;
        let api = ApiServer::new(client, metrics.clone());
        let folder = TempDir::new()?;
        let path = folder.path().to_owned();
        let (release, namespace) = (&names.release, &names.namespace);
        let certificates = Certificates::new(&api, metrics, release, namespace, path, name);
        let (leads, leadership) = watch::channel(Leadership::Leading(CancellationToken::new()));
        Ok(Self {
            folder,
            registry: Arc::new(registry),
            task: tokio::spawn(certificates.run(leadership)),
            _leads: leads,
        })
    }

    fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.path().join(name)).unwrap_or_default()
    }

    /// How often somebody else's write of the Secret came first.
    fn lost(&self, verb: &str) -> Outcome<u64> {
        let page = exposition(&self.registry)?;
        let start = format!(
            "sandgate_controller_api_requests_total{{verb=\"{verb}\",kind=\"Secret\",outcome=\"conflict\"}} "
        );
        let line = page.lines().find_map(|line| line.strip_prefix(&start));
        Ok(line.unwrap_or("0").parse()?)
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits until the Secret holds a CA and a leaf, both configurations trust the one, and both leaders
/// hand over the other; returns the leaf.
async fn agree(cluster: &OwnCluster, leaders: &[Leader; 2], before: &[u8]) -> Outcome<Vec<u8>> {
    let mut turn = tokio::time::interval(ASK_EVERY);
    let agreed = async {
        loop {
            turn.tick().await;
            let Some(secret) = secrets(cluster).get_opt(SECRET).await? else {
                continue;
            };
            let held = of_authorities(&secret, ".crt");
            let leaf = secret.data.as_ref().and_then(|data| data.get("tls.crt"));
            let Some(ByteString(leaf)) = leaf.filter(|leaf| leaf.0 != before) else {
                continue;
            };
            let trusted = bundles(cluster).await?;
            let handed = leaders.iter().all(|it| it.file("tls.crt") == *leaf);
            if handed && trusted == [held.concat()] {
                // Whose CA lost was never stored, and so never trusted.
                assert_eq!(held.len(), 1);
                return Outcome::Ok(leaf.clone());
            }
        }
    };
    tokio::time::timeout(DEADLINE, agreed).await?
}

// Proves: X-012
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_replicas_that_both_take_themselves_for_the_leader_overwrite_nothing_of_each_other()
-> Outcome {
    let mut options = Options::default();
    options.installation.start = false;
    let cluster = Cluster::own(options).await?;
    let leaders = [
        Leader::start(&cluster, "one").await?,
        Leader::start(&cluster, "other").await?,
    ];
    let mut leaf = agree(&cluster, &leaders, &[]).await?;
    let lost = |verb: &str| -> Outcome<u64> {
        let all = leaders.iter().map(|leader| leader.lost(verb));
        Ok(all.collect::<Outcome<Vec<u64>>>()?.into_iter().sum())
    };
    // Both write at once until one of them came second in each way of writing.
    let (began, mut rounds) = (Instant::now(), 0);
    while rounds < 3 || lost("create")? == 0 || lost("update")? == 0 {
        assert!(began.elapsed() < DEADLINE, "no race in {rounds} rounds");
        rounds += 1;
        secrets(&cluster)
            .delete(SECRET, &DeleteParams::default())
            .await?;
        leaf = agree(&cluster, &leaders, &leaf).await?;
        let gone = json!({ "data": { "tls.crt": null, "tls.key": null } });
        let how = PatchParams::default();
        secrets(&cluster)
            .patch(SECRET, &how, &Patch::Merge(gone))
            .await?;
        leaf = agree(&cluster, &leaders, &leaf).await?;
    }
    // Nobody took the other's write for a stranger's.
    for leader in &leaders {
        let page = exposition(&leader.registry)?;
        let heals = page
            .lines()
            .filter(|line| line.starts_with("sandgate_controller_heals_total"));
        assert_eq!(heals.count(), 0, "{page}");
        let failures = "sandgate_controller_certificate_failures_total 0";
        assert!(page.lines().any(|line| line == failures), "{page}");
    }
    Ok(())
}
