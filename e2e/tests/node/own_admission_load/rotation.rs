//! The webhook's CA, replaced while its leaf is in use. Does I/O.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use sandgate_certs::certificate::Certificate;
use sandgate_certs::issue::{self, Lifetimes};
use sandgate_certs::store::{Authority, Stored};
use sandgate_certs::trust::held_by_all;
use sandgate_e2e::Outcome;
use sandgate_e2e::node_cluster::NodeCluster;
use sandgate_shared::names;
use sandgate_shared::render::Installation as Names;
use serde_json::{Map, Value, json};

use crate::replicas::{both_ready, pods};

/// What a process serves, and what an API server trusts, is no event here; it is asked for this often.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// The leader waits a minute before it lets go of the old CA, and API servers are slow at times.
const ROTATED_WITHIN: Duration = Duration::from_secs(90);

/// How long somebody may take to answer a hello.
const HELLO: Duration = Duration::from_secs(2);

/// A CA on its way into use.
pub struct Rotation {
    old: Vec<Certificate>,
    new: Authority,
}

fn secrets(cluster: &NodeCluster) -> Api<Secret> {
    Api::namespaced(cluster.client(), &Names::default().namespace)
}

fn secret_name() -> String {
    format!("{}-webhook-certs", Names::default().release)
}

async fn edit(cluster: &NodeCluster, data: Value) -> Outcome {
    let patch = Patch::Merge(json!({ "data": data }));
    let how = PatchParams::default();
    secrets(cluster).patch(&secret_name(), &how, &patch).await?;
    Ok(())
}

/// The CAs that every `caBundle` of ours holds.
async fn trusted(cluster: &NodeCluster) -> Outcome<Vec<Certificate>> {
    let name = names::webhook_configuration(&Names::default().release);
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(cluster.client());
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client());
    let mutating = mutating.get(&name).await?.webhooks.unwrap_or_default();
    let validating = validating.get(&name).await?.webhooks.unwrap_or_default();
    let clients = mutating.into_iter().map(|hook| hook.client_config);
    let bundles: Vec<Vec<u8>> = clients
        .chain(validating.into_iter().map(|hook| hook.client_config))
        .map(|config| config.ca_bundle.unwrap_or_default().0)
        .collect();
    Ok(held_by_all(&bundles))
}

async fn until_trusted(cluster: &NodeCluster, expected: &[Certificate]) -> Outcome {
    let all_do = async {
        let mut turn = tokio::time::interval(ASK_EVERY);
        loop {
            turn.tick().await;
            if trusted(cluster).await? == expected {
                return Outcome::Ok(());
            }
        }
    };
    tokio::time::timeout(ROTATED_WITHIN, all_do).await?
}

impl Rotation {
    /// Puts a newer CA into the Secret; back when every `caBundle` holds it beside the old one.
    pub async fn begin(cluster: &NodeCluster) -> Outcome<Self> {
        let old = trusted(cluster).await?;
        assert_eq!(old.len(), 1);
        let new = issue::authority(Lifetimes::default().authority, SystemTime::now())?;
        let added = Stored {
            authorities: vec![new.clone()],
            ..Stored::default()
        };
        edit(cluster, serde_json::to_value(added.to_data())?).await?;
        let this = Self { old, new };
        let both: Vec<Certificate> = this.old.iter().cloned().chain([this.newer()]).collect();
        until_trusted(cluster, &both).await?;
        Ok(this)
    }

    fn newer(&self) -> Certificate {
        self.new.certificate.clone()
    }

    /// Waits until both replicas serve a leaf of the new CA, takes the old one out of the Secret, and
    /// waits until nobody trusts it any more.
    pub async fn end(self, cluster: &NodeCluster) -> Outcome {
        let served = async {
            let mut turn = tokio::time::interval(ASK_EVERY);
            for name in both_ready(cluster).await? {
                let pod = pods(cluster).get(&name).await?;
                let address = pod.status.and_then(|status| status.pod_ip);
                let address = address.expect("a pod that is ready has an address");
                while !self.is_served_at(cluster, &address)? {
                    turn.tick().await;
                }
            }
            Outcome::Ok(())
        };
        tokio::time::timeout(ROTATED_WITHIN, served).await??;
        let old = self.old.iter().map(Certificate::fingerprint);
        let entries = old.flat_map(|old| [format!("ca-{old}.crt"), format!("ca-{old}.key")]);
        let gone: Map<String, Value> = entries.map(|entry| (entry, Value::Null)).collect();
        edit(cluster, Value::Object(gone)).await?;
        until_trusted(cluster, &[self.newer()]).await
    }

    /// Whether whoever trusts the new CA alone trusts the webhook at this address.
    fn is_served_at(&self, cluster: &NodeCluster, address: &str) -> Outcome<bool> {
        let mut roots = RootCertStore::empty();
        roots.add(self.new.certificate.der().clone())?;
        let config = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let names = Names::default();
        let host = format!("{}-webhook.{}.svc", names.release, names.namespace);
        let host = ServerName::try_from(host)?;
        let mut session = ClientConnection::new(Arc::new(config), host)?;
        let address: SocketAddr = format!("{address}:9443").parse()?;
        let shaken = cluster.node.on_the_node(move || {
            let mut stream = TcpStream::connect_timeout(&address, HELLO)?;
            stream.set_read_timeout(Some(HELLO))?;
            while session.is_handshaking() {
                session.complete_io(&mut stream)?;
            }
            Ok::<_, std::io::Error>(())
        })?;
        Ok(shaken.is_ok())
    }
}
