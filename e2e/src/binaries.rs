//! The real Kubernetes and what a real node needs, built once per machine from the pinned Go modules
//! and kept in the cache. Does I/O: runs `go build`.

mod build;
mod clients;
mod peers;
mod source;

use std::path::PathBuf;

pub use build::BinariesError;
pub(crate) use build::Recipe;
pub use clients::{go_client, rust_client};
pub use peers::{AgentSandbox, Smokescreen, go_webhook};

/// Without these the server calls itself v0.0.0, and clients and policies misbehave.
const KUBERNETES: &str = "-s -w \
    -X k8s.io/component-base/version.gitVersion=v1.36.3 \
    -X k8s.io/component-base/version.gitMajor=1 \
    -X k8s.io/component-base/version.gitMinor=36";
const KUBERNETES_1_33: &str = "-s -w \
    -X k8s.io/component-base/version.gitVersion=v1.33.13 \
    -X k8s.io/component-base/version.gitMajor=1 \
    -X k8s.io/component-base/version.gitMinor=33";
const KUBERNETES_1_30: &str = "-s -w \
    -X k8s.io/component-base/version.gitVersion=v1.30.14 \
    -X k8s.io/component-base/version.gitMajor=1 \
    -X k8s.io/component-base/version.gitMinor=30";
/// Else containerd calls itself 2.4.2+unknown, which some clients cannot parse.
const CONTAINERD: &str = "-s -w -X github.com/containerd/containerd/v2/version.Version=2.4.2";
const PLAIN: &str = "-s -w";

/// A part of Kubernetes. What an older control plane is made of has a name that tells it from one in
/// `KUBEBUILDER_ASSETS`, whose version nobody knows.
const fn of_kubernetes(
    name: &'static str,
    module: &'static str,
    package: &'static str,
    linker_flags: &'static str,
) -> Recipe {
    Recipe {
        name,
        module,
        package,
        linker_flags,
        is_static: false,
    }
}

const fn kubernetes(name: &'static str, package: &'static str) -> Recipe {
    of_kubernetes(name, "control-plane", package, KUBERNETES)
}

const fn of_1_33(name: &'static str, package: &'static str) -> Recipe {
    of_kubernetes(name, "control-plane-1.33", package, KUBERNETES_1_33)
}

const fn of_1_30(name: &'static str, package: &'static str) -> Recipe {
    of_kubernetes(name, "control-plane-1.30", package, KUBERNETES_1_30)
}

const fn containerd(name: &'static str, package: &'static str) -> Recipe {
    Recipe {
        name,
        module: "node/containerd",
        package,
        linker_flags: CONTAINERD,
        is_static: true,
    }
}

/// What runs in a pod, in an image that holds nothing else.
const fn addon(name: &'static str, package: &'static str) -> Recipe {
    Recipe {
        name,
        module: "node/addons",
        package,
        linker_flags: PLAIN,
        is_static: true,
    }
}

const ETCD: Recipe = Recipe {
    name: "etcd",
    module: "control-plane",
    package: "go.etcd.io/etcd/server/v3",
    linker_flags: PLAIN,
    is_static: false,
};
const API_SERVER_PACKAGE: &str = "k8s.io/kubernetes/cmd/kube-apiserver";
const CONTROLLERS_PACKAGE: &str = "k8s.io/kubernetes/cmd/kube-controller-manager";
const SCHEDULER_PACKAGE: &str = "k8s.io/kubernetes/cmd/kube-scheduler";
const API_SERVER: Recipe = kubernetes("kube-apiserver", API_SERVER_PACKAGE);
const CONTROLLERS: Recipe = kubernetes("kube-controller-manager", CONTROLLERS_PACKAGE);
const SCHEDULER: Recipe = kubernetes("kube-scheduler", SCHEDULER_PACKAGE);
const API_SERVER_1_33: Recipe = of_1_33("kube-apiserver-1.33", API_SERVER_PACKAGE);
const CONTROLLERS_1_33: Recipe = of_1_33("kube-controller-manager-1.33", CONTROLLERS_PACKAGE);
const SCHEDULER_1_33: Recipe = of_1_33("kube-scheduler-1.33", SCHEDULER_PACKAGE);
const API_SERVER_1_30: Recipe = of_1_30("kube-apiserver-1.30", API_SERVER_PACKAGE);
const CONTROLLERS_1_30: Recipe = of_1_30("kube-controller-manager-1.30", CONTROLLERS_PACKAGE);
const SCHEDULER_1_30: Recipe = of_1_30("kube-scheduler-1.30", SCHEDULER_PACKAGE);
const KUBECTL: Recipe = kubernetes("kubectl", "k8s.io/kubernetes/cmd/kubectl");
const KWOK: Recipe = Recipe {
    name: "kwok",
    module: "fake-node",
    package: "sigs.k8s.io/kwok/cmd/kwok",
    linker_flags: PLAIN,
    is_static: false,
};
const KUBELET: Recipe = kubernetes("kubelet", "k8s.io/kubernetes/cmd/kubelet");
const PROXY: Recipe = kubernetes("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy");
const RUNTIME: Recipe = containerd(
    "containerd",
    "github.com/containerd/containerd/v2/cmd/containerd",
);
const SHIM: Recipe = containerd(
    "containerd-shim-runc-v2",
    "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
);
const CTR: Recipe = containerd("ctr", "github.com/containerd/containerd/v2/cmd/ctr");
const ENFORCER: Recipe = addon(
    "kube-network-policies",
    "sigs.k8s.io/kube-network-policies/cmd",
);
const DNS: Recipe = addon("coredns", "./coredns");

/// Of which minor version API server, controller manager and scheduler are; all else is as pinned. The
/// older ones take minutes to build, so only slow tests start them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// The one everything is developed on.
    #[default]
    V1_36,
    /// One that is still in wide use.
    V1_33,
    /// The oldest the chart installs on.
    V1_30,
}

impl Version {
    /// Those an API server is tried of besides the one everything is developed on.
    pub const OLDER: [Self; 2] = [Self::V1_33, Self::V1_30];

    /// What the API server says of itself, `minor` in `/version`.
    pub fn minor(self) -> &'static str {
        match self {
            Self::V1_36 => "36",
            Self::V1_33 => "33",
            Self::V1_30 => "30",
        }
    }

    /// API server, controller manager and scheduler.
    fn recipes(self) -> [Recipe; 3] {
        match self {
            Self::V1_36 => [API_SERVER, CONTROLLERS, SCHEDULER],
            Self::V1_33 => [API_SERVER_1_33, CONTROLLERS_1_33, SCHEDULER_1_33],
            Self::V1_30 => [API_SERVER_1_30, CONTROLLERS_1_30, SCHEDULER_1_30],
        }
    }
}

/// Where each binary of a control plane is.
#[derive(Clone, Debug)]
pub struct Binaries {
    /// `etcd`
    pub etcd: PathBuf,
    /// `kube-apiserver`
    pub api_server: PathBuf,
    /// `kube-controller-manager`
    pub controllers: PathBuf,
    /// `kube-scheduler`
    pub scheduler: PathBuf,
    /// `kubectl`
    pub kubectl: PathBuf,
    /// `kwok`, which plays the kubelet
    pub kwok: PathBuf,
}

impl Binaries {
    /// Finds each binary in `KUBEBUILDER_ASSETS` (where set) or the cache, and builds the rest,
    /// saying so on standard error. Blocks: minutes the first time, then milliseconds.
    pub fn ensure() -> Result<Self, BinariesError> {
        Self::of(Version::default())
    }

    /// The same, with a control plane of this version.
    pub fn of(version: Version) -> Result<Self, BinariesError> {
        let [api_server, controllers, scheduler] = version.recipes();
        Ok(Self {
            etcd: ETCD.ensure()?,
            api_server: api_server.ensure()?,
            controllers: controllers.ensure()?,
            scheduler: scheduler.ensure()?,
            kubectl: KUBECTL.ensure()?,
            kwok: KWOK.ensure()?,
        })
    }
}

/// Where each binary of a real node is.
#[derive(Clone, Debug)]
pub struct NodeBinaries {
    /// `kubelet`
    pub kubelet: PathBuf,
    /// `kube-proxy`
    pub proxy: PathBuf,
    /// `containerd`
    pub containerd: PathBuf,
    /// `containerd-shim-runc-v2`
    pub shim: PathBuf,
    /// `ctr`, containerd's own client
    pub ctr: PathBuf,
    /// `kube-network-policies`, which enforces NetworkPolicies
    pub enforcer: PathBuf,
    /// `coredns`, with the plugins a cluster needs
    pub dns: PathBuf,
}

impl NodeBinaries {
    /// As [`Binaries::ensure`].
    pub fn ensure() -> Result<Self, BinariesError> {
        Ok(Self {
            kubelet: KUBELET.ensure()?,
            proxy: PROXY.ensure()?,
            containerd: RUNTIME.ensure()?,
            shim: SHIM.ensure()?,
            ctr: CTR.ensure()?,
            enforcer: ENFORCER.ensure()?,
            dns: DNS.ensure()?,
        })
    }
}

const HELM: Recipe = Recipe {
    name: "helm",
    module: "helm",
    package: "helm.sh/helm/v4/cmd/helm",
    linker_flags: PLAIN,
    is_static: false,
};

/// As [`Binaries::ensure`], for `helm`, which installs the chart.
pub(crate) fn ensure_helm() -> Result<PathBuf, BinariesError> {
    HELM.ensure()
}
