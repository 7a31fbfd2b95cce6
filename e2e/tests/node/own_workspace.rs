//! What a sandbox is lent: a directory of its workspace on a real volume, and credentials. Its user is
//! nobody whom anything of Sandgate's belongs to.

use std::time::Instant;

use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::{DeleteParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, ResourceExt as _};
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::node_cluster::Options;
use sandgate_e2e::pair::{GRACE, Pair};
use sandgate_e2e::real_node::{EVERYDAY, STRANGER};
use sandgate_e2e::scene::manifests::{claim_with, content_claim, with_workspace};
use sandgate_e2e::scene::{Scene, condition, ready};
use sandgate_e2e::{Failure, NodeCluster, Outcome, Writer};
use sandgate_shared::api::SandboxClaim;
use sandgate_shared::render::Installation as Names;
use serde_json::{Value, json};

use crate::workload::{class, container, pod_of};

/// Where the node keeps what the volumes hold; workspaces have a directory each.
const CONTENT: &str = "/var/lib/sandgate-content";

/// Of `sandbox.fsGroup`.
const GROUP: &str = "65532";

/// A workload that answers, and ends when it is told to.
const SERVES: &str =
    "httpd -p 8080 -h /; trap 'exit 0' TERM; while :; do busybox sleep 60 & wait $!; done";

/// The volume with the content of all workspaces, and its claim by the operator.
fn whole_content() -> Vec<Value> {
    let names = Names::default();
    let asks = json!({ "storage": "1Gi" });
    let volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": { "name": "all-content" },
        "spec": {
            "capacity": asks,
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "claimRef": { "namespace": names.namespace, "name": "all-content" },
            "hostPath": { "path": CONTENT, "type": "DirectoryOrCreate" },
        },
    });
    let claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": { "name": "all-content", "namespace": names.namespace },
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "volumeName": "all-content",
            "resources": { "requests": asks },
        },
    });
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": names.namespace },
    });
    vec![namespace, volume, claim]
}

/// Makes the workspace's directory as whoever installs Sandgate does: the group's, who may write.
async fn prepare(cluster: &NodeCluster, workspace: &str) -> Outcome {
    let own = format!("/content/{workspace}");
    let script =
        format!("mkdir -p {own} && busybox chgrp {GROUP} {own} && busybox chmod 2770 {own}");
    let pod = json!({
        "metadata": { "name": "prepares" },
        "spec": {
            "restartPolicy": "Never",
            "containers": [{
                "name": "prepares",
                "image": EVERYDAY,
                "args": ["sh", "-c", script],
                "securityContext": { "runAsUser": 0, "runAsGroup": 0 },
                "volumeMounts": [{ "name": "content", "mountPath": "/content" }],
            }],
            "volumes": [{ "name": "content", "hostPath": { "path": CONTENT } }],
        },
    });
    let pods: Api<Pod> = Api::namespaced(cluster.client(), "default");
    let pod: Pod = serde_json::from_value(pod)?;
    pods.create(&PostParams::default(), &pod).await?;
    let done = await_condition(pods, "prepares", |pod: Option<&Pod>| {
        let status = pod.and_then(|pod| pod.status.as_ref());
        status.is_some_and(|status| status.phase.as_deref() == Some("Succeeded"))
    });
    tokio::time::timeout(DEADLINE, done).await??;
    Ok(())
}

/// What a shell in the claim's sandbox says of a script; whether it went well.
async fn tries(scene: &Scene, claim: &str, script: &str) -> Outcome<(bool, String)> {
    let deployment = format!("deploy/{claim}-sandbox");
    let command = ["exec", &deployment, "--", "sh", "-c", script];
    let said = scene.kubectl(&command, None).await?;
    Ok((said.success, format!("{}{}", said.stdout, said.stderr)))
}

/// The same where it has to go well.
async fn does(scene: &Scene, claim: &str, script: &str) -> Outcome<String> {
    match tries(scene, claim, script).await? {
        (true, said) => Ok(said.trim().to_owned()),
        (false, said) => Err(Failure::saying(format!(
            "{claim}: {script:?} failed: {said}"
        ))),
    }
}

fn project(name: &str, class: &str, path: &str) -> Value {
    let mount = json!({
        "role": "project", "id": "shop", "path": path, "mustExist": false,
    });
    claim_with(name, class, &json!({ "mounts": [mount] }))
}

async fn delete(scene: &Scene, claim: &str) -> Outcome {
    let pod = pod_of(scene, claim).await?.name_any();
    let claims = scene.api::<SandboxClaim>();
    claims.delete(claim, &DeleteParams::default()).await?;
    scene.vanishes::<Pod>(&pod).await
}

/// A claim of nobody in particular has a directory of its own.
async fn has_its_own(scene: &Scene) -> Outcome {
    scene
        .user()
        .accepts(&claim_with("alone", "box", &json!({})))
        .await?;
    scene.bound("alone").await?;
    let user = does(scene, "alone", "busybox id -u; busybox id -G").await?;
    let (user, groups) = user.split_once('\n').unwrap();
    assert_eq!(user, "1234");
    assert!(groups.split(' ').any(|group| group == GROUP), "{groups}");
    let said = does(
        scene,
        "alone",
        "busybox stat -c '%a %g' /workspace; echo mine > /workspace/file; mkdir /workspace/more; \
         busybox stat -c '%g' /workspace/file /workspace/more; busybox cat /workspace/file",
    )
    .await?;
    assert_eq!(said, format!("2770 {GROUP}\n{GROUP}\n{GROUP}\nmine"));
    // Nothing above it is there, nor beyond a link.
    let script = "busybox ln -s ../../../projects /workspace/out; busybox ls /workspace/out/";
    let (went_well, said) = tries(scene, "alone", script).await?;
    assert!(!went_well, "{said}");
    assert!(said.contains("No such file"), "{said}");
    assert_eq!(
        does(scene, "alone", "busybox ls /workspace").await?,
        "file\nmore\nout"
    );
    Ok(())
}

/// Where the operator does not see the content it is the kubelet that makes a claim's directory: like the
/// root of its volume.
async fn has_what_the_kubelet_makes(scene: &Scene) -> Outcome {
    let script =
        "echo mine > /workspace/file && busybox stat -c '%a %g' /workspace > /dev/termination-log";
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "unmade" },
        "spec": {
            "restartPolicy": "Never",
            "securityContext": {
                "runAsNonRoot": true,
                "supplementalGroups": [GROUP.parse::<i64>()?],
                "seccompProfile": { "type": "RuntimeDefault" },
            },
            "containers": [{
                "name": "unmade",
                "image": STRANGER,
                "args": ["sh", "-c", script],
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "capabilities": { "drop": ["ALL"] },
                },
                "volumeMounts": [{
                    "name": "content", "mountPath": "/workspace", "subPath": "sandboxes/unmade",
                }],
            }],
            "volumes": [{
                "name": "content",
                "persistentVolumeClaim": { "claimName": content_claim(scene.name()) },
            }],
        },
    });
    scene.accepts(&pod).await?;
    let ended = |pod: &Pod| {
        let state = container(pod).and_then(|it| it.state.as_ref());
        state.is_some_and(|state| state.terminated.is_some())
    };
    let pod = scene.becomes("unmade", "has ended", ended).await?;
    let state = container(&pod).and_then(|it| it.state.clone());
    let ended = state.and_then(|state| state.terminated).unwrap();
    let told = ended.message.unwrap_or_default();
    assert_eq!((ended.exit_code, told.trim()), (0, "2770 65532"));
    Ok(())
}

/// Two share a directory; it stays when one of them goes, and no link in it is followed.
async fn share_one(scene: &Scene, operator: &Writer) -> Outcome {
    for claim in ["first", "second"] {
        operator
            .accepts(&project(claim, "box", "projects/shop"))
            .await?;
        scene.bound(claim).await?;
    }
    does(
        scene,
        "first",
        "echo one > /workspace/shared; mkdir /workspace/inner",
    )
    .await?;
    let said = does(
        scene,
        "second",
        "echo two >> /workspace/shared; busybox ln -s inner /workspace/link; busybox cat /workspace/shared",
    )
    .await?;
    assert_eq!(said, "one\ntwo");
    delete(scene, "first").await?;
    assert_eq!(
        does(scene, "second", "busybox cat /workspace/shared").await?,
        "one\ntwo"
    );
    delete(scene, "second").await?;

    operator
        .accepts(&project("third", "reading", "projects/shop"))
        .await?;
    scene.bound("third").await?;
    assert_eq!(
        does(scene, "third", "busybox cat /workspace/shared").await?,
        "one\ntwo"
    );
    // Of a class that lets it read alone.
    let (went_well, said) = tries(scene, "third", "echo three >> /workspace/shared").await?;
    assert!(!went_well && said.contains("Read-only"), "{said}");
    delete(scene, "third").await?;
    operator
        .accepts(&project("linked", "box", "projects/shop/link"))
        .await?;
    let failed = scene.failed("linked", "InvalidMount").await?;
    let told = ready(&failed).1;
    assert!(
        told.contains("projects/shop/link on the workspace's volume is a symbolic link"),
        "{told}"
    );
    Ok(())
}

/// A credential is there for its user alone, and goes with the pod that had it.
async fn is_signed_in(scene: &Scene, operator: &Writer) -> Outcome {
    let connected = json!({
        "args": ["sh", "-c", SERVES],
        "env": [{ "name": "HOME", "value": "/home/agent" }],
        "filesystem": { "workspace": { "mountPath": "/workspace" } },
        "connections": [{ "role": "vcs" }],
    });
    scene
        .accepts(&class("signed-in", STRANGER, &connected))
        .await?;
    scene
        .accepts(&json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": "forge" },
            "stringData": { "token": "of-a-test" },
        }))
        .await?;
    scene
        .accepts(&json!({
            "apiVersion": "omnia.altairalabs.ai/v1alpha1",
            "kind": "Connection",
            "metadata": { "name": "forge" },
            "spec": {
                "hosts": ["forge.example.com"],
                "credential": { "kind": "secret", "secretRef": { "name": "forge" } },
                "placement": {
                    "env": [{ "name": "FORGE_TOKEN", "key": "token" }],
                    "files": [{ "path": ".config/forge", "template": "token: {{ .token }}\n" }],
                },
            },
        }))
        .await?;
    let binds = json!({ "connections": [{ "role": "vcs", "connection": "forge" }] });
    operator
        .accepts(&claim_with("signed-in", "signed-in", &binds))
        .await?;
    scene.bound("signed-in").await?;
    let said = does(
        scene,
        "signed-in",
        "echo $FORGE_TOKEN; busybox cat $HOME/.config/forge; \
         busybox stat -L -c '%a %u %g' $HOME/.config/forge; echo kept > /workspace/file",
    )
    .await?;
    assert_eq!(said, format!("of-a-test\ntoken: of-a-test\n440 0 {GROUP}"));
    let (went_well, said) = tries(scene, "signed-in", "echo mine > $HOME/.config/forge").await?;
    assert!(!went_well, "{said}");

    let before = pod_of(scene, "signed-in").await?.name_any();
    let began = Instant::now();
    scene
        .api::<Secret>()
        .delete("forge", &DeleteParams::default())
        .await?;
    scene.vanishes::<Pod>(&before).await?;
    println!(
        "the old pod ended {} ms after its Secret was deleted",
        began.elapsed().as_millis()
    );
    scene
        .becomes(
            "signed-in",
            "says that its Connection is gone",
            |claim: &SandboxClaim| {
                let current = condition(claim, "ConnectionsCurrent");
                current.is_some_and(|found| found.0 == "False")
            },
        )
        .await?;
    scene.bound("signed-in").await?;
    let script = "echo \"<$FORGE_TOKEN>\"; busybox ls -A $HOME; busybox cat /workspace/file";
    let (_, said) = tries(scene, "signed-in", script).await?;
    assert!(said.contains("<>") && said.contains("kept"), "{said}");
    assert!(
        !said.contains("of-a-test") && !said.contains(".config"),
        "{said}"
    );
    Ok(())
}

// Proves: M-017, M-020, M-023, O-018, O-019, O-031, O-032, K-031
#[tokio::test]
async fn a_sandboxs_user_uses_what_it_is_lent_and_reaches_nothing_beside_it() -> Outcome {
    let options = Options {
        prepared: whole_content(),
        values: json!({
            "operator": { "sandboxAPI": { "claimPolicyGrace": format!("{}s", GRACE.as_secs()) } },
            "workspaceContent": { "existingClaim": "all-content" },
        }),
        ..Options::default()
    };
    let mut cluster = Box::pin(NodeCluster::start(options)).await?;
    let scene = Scene::on(&cluster, "lent").await?;
    prepare(&cluster, scene.name()).await?;
    scene.with_content().await?;
    let serves = json!({ "args": ["sh", "-c", SERVES] });
    let mut class = with_workspace(class("box", STRANGER, &serves));
    class["spec"]["mounts"] = json!([{ "role": "scratch" }, { "role": "project" }]);
    scene.accepts(&class).await?;
    class["metadata"]["name"] = json!("reading");
    class["spec"]["mounts"] = json!([{ "role": "project", "access": "ReadOnly" }]);
    scene.accepts(&class).await?;
    Pair::ours(&cluster).in_force().await?;
    let operator = scene.operator().await?;
    has_its_own(&scene).await?;
    has_what_the_kubelet_makes(&scene).await?;
    is_signed_in(&scene, &operator).await?;
    // Last, as claims are deleted here: a garbage collector looks for new kinds every half minute.
    share_one(&scene, &operator).await?;
    cluster.check()
}
