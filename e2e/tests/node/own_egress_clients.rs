//! Clients that people really use, in a sandbox: each fetches by the proxy it was told of, and shows what it
//! shows of a refusal.

mod host;
mod table;

use std::path::Path;

use sandgate_e2e::pair::Pair;
use sandgate_e2e::pki::Authority;
use sandgate_e2e::scene::Scene;
use sandgate_e2e::scene::manifests::{self, claim_with};
use sandgate_e2e::{Failure, NodeCluster, Outcome, clients};
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::test_host::{self, HOST};
use crate::workload::class;
use host::PAGE;
use table::{BROWSER, CLIENTS, Client};

/// A host that no Connection names.
const NOT_NAMED: &str = "not-named.example";

/// Where the sandbox may write.
const FILES: &str = "/files";

/// The certificate of whoever signed the host's.
const AUTHORITY: &str = "/files/ca.pem";

/// A node on which the host is a test host, with what is in this archive.
async fn start(archive: &Path) -> Outcome<NodeCluster> {
    let cluster = Box::pin(NodeCluster::start(test_host::options())).await?;
    cluster.node.import(archive).await?;
    Ok(cluster)
}

/// Binds a claim to the host, whose clients trust the authority by the settings each has for that.
async fn bring_sandbox(scene: &Scene, image: &str, authority: &Authority) -> Outcome {
    let trusting = [
        "CURL_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE",
        "SSL_CERT_FILE",
    ];
    let trusting = trusting.map(|name| (name, AUTHORITY));
    // Debian's Node looks there by itself, others do not.
    let further = [
        ("HOME", FILES),
        ("TMPDIR", FILES),
        ("NODE_PATH", "/usr/share/nodejs"),
    ];
    let variables = trusting.into_iter().chain(further);
    let variables = variables.map(|(name, value)| json!({ "name": name, "value": value }));
    let fields = json!({
        "args": ["python3", "-m", "http.server", "8080", "--directory", FILES],
        "env": variables.collect::<Vec<_>>(),
        "resources": { "limits": { "cpu": "1", "memory": "1Gi" } },
        "filesystem": {
            "scratch": [{ "name": "files", "mountPath": FILES, "sizeLimit": "256Mi" }],
        },
        "connections": [{ "role": "site" }],
    });
    scene.accepts(&class("clients", image, &fields)).await?;
    scene.accepts(&manifests::hosts("host", &[HOST])).await?;
    let bound = json!({ "connections": [{ "role": "site", "connection": "host" }] });
    let operator = scene.operator().await?;
    operator
        .accepts(&claim_with("clients", "clients", &bound))
        .await?;
    scene.bound("clients").await?;
    let keep = format!("cat >{AUTHORITY}");
    let keep = [&SANDBOX[..], &["sh", "-c", &keep]].concat();
    let said = scene.kubectl(&keep, Some(authority.certificate())).await?;
    assert!(said.success, "{said:?}");
    Ok(())
}

/// What runs the words after it in the sandbox.
const SANDBOX: [&str; 4] = ["exec", "-i", "deploy/clients-sandbox", "--"];

/// Fails unless the client prints the page of the host that is named.
async fn fetches(scene: &Scene, client: &Client) -> Outcome {
    let url = format!("https://{HOST}/{}", client.path);
    let said = scene
        .kubectl(&[&SANDBOX[..], client.command, &[&url]].concat(), None)
        .await?;
    if said.success && said.stdout == PAGE {
        return Ok(());
    }
    let name = client.name;
    Err(Failure::saying(format!("{name} got of {HOST}: {said:?}")))
}

/// Fails unless the client fails for a host that is not named, and shows what it can of the reason.
async fn shows_the_refusal(scene: &Scene, client: &Client) -> Outcome {
    let url = format!("https://{NOT_NAMED}/{}", client.path);
    let said = scene
        .kubectl(&[&SANDBOX[..], client.command, &[&url]].concat(), None)
        .await?;
    let mut lines = said.stderr.lines().map(str::trim);
    let tells = |line: &&str| client.shows.iter().all(|words| line.contains(words));
    let (name, shows) = (client.name, client.shows);
    match lines.rfind(tells) {
        Some(line) if !said.success => {
            println!("{name}: {line}");
            Ok(())
        }
        _ => Err(Failure::saying(format!(
            "{name} should show {shows:?}, and shows {said:?}"
        ))),
    }
}

/// Has each client of the image in this archive fetch, and be refused.
async fn try_all(archive: &Path, image: &str, all: &[Client]) -> Outcome {
    let mut cluster = Box::pin(start(archive)).await?;
    let authority = Authority::new()?;
    let scene = Scene::on(&cluster, "clients").await?;
    Pair::ours(&cluster).in_force().await?;
    tokio::try_join!(
        host::bring(&cluster, image, &authority),
        bring_sandbox(&scene, image, &authority),
    )?;
    for client in all {
        fetches(&scene, client).await?;
        shows_the_refusal(&scene, client).await?;
    }
    cluster.check()
}

// Proves: E-015, E-019, E-026
#[tokio::test]
async fn everyday_clients_fetch_by_the_proxy_and_show_why_it_refuses() -> Outcome {
    let archive = spawn_blocking(clients::archive).await??;
    Box::pin(try_all(&archive, clients::IMAGE, &CLIENTS)).await
}

mod slow {
    use super::*;

    // Proves: E-015, E-019
    #[tokio::test]
    async fn a_browser_fetches_by_the_proxy_and_shows_that_it_refuses() -> Outcome {
        let archive = spawn_blocking(clients::archive_with_browser).await??;
        Box::pin(try_all(&archive, clients::WITH_BROWSER, &[BROWSER])).await
    }
}
