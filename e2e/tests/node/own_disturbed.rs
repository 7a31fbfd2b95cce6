//! A node whose parts are ended and started again.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{LogParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, ResourceExt};
use sandgate_e2e::Outcome;
use sandgate_e2e::node_cluster::image_name;
use sandgate_e2e::real_node::{Options, RealNode};
use serde_json::json;

fn server() -> Outcome<Pod> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "server", "namespace": "default" },
        "spec": {
            "containers": [{
                "name": "server",
                "image": image_name(),
                "imagePullPolicy": "Never",
                "command": ["/sandgate-probe", "serve", "--name=server", "--tcp=8080"],
                "readinessProbe": { "tcpSocket": { "port": 8080 }, "periodSeconds": 1 },
            }],
        },
    }))?)
}

fn restarts(pod: &Pod) -> Option<i32> {
    let status = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
    Some(status.restart_count)
}

fn is_ready(pod: Option<&Pod>) -> bool {
    let status = pod.and_then(|pod| pod.status.as_ref());
    let conditions = status.and_then(|status| status.conditions.as_deref());
    conditions
        .unwrap_or_default()
        .iter()
        .any(|it| it.type_ == "Ready" && it.status == "True")
}

#[tokio::test]
async fn pods_outlive_restarts_and_come_back_after_a_reboot() -> Outcome {
    let mut node = Box::pin(RealNode::start(Options::default())).await?;
    let pods: Api<Pod> = Api::default_namespaced(node.plane().administrator().await?);
    pods.create(&PostParams::default(), &server()?).await?;
    Box::pin(await_condition(pods.clone(), "server", is_ready)).await?;

    Box::pin(node.restart_kubelet()).await?;
    Box::pin(node.restart_containerd()).await?;
    Box::pin(node.restart_enforcer()).await?;
    let pod = pods.get("server").await?;
    assert!(
        is_ready(Some(&pod)) && restarts(&pod) == Some(0),
        "{:?}",
        pod.status
    );
    let log = pods.logs("server", &LogParams::default()).await?;
    assert!(log.contains("\"serving\":\"server\""), "{log}");

    Box::pin(node.reboot()).await?;
    let again = |pod: Option<&Pod>| pod.and_then(restarts) == Some(1) && is_ready(pod);
    let pod = Box::pin(await_condition(pods, "server", again)).await?;
    assert_eq!(pod.map(|pod| pod.name_any()).as_deref(), Some("server"));
    node.check()?;
    Ok(())
}
