//! The scene of a run: receivers, another sandbox, the witness; and what is known of it all. Does
//! I/O.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use sandgate_shared::api::SandboxClaim;

use super::arguments::{self, Dial};
use super::destination::{Destination, Opening, destinations, port};
use super::evidence::Sighting;
use super::facts::{Addresses, Facts, Node, Outside, Peer};
use super::ledger::signed;
use super::logs::{self, Receivers};
use super::manifests::{self, Class, LABEL_ROLE, RUNTIME, pairs};
use super::pods;
use super::stage::Stage;
use super::survey;
use super::trouble::Trouble;

/// How much longer than it dials a probe may take to say what it saw, on a busy machine.
pub const GRACE: Duration = Duration::from_mins(1);
/// How long something that is let through may take to arrive.
pub const ARRIVES: Duration = Duration::from_secs(30);
/// How many destinations one sandbox dials: more would slow down each.
const AT_ONCE: usize = 40;

/// The receivers: name, role, and whether they are elsewhere.
const RECEIVERS: [(&str, &str, bool); 4] = [
    ("numbered", "numbered", false),
    ("named", "named", false),
    // The same labels as the one elsewhere: what opens that one must not open this one.
    ("forbidden", "elsewhere", false),
    ("elsewhere", "elsewhere", true),
];

/// Where scenarios are played.
pub struct Scene<'a> {
    /// The namespaces.
    pub stage: &'a Stage,
    /// Everything that is dialled.
    pub destinations: Vec<Destination>,
    /// What arrives.
    pub receivers: Receivers,
    /// How long each sandbox dials.
    pub period: Duration,
}

/// How long a sandbox lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Life {
    /// It dials for the period of the run, and goes at SIGTERM.
    #[default]
    Brief,
    /// It dials for ever and ignores SIGTERM.
    Endless,
    /// As endless, and it never becomes ready.
    NeverReady,
}

/// What a sandbox of ours is to do.
#[derive(Clone, Debug, Default)]
pub struct Part<'a> {
    /// The name of its class and claim.
    pub name: &'a str,
    /// `LABEL=TARGET` each; without one it only serves.
    pub targets: Vec<String>,
    /// What its class opens.
    pub opening: Option<Opening>,
    /// Whether its root filesystem is read-only.
    pub read_only_root: bool,
    /// Whether it tells what its container sees of itself.
    pub hardening: bool,
    /// For how long it dials, and whether it goes when it is told to.
    pub life: Life,
    /// The namespace, if not that of all sandboxes.
    pub namespace: Option<&'a str>,
    /// The runtime, if not that of all claims.
    pub runtime: Option<&'a str>,
}

impl<'a> Scene<'a> {
    /// Sets it up.
    pub async fn set(
        stage: &'a Stage,
        near: Node,
        far: Option<Node>,
        outside: (Vec<Outside>, bool),
        period: Duration,
    ) -> Result<Self, Trouble> {
        stage.set().await?;
        let mut scene = Self {
            stage,
            destinations: Vec::new(),
            receivers: Receivers::of_run(&stage.run),
            period,
        };
        let mut services = BTreeMap::new();
        for (name, role, elsewhere) in RECEIVERS {
            let namespace = scene.namespace_of(elsewhere);
            let service = stage.make_service(namespace, name, role).await?;
            services.insert(name, service);
            let labels = pairs(&[(LABEL_ROLE, role)]);
            let command = arguments::receiver(name);
            let node = &near.name;
            stage
                .make_pod(namespace, name, labels, command, node, true)
                .await?;
        }
        if let Some(far) = &far {
            services.insert(
                "far",
                stage.make_service(&stage.elsewhere, "far", "far").await?,
            );
            let labels = pairs(&[(LABEL_ROLE, "far")]);
            let command = arguments::receiver("far");
            stage
                .make_pod(&stage.elsewhere, "far", labels, command, &far.name, true)
                .await?;
        }
        let sibling = Part {
            name: "sibling",
            ..Part::default()
        };
        scene.claim(&sibling).await?;
        let facts = scene.facts(near, far, outside, services).await?;
        scene.destinations = destinations(&facts);
        Ok(scene)
    }

    fn namespace_of(&self, elsewhere: bool) -> &'a str {
        if elsewhere {
            &self.stage.elsewhere
        } else {
            &self.stage.sandboxes
        }
    }

    async fn facts(
        &mut self,
        near: Node,
        far: Option<Node>,
        outside: (Vec<Outside>, bool),
        mut services: BTreeMap<&str, Addresses>,
    ) -> Result<Facts, Trouble> {
        let stage = self.stage;
        let mut peers = BTreeMap::new();
        let far_receiver = far.as_ref().map(|_| ("far", "far", true));
        for (name, _, elsewhere) in RECEIVERS.into_iter().chain(far_receiver) {
            let namespace = self.namespace_of(elsewhere);
            let ready = stage.pod_becomes(namespace, name, "ready", pods::ready);
            let pod = ready.await?;
            self.receivers.listen(stage.api(namespace), name);
            let service = services.remove(name).unwrap_or_default();
            let pod = pods::addresses(&pod);
            peers.insert(name, Peer { pod, service });
        }
        let pod = stage.bound(&stage.sandboxes, "sibling").await?;
        let sibling = stage.peer_of(&stage.sandboxes, "sibling", &pod).await?;
        let dns = survey::dns(&stage.client, &stage.installed).await?;
        let (api, api_port) = survey::api_server(&stage.client).await?;
        let mut take = |name: &str| peers.remove(name).unwrap_or_default();
        let numbered = take("numbered");
        let mut near = near;
        if near.gateway.is_empty() {
            near.gateway = numbered.pod.firsts();
        }
        Ok(Facts {
            numbered,
            named: take("named"),
            elsewhere: take("elsewhere"),
            forbidden: take("forbidden"),
            far: far.is_some().then(|| take("far")),
            node: near,
            far_node: far,
            sibling,
            dns_port: dns.as_ref().map_or(53, |(_, port)| *port),
            dns: dns.map(|(peer, _)| peer),
            dns_addresses: stage.installed.dns_addresses.clone(),
            dns_ports: stage.installed.dns_ports.clone(),
            api,
            api_port,
            cluster_domain: stage.installed.cluster_domain.clone(),
            outside: outside.0,
            outside_logs: outside.1,
        })
    }

    /// An unpoliced pod dials everything. It bears the label of the claims' runtime, without which no
    /// sandbox lets it in.
    pub async fn witness(&self, name: &str) -> Result<Sighting, Trouble> {
        let targets = arguments::targets(&self.destinations);
        self.bare(&self.stage.sandboxes, name, Some(RUNTIME), targets)
            .await
    }

    /// A pod of ours dials these.
    pub async fn bare(
        &self,
        namespace: &str,
        name: &str,
        runtime: Option<&str>,
        targets: Vec<String>,
    ) -> Result<Sighting, Trouble> {
        let stage = self.stage;
        let labels = runtime.map(|runtime| {
            let key = stage.installed.runtime_pod_label.clone();
            (key, runtime.to_owned())
        });
        let dial = Dial {
            name: &signed(&stage.run, name),
            targets,
            period: Some(self.period),
            ..Dial::default()
        };
        let labels = labels.into_iter().collect();
        let command = dial.words();
        stage
            .make_pod(namespace, name, labels, command, &stage.node, false)
            .await?;
        stage
            .pod_becomes(namespace, name, "running", pods::started)
            .await?;
        let patience = self.period + GRACE;
        let sighting = logs::listen(stage.api(namespace), name, name, patience).await?;
        stage.kill(namespace, name).await?;
        Ok(sighting)
    }

    /// Makes a class and a claim for this part.
    pub async fn claim(&self, part: &Part<'_>) -> Result<(), Trouble> {
        let stage = self.stage;
        let command = if part.targets.is_empty() {
            arguments::receiver(part.name)
        } else {
            let dial = Dial {
                name: &signed(&stage.run, part.name),
                targets: part.targets.clone(),
                period: (part.life == Life::Brief).then_some(self.period),
                serve: vec![port::CLASS, port::NOT_CLASS],
                hardening: part.hardening,
                ignore_term: part.life != Life::Brief,
            };
            dial.words()
        };
        let service_namespace = match part.opening {
            Some(Opening::Elsewhere) => Some(stage.elsewhere.as_str()),
            // Without a namespace a class means the claim's own.
            _ => part.namespace.map(|_| stage.sandboxes.as_str()),
        };
        let class = Class {
            name: part.name,
            image: &stage.image,
            command,
            node: &stage.node,
            opening: part.opening,
            service_namespace,
            read_only_root: part.read_only_root,
            ready: part.life != Life::NeverReady,
        };
        let namespace = part.namespace.unwrap_or(&stage.sandboxes);
        let runtime = part.runtime.unwrap_or(RUNTIME);
        stage.make_claim(namespace, &class, runtime).await
    }

    /// Waits for a claim's sandbox and hears what it has to say.
    pub async fn hear(&self, name: &str) -> Result<(Pod, Sighting), Trouble> {
        let stage = self.stage;
        let pod = stage.bound(&stage.sandboxes, name).await?;
        let sighting = self.listen(&pod, name).await?;
        Ok((pod, sighting))
    }

    /// Hears what a sandbox's pod has to say.
    pub async fn listen(&self, pod: &Pod, name: &str) -> Result<Sighting, Trouble> {
        let pods = self.stage.api(&self.stage.sandboxes);
        logs::listen(pods, &pod.name_any(), name, self.period + GRACE).await
    }

    /// The targets of these destinations, in parts that one sandbox can dial.
    pub fn parts(&self, dials: impl Fn(&Destination) -> bool) -> Vec<Vec<String>> {
        let rows = self.destinations.iter().filter(|row| dials(row));
        let targets = arguments::targets(rows);
        targets.chunks(AT_ONCE).map(<[String]>::to_vec).collect()
    }

    /// Waits until every receiver has told of this last dialler, so that nothing that came before is
    /// still on its way.
    pub async fn settle(&self, last: &Sighting) {
        let told = self.destinations.iter().filter(|row| {
            let answered = last.of(&row.label).is_some_and(|tally| tally.answers > 0);
            row.logged && answered && row.via == super::destination::Via::PodIp
        });
        for row in told {
            if let Err(trouble) = self.receivers.hear(&last.name, &row.label, ARRIVES).await {
                self.receivers
                    .miss(&format!("what receivers logged is not known: {trouble}"));
            }
        }
    }

    /// One kind in the sandboxes' namespace.
    pub fn claims(&self) -> kube::Api<SandboxClaim> {
        self.stage.api(&self.stage.sandboxes)
    }
}

/// What the classes of these parts ask for.
pub fn asked(read_only_root: bool) -> super::hardening::Asked {
    manifests::Class::asked(read_only_root)
}
