//! The kubelet and kube-proxy, as a distribution would run them. Writes files.

use std::path::Path;

use serde_json::{Value, json};

use super::containerd;
use super::network::{GATEWAY, NODE_ADDRESS};
use crate::binaries::NodeBinaries;
use crate::control_plane::{ControlPlane, ControlPlaneError};
use crate::folders::{self, FolderError};
use crate::process::Program;

/// The name of the node every pod runs on.
pub const NODE: &str = "real-node";

/// Where Services are: what the API server was told.
const SERVICES_DNS: &str = "10.96.0.10";

/// How to run the kubelet, whose pods are accounted in `group`.
pub(super) fn kubelet(
    binaries: &NodeBinaries,
    plane: &ControlPlane,
    group: &str,
) -> Result<Program, ControlPlaneError> {
    let folder = plane.folder();
    let user = format!("system:node:{NODE}");
    let kubeconfig = plane.kubeconfig_of("kubelet", &user, Some("system:nodes"))?;
    let resolver = folder.join("resolv.conf");
    folders::write_private(&resolver, &format!("nameserver {GATEWAY}\n"))?;
    let configuration = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": false,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{group}"),
        "enforceNodeAllocatable": ["none"],
        "containerRuntimeEndpoint": format!("unix://{}", containerd::SOCKET),
        "authentication": {
            "anonymous": { "enabled": false },
            "webhook": { "enabled": true },
            "x509": { "clientCAFile": folder.join("ca.crt") },
        },
        "authorization": { "mode": "Webhook" },
        "clusterDNS": [SERVICES_DNS],
        "clusterDomain": "cluster.local",
        "resolvConf": resolver,
        "failSwapOn": false,
        "makeIPTablesUtilChains": false,
        // The disk is the developer's: how full it is says nothing about the pods here.
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "nodefs.inodesFree": "1%",
            "imagefs.available": "1%",
        },
        // How much a pod has written is looked at as often as whether it wrote too much, or an eviction
        // comes a minute late.
        "volumeStatsAggPeriod": "5s",
        // To lower it takes a right that a container lacks.
        "oomScoreAdj": 0,
    });
    let file = json_file(&folder.join("kubelet.json"), &configuration)?;
    Ok(Program::new(
        &binaries.kubelet,
        [
            format!("--config={file}"),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--hostname-override={NODE}"),
            format!("--node-ip={NODE_ADDRESS}"),
        ],
    ))
}

/// How to run kube-proxy among `pods`.
pub(super) fn proxy(
    binaries: &NodeBinaries,
    plane: &ControlPlane,
    pods: &str,
) -> Result<Program, ControlPlaneError> {
    let kubeconfig = plane.kubeconfig_of("kube-proxy", "system:kube-proxy", None)?;
    let configuration = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": { "kubeconfig": kubeconfig },
        "hostnameOverride": NODE,
        "mode": "nftables",
        "clusterCIDR": pods,
        // Left as they are: some of these are the whole kernel's.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    });
    let file = json_file(&plane.folder().join("kube-proxy.json"), &configuration)?;
    Ok(Program::new(&binaries.proxy, [format!("--config={file}")]))
}

fn json_file(path: &Path, value: &Value) -> Result<String, FolderError> {
    folders::write_private(path, &value.to_string())?;
    Ok(path.display().to_string())
}
