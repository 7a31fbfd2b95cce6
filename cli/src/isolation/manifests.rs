//! Everything the run makes in the cluster. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ApiResource, DynamicObject};
use sandgate_shared::api::outside::AgentRuntime;
use sandgate_shared::api::sandbox_claim::{AgentRuntimeRef, ClassRef, SandboxClaimSpec};
use sandgate_shared::api::sandbox_class::{
    AllowedService, ClassPort, Egress, Filesystem, Medium, Readiness, Resources, ScratchVolume,
};
use sandgate_shared::api::{SandboxClaim, SandboxClass, SandboxClassSpec};
use serde_json::json;

use super::destination::{Opening, port};
use super::hardening::Asked;

/// Label of every namespace of a run; its value is the run's name.
pub const LABEL_RUN: &str = "sandgate.dev/isolation-run";
/// Label that the receivers' Services select by.
pub const LABEL_ROLE: &str = "sandgate.dev/isolation-role";
/// The runtime that claims belong to.
pub const RUNTIME: &str = "isolation";
/// A runtime that has nothing to do with them.
pub const OTHER_RUNTIME: &str = "other";
/// The runtime of the claim that is made to fail.
pub const DOOMED_RUNTIME: &str = "doomed";
/// A class port that nothing serves, so that its claim stays Pending.
const NEVER: u16 = 8099;

/// A namespace that admits restricted pods only: what Sandgate makes must be such, and what we make
/// too.
pub fn namespace(name: &str, run: &str) -> Namespace {
    let labels = [
        (LABEL_RUN, run),
        ("app.kubernetes.io/managed-by", "sandgate-isolation"),
        ("pod-security.kubernetes.io/enforce", "restricted"),
    ];
    Namespace {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(pairs(&labels)),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    }
}

/// A pod of ours: no sandbox, under no policy.
#[derive(Clone, Debug)]
pub struct Bare<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The probe's command line.
    pub command: Vec<String>,
    /// The image that holds the probe.
    pub image: &'a str,
    /// The node it has to run on.
    pub node: &'a str,
    /// Whether it is a receiver, which is ready once it serves.
    pub serves: bool,
}

impl Bare<'_> {
    /// As an object.
    pub fn pod(&self) -> Result<Pod, serde_json::Error> {
        let ready = json!({ "tcpSocket": { "port": port::RECEIVER }, "periodSeconds": 1 });
        serde_json::from_value(json!({
            "metadata": { "name": self.name, "labels": self.labels },
            "spec": {
                "restartPolicy": "Never",
                "activeDeadlineSeconds": if self.serves { SERVES } else { DIALS }.as_secs(),
                "terminationGracePeriodSeconds": 0,
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "nodeSelector": { HOSTNAME: self.node },
                "securityContext": {
                    "runAsNonRoot": true,
                    "seccompProfile": { "type": "RuntimeDefault" },
                },
                "containers": [{
                    "name": "probe",
                    "image": self.image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": self.command,
                    "ports": [{ "name": "web", "containerPort": port::NAMED }],
                    "readinessProbe": self.serves.then_some(ready),
                    "securityContext": {
                        "allowPrivilegeEscalation": false,
                        "capabilities": { "drop": ["ALL"] },
                    },
                }],
            },
        }))
    }
}

/// Runs of all scenarios take a quarter of an hour; whatever becomes of a run, its receivers end.
const SERVES: Duration = Duration::from_hours(2);
/// A witness dials for a minute at most, but its image may have to be pulled.
const DIALS: Duration = Duration::from_mins(15);

/// Label of every node, by which pods are kept on one.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// A receiver's Service, of both families where the cluster has both.
pub fn service(name: &str, role: &str) -> Result<Service, serde_json::Error> {
    let target = if name == "named" {
        json!("web")
    } else {
        json!(port::RECEIVER)
    };
    serde_json::from_value(json!({
        "metadata": { "name": name },
        "spec": {
            "selector": { LABEL_ROLE: role },
            "ipFamilyPolicy": "PreferDualStack",
            "ports": [
                { "name": "tcp", "protocol": "TCP", "port": port::SERVICE, "targetPort": target },
                {
                    "name": "udp", "protocol": "UDP", "port": port::SERVICE_UDP,
                    "targetPort": port::RECEIVER,
                },
            ],
        },
    }))
}

/// The kind of runtimes.
pub fn runtime_kind() -> ApiResource {
    ApiResource::erase::<AgentRuntime>(&())
}

/// A runtime that may have sandboxes, and that the platform that owns the kind starts no agent for.
///
/// The kind's own schema asks for a facade, by either of two names, and a prompt pack. It waits for
/// a pack that is not there; fields that one of its versions does not have are dropped.
pub fn runtime(name: &str) -> DynamicObject {
    let facade = json!({ "type": "websocket" });
    let spec = json!({
        "sandbox": { "enabled": true },
        "facade": facade,
        "facades": [facade],
        "promptPackRef": { "name": NO_PACK },
    });
    DynamicObject::new(name, &runtime_kind()).data(json!({ "spec": spec }))
}

/// Whether a runtime came back with what Sandgate goes by.
pub fn may_have_sandboxes(runtime: &DynamicObject) -> bool {
    runtime.data.pointer("/spec/sandbox/enabled") == Some(&json!(true))
}

/// A prompt pack that nobody has.
const NO_PACK: &str = "sandgate-isolation-has-none";

/// What a class of ours is made of.
#[derive(Clone, Debug)]
pub struct Class<'a> {
    /// Its name, and its claim's.
    pub name: &'a str,
    /// The image that holds the probe.
    pub image: &'a str,
    /// The probe's command line.
    pub command: Vec<String>,
    /// The node its sandboxes have to run on.
    pub node: &'a str,
    /// What it opens.
    pub opening: Option<Opening>,
    /// The namespace of the Service it opens; `None` is its own.
    pub service_namespace: Option<&'a str>,
    /// `filesystem.readOnlyRoot`.
    pub read_only_root: bool,
    /// Whether its sandboxes ever become ready.
    pub ready: bool,
}

/// Megabytes of memory and thousandths of a CPU that a sandbox may use; it is asked whether it sees
/// them.
const MEMORY_MI: u64 = 192;
const CPU_MILLI: u64 = 1500;
const SCRATCH: &str = "/tmp";

impl Class<'_> {
    /// What its sandboxes should find.
    pub fn asked(read_only_root: bool) -> Asked {
        Asked {
            read_only_root,
            memory_bytes: MEMORY_MI << 20,
            cpu_milli: CPU_MILLI,
            scratch: SCRATCH,
        }
    }

    /// As an object.
    pub fn class(&self) -> SandboxClass {
        let quantities = |pairs: [(&str, String); 2]| {
            let owned = pairs.map(|(name, amount)| (name.to_owned(), Quantity(amount)));
            Some(BTreeMap::from(owned))
        };
        let mut ports = vec![class_port("http", port::CLASS)];
        ports.extend((!self.ready).then(|| class_port("never", NEVER)));
        SandboxClass::new(
            self.name,
            SandboxClassSpec {
                image: self.image.to_owned(),
                args: Some(self.command.clone()),
                ports,
                readiness: (!self.ready).then(|| Readiness {
                    port: Some("never".to_owned()),
                    http_get: None,
                }),
                filesystem: Some(Filesystem {
                    workspace: None,
                    read_only_root: self.read_only_root,
                    scratch: Some(vec![ScratchVolume {
                        name: "scratch".to_owned(),
                        mount_path: SCRATCH.to_owned(),
                        size_limit: Quantity("8Mi".to_owned()),
                        medium: Medium::Memory,
                    }]),
                }),
                resources: Some(Resources {
                    limits: quantities([
                        ("cpu", format!("{CPU_MILLI}m")),
                        ("memory", format!("{MEMORY_MI}Mi")),
                    ]),
                    requests: quantities([
                        ("cpu", "10m".to_owned()),
                        ("memory", "16Mi".to_owned()),
                    ]),
                    claims: None,
                }),
                node_selector: Some(pairs(&[(HOSTNAME, self.node)])),
                egress: self.egress(),
                ..SandboxClassSpec::default()
            },
        )
    }

    fn egress(&self) -> Option<Egress> {
        let service = |name: &str| Egress {
            allowed_services: Some(vec![AllowedService {
                name: name.to_owned(),
                namespace: self.service_namespace.map(str::to_owned),
                ports: vec![port::SERVICE.into()],
            }]),
            dns: false,
        };
        self.opening.map(|opening| match opening {
            Opening::Numbered => service("numbered"),
            Opening::Named => service("named"),
            Opening::Elsewhere => service("elsewhere"),
            Opening::Dns => Egress {
                allowed_services: None,
                dns: true,
            },
        })
    }

    /// A claim on it.
    pub fn claim(&self, runtime: &str) -> SandboxClaim {
        SandboxClaim::new(
            self.name,
            SandboxClaimSpec {
                agent_runtime_ref: Some(AgentRuntimeRef {
                    name: runtime.to_owned(),
                }),
                class_ref: ClassRef {
                    name: self.name.to_owned(),
                    ..ClassRef::default()
                },
                session_id: self.name.to_owned(),
                handle: Some(format!("{}/main", self.name)),
                ..SandboxClaimSpec::default()
            },
        )
    }
}

fn class_port(name: &str, number: u16) -> ClassPort {
    ClassPort {
        name: name.to_owned(),
        port: number.into(),
    }
}

/// Owned labels.
pub fn pairs(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = entries
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    owned.collect()
}

#[cfg(test)]
mod tests;
