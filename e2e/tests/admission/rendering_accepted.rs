//! Whatever class and claim are admitted, what is built for them the API server takes. Does I/O.

pub mod plausible;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::PostParams;
use sandgate_controller::claim::observed::{
    AllowedTarget, Content, Lookup, ObjectKind, Observed, Storage, Target, TargetPort,
};
use sandgate_controller::claim::plan::{
    Applied, Settings, Verdict, allowed_services, plan, status,
};
use sandgate_e2e::{Cluster, Failure, Identity, Namespace, Outcome, Writer, manifests};
use sandgate_shared::api::outside::WorkspaceStorage;
use sandgate_shared::api::{SandboxClaim, SandboxClass, SandboxClassSpec};
use sandgate_shared::render;
use serde_json::{Value, json};

use crate::corpus::until;
use crate::generated::{Filling, Generator};
use plausible::plausible;

/// Of a hundred pairs at least so many are to be admitted and built; the rest is refused, or told
/// that it cannot be.
const LEAST_BUILT: usize = 60;

/// A class and a claim of it.
struct Pair {
    origin: String,
    class: Value,
    claim: Value,
}

fn pair(seed: u64, namespace: &str) -> Pair {
    let kinds = ["SandboxClass", "ClusterSandboxClass"];
    let kind = kinds[usize::try_from(seed % 2).unwrap()];
    let spec = |kind: &str, filling| {
        let mut crds = render::crds().into_iter();
        let crd = crds
            .find(|crd| crd["spec"]["names"]["kind"] == kind)
            .unwrap();
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        Generator::new(seed, filling, plausible).value(&schema["spec"], "spec")
    };
    let object = |kind: &str, name: String, spec: Value| {
        json!({
            "apiVersion": "omnia.altairalabs.ai/v1alpha1",
            "kind": kind,
            "metadata": { "name": name },
            "spec": spec,
        })
    };
    let filling = if seed.is_multiple_of(5) {
        Filling::Whole
    } else {
        Filling::Partial
    };
    let mut class = spec(kind, filling);
    let mut claim = spec("SandboxClaim", Filling::Whole);
    // What only the operator may write is never built before its provenance is proven.
    for field in [
        "connections",
        "targetPath",
        "enrolment",
        "mount",
        "declaredBy",
        "maxInstances",
    ] {
        claim.as_object_mut().unwrap().remove(field);
    }
    match seed % 3 {
        0 => drop(claim.as_object_mut().unwrap().remove("mounts")),
        1 => claim["mounts"] = json!([]),
        _ => {
            claim["mounts"] = json!([{}]);
            class["filesystem"]["workspace"] = json!({ "mountPath": "/workspace" });
        }
    }
    if class.get("resources").is_none() && !seed.is_multiple_of(7) {
        class["trusted"] = json!(true);
    }
    if class.get("view").is_none() && !seed.is_multiple_of(11) {
        class.as_object_mut().unwrap().remove("enrolment");
    }
    let longest = "c".repeat(if seed.is_multiple_of(3) { 55 } else { 8 });
    Pair {
        origin: format!("seed {seed}"),
        class: object(kind, format!("{namespace}-{seed}"), class),
        claim: object("SandboxClaim", longest, claim),
    }
}

/// The Services the class may reach: one by port number, one by port name, and none.
fn target(name: &str, class: &SandboxClassSpec) -> Lookup<AllowedTarget> {
    let target = match name {
        "mirror" => Target::Number(8443),
        "named" => Target::Name("https".to_owned()),
        _ => return Lookup::Missing,
    };
    let egress = class.egress.as_ref();
    let entries = egress.and_then(|egress| egress.allowed_services.as_ref());
    let ports = entries.into_iter().flatten().flat_map(|entry| &entry.ports);
    Lookup::Found(AllowedTarget {
        selector: vec![("app".to_owned(), name.to_owned())],
        addresses: Vec::new(),
        ports: ports
            .map(|port| TargetPort {
                port: *port,
                target: target.clone(),
                protocol: "TCP".to_owned(),
            })
            .collect(),
    })
}

/// What a class with a workspace is mounted from.
fn content() -> Storage {
    Storage::Content(Content {
        workspace: "shop".to_owned(),
        claim: "workspace-shop-content".to_owned(),
        stands: true,
        asked: WorkspaceStorage::default(),
    })
}

/// What is built for an admitted claim of an admitted class; nothing if the claim is told why not.
fn built(claim: SandboxClaim, class: SandboxClassSpec) -> Outcome<Vec<Value>> {
    let runtime = serde_json::from_value(json!({ "sandbox": { "enabled": true } }))?;
    let services = allowed_services(&claim, &class).into_iter();
    let services = services.map(|key| (key.clone(), target(&key.name, &class)));
    let mut observed = Observed {
        services: services.collect(),
        runtime: Lookup::Found(runtime),
        class: Lookup::Found(class),
        storage: content(),
        ..Observed::of(claim)
    };
    let settings = Settings::default();
    let now = Timestamp::now();
    let admission = plan(&observed, &settings, now);
    if let Verdict::Fail(finding) = &admission.verdict
        && !finding.message.is_empty()
    {
        return Ok(Vec::new());
    }
    let told = status(&observed, &admission, &Applied::default(), &settings, now);
    observed.claim.status = told.status;
    let plan = plan(&observed, &settings, now);
    match plan.verdict {
        Verdict::Build(_) => {
            let kinds: Vec<ObjectKind> = plan.ensure.iter().map(|intent| intent.kind).collect();
            assert_eq!(kinds[0], ObjectKind::Baseline);
            assert_eq!(kinds[1..], *ObjectKind::OWNED);
            Ok(plan
                .ensure
                .into_iter()
                .map(|intent| intent.object)
                .collect())
        }
        other => Err(Failure::saying(format!(
            "an admitted claim came to {other:?}"
        ))),
    }
}

/// Who writes what.
struct Cast<'a> {
    namespace: &'a Namespace,
    author: Writer,
    operator: Writer,
}

impl Cast<'_> {
    /// Whether objects were built, all of which the API server takes.
    async fn plays(&self, pair: &Pair) -> Outcome<bool> {
        let Ok(class) = self.author.would_accept(&pair.class).await else {
            return Ok(false);
        };
        let Ok(claim) = self.author.would_accept(&pair.claim).await else {
            return Ok(false);
        };
        // As the controller reads them: both kinds of class have one spec.
        let spec = json!({ "metadata": {}, "spec": class.data["spec"] });
        let class: SandboxClass = serde_json::from_value(spec)?;
        let claim: SandboxClaim = serde_json::from_value(serde_json::to_value(claim)?)?;
        let objects = built(claim, class.spec)?;
        for object in &objects {
            self.operator.would_accept(object).await?;
            if object["kind"] == "Deployment" {
                let mut pod = object["spec"]["template"].clone();
                pod["apiVersion"] = json!("v1");
                pod["kind"] = json!("Pod");
                pod["metadata"]["name"] = json!("as-a-replica-set-makes-it");
                self.namespace.would_accept(&pod).await?;
            }
        }
        Ok(!objects.is_empty())
    }
}

async fn everything_admitted_is_accepted(seeds: std::ops::Range<u64>) -> Outcome {
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("rendering").await?;
    restricted(&namespace).await?;
    let cast = Cast {
        author: namespace
            .acting_as(&Identity::User("alice".to_owned()))
            .await?,
        operator: namespace.acting_as(&Identity::Operator).await?,
        namespace: &namespace,
    };
    let pairs: Vec<Pair> = seeds.map(|seed| pair(seed, namespace.name())).collect();
    let told = futures::stream::iter(&pairs).map(|pair| async {
        let played = cast.plays(pair).await;
        played.map_err(|failure| format!("{}: {failure}\nof {:#}", pair.origin, pair.class))
    });
    let told: Vec<Result<bool, String>> = told.buffer_unordered(6).collect().await;
    let built = told.iter().filter(|told| **told == Ok(true)).count();
    let wrong: Vec<String> = told.into_iter().filter_map(Result::err).collect();
    if !wrong.is_empty() {
        return Err(Failure::saying(wrong.join("\n\n")));
    }
    let least = pairs.len() * LEAST_BUILT / 100;
    assert!(built >= least, "only {built} of {} were built", pairs.len());
    Ok(())
}

/// Makes the namespace take pods of the restricted Pod Security Standard only.
async fn restricted(namespace: &Namespace) -> Outcome {
    let name = namespace.name();
    let manifests = [
        json!({
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": { "name": "kata-containers" },
            "handler": "kata",
        }),
        json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                "labels": { "pod-security.kubernetes.io/enforce": "restricted" },
            },
        }),
    ];
    manifests::apply(&namespace.client(), &manifests).await?;
    let plain = json!({
        "metadata": { "name": "plain" },
        "spec": { "containers": [{ "name": "main", "image": "registry.example/plain:1" }] },
    });
    let plain: Pod = serde_json::from_value(plain)?;
    let pods: Api<Pod> = namespace.api();
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let ask = || async {
        match pods.create(&dry_run, &plain).await {
            Ok(_) => Ok(None),
            Err(kube::Error::Api(status)) => Ok(Some(*status)),
            Err(error) => Err(error.into()),
        }
    };
    until("a plain pod is refused", ask, Option::is_some).await
}

// Proves: O-001, O-007, O-008, O-009, O-013, O-016, O-017
#[tokio::test]
async fn whatever_is_admitted_is_built_as_the_api_server_takes_it() -> Outcome {
    everything_admitted_is_accepted(0..100).await
}

mod slow {
    use super::{Outcome, everything_admitted_is_accepted};

    // Proves: O-001, O-007, O-008, O-009, O-013, O-016, O-017
    #[tokio::test]
    async fn slow_thousands_of_admitted_pairs_are_built_as_the_api_server_takes_them() -> Outcome {
        everything_admitted_is_accepted(1_000..2_500).await
    }
}
