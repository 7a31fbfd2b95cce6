//! What runs in the sandboxes of these tests, and the pod of their runtime that calls them. Does I/O.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerStatus, Pod, Service};
use kube::ResourceExt;
use kube::api::ListParams;
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::node_cluster::image_name;
use sandgate_e2e::real_node::EVERYDAY;
use sandgate_e2e::scene::manifests::{RUNTIME, class_of};
use sandgate_e2e::scene::{Scene, addresses};
use sandgate_e2e::{Failure, Outcome};
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::names::{COMPONENT_SANDBOX, LABEL_CLAIM, LABEL_COMPONENT};
use serde_json::{Value, json};

/// The pod that calls.
const CALLER: &str = "caller";

/// The label that makes it one of its runtime's, unless an installation has another.
const RUNTIME_POD_LABEL: &str = "omnia.altairalabs.ai/agent-runtime";

/// When a packet gets through is no event; it is tried this often.
const TRY_EVERY: Duration = Duration::from_millis(100);

/// Ready while the file [`READY`] is there.
pub const SERVES_WHILE_READY: &str = "touch /files/ready && exec httpd -f -p 8080 -h /files";

/// The file.
pub const READY: &str = "/files/ready";

/// A class that answers on port 8080 until it is ended.
pub fn answering(name: &str) -> Value {
    let serve = format!("--name={name}");
    let args = ["/sandgate-probe", "serve", &serve, "--tcp=8080"];
    class(name, &image_name(), &json!({ "args": args }))
}

/// A class that runs a shell script; it may keep a MiB in `/files`, and is asked for `/ready` there.
pub fn script(name: &str, script: &str) -> Value {
    let fields = json!({
        "args": ["sh", "-c", script],
        "readiness": { "httpGet": { "path": "/ready" } },
        "filesystem": {
            "scratch": [{ "name": "files", "mountPath": "/files", "sizeLimit": "1Mi" }],
        },
    });
    class(name, EVERYDAY, &fields)
}

/// A class that starts in no time and leaves room for many, with `fields` laid over its spec.
pub fn class(name: &str, image: &str, fields: &Value) -> Value {
    let mut all = json!({ "resources": {
        "requests": { "cpu": "5m", "memory": "8Mi" },
        "limits": { "cpu": "200m", "memory": "16Mi" },
    } });
    json_patch::merge(&mut all, fields);
    class_of(name, image, &all)
}

/// A pod that nobody shuts in and that a namespace of the restricted profile takes, with `fields` of its one
/// container.
pub fn ordinary_pod(name: &str, fields: &Value) -> Value {
    let mut container = json!({
        "name": name,
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
        },
    });
    json_patch::merge(&mut container, fields);
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name },
        "spec": {
            "containers": [container],
            "securityContext": {
                "runAsNonRoot": true,
                "seccompProfile": { "type": "RuntimeDefault" },
            },
        },
    })
}

/// Starts the pod of the runtime, and waits until it runs.
pub async fn bring_caller(scene: &Scene) -> Outcome {
    let args = json!(["/sandgate-probe", "pause"]);
    let mut caller = ordinary_pod(CALLER, &json!({ "image": image_name(), "args": args }));
    caller["metadata"]["labels"] = json!({ RUNTIME_POD_LABEL: RUNTIME });
    scene.accepts(&caller).await?;
    scene.becomes(CALLER, "is ready", is_ready).await?;
    Ok(())
}

/// Dials the claim's addresses from the runtime's pod until they answer, or until they do not.
pub async fn until_called(scene: &Scene, claim: &SandboxClaim, answers: bool) -> Outcome {
    let targets: Vec<String> = addresses(claim)
        .iter()
        .filter_map(|address| address.split_once('='))
        .flat_map(|(name, to)| ["--target".to_owned(), format!("{name}=tcp:{to}")])
        .collect();
    assert!(!targets.is_empty());
    let mut command = vec!["exec", CALLER, "--", "/sandgate-probe", "get"];
    command.extend(targets.iter().map(String::as_str));
    let mut last = None;
    let tried = async {
        let mut turn = tokio::time::interval(TRY_EVERY);
        loop {
            turn.tick().await;
            let said = scene.kubectl(&command, None).await?;
            // Whoever could not even try says nothing there.
            if said.success == answers && !said.stdout.is_empty() {
                return Outcome::Ok(());
            }
            last = Some(said);
        }
    };
    match tokio::time::timeout(DEADLINE, tried).await {
        Ok(done) => done,
        Err(_) => Err(Failure::saying(format!(
            "it should be so that {targets:?} answer: {answers}, and never was: {last:?}"
        ))),
    }
}

/// Runs a program in the claim's sandbox.
pub async fn inside(scene: &Scene, claim: &str, program: &[&str]) -> Outcome {
    let deployment = format!("deploy/{claim}-sandbox");
    let command = [&["exec", deployment.as_str(), "--"], program].concat();
    let said = scene.kubectl(&command, None).await?;
    if said.success {
        return Ok(());
    }
    Err(Failure::saying(format!("{program:?} failed: {said:?}")))
}

/// The only pod of the claim's sandbox; one that is going still counts.
pub async fn pod_of(scene: &Scene, claim: &str) -> Outcome<Pod> {
    component_of(scene, claim, COMPONENT_SANDBOX).await
}

/// The same of the claim's sandbox or of its egress proxy.
pub async fn component_of(scene: &Scene, claim: &str, component: &str) -> Outcome<Pod> {
    let labels = format!("{LABEL_CLAIM}={claim},{LABEL_COMPONENT}={component}");
    let how = ListParams::default().labels(&labels);
    let mut pods = scene.api::<Pod>().list(&how).await?.items;
    let names: Vec<String> = pods.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names.len(), 1, "{labels}: {names:?}");
    Ok(pods.remove(0))
}

/// What the pod's first container is up to.
pub fn container(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()
}

/// Whether the pod says of itself that it is ready.
pub fn is_ready(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    let mut conditions = conditions.unwrap_or_default().iter();
    conditions.any(|it| it.type_ == "Ready" && it.status == "True")
}

/// Where whoever resolves the Service's name finds it.
pub async fn cluster_ip(scene: &Scene, service: &str) -> Outcome<String> {
    let found = scene.api::<Service>().get(service).await?;
    let address = found.spec.and_then(|spec| spec.cluster_ip);
    address.ok_or_else(|| Failure::saying(format!("{service} has no address")))
}
