//! What the Connections of a claim come to: what they place, and the egress proxy for their hosts. Pure.

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::{
    api::SandboxClassSpec,
    checks::{Dropped, Placement},
    reason,
};

use super::{
    Action, Build, FilesIntent, Finding, Poke, ProxyBuild, Settings, Urgent,
    connections::Standing,
    egress::{Proxy, Told, Way, available, due, pokes, trouble},
    gate::owns,
    intent::Sealed,
    network_policy::ToProxy,
};
use crate::claim::observed::{LiveObject, ObjectKind, Observed};

/// What stands of a claim's Connections, its egress proxy, and the way to it.
pub(super) struct Connected<'o> {
    standing: Option<Standing<'o>>,
    proxy: Option<Proxy>,
    way: Option<Way>,
}

impl<'o> Connected<'o> {
    /// Of a claim; nothing where it binds no Connection.
    pub(super) fn of(observed: &'o Observed, settings: &Settings) -> Self {
        let standing = Standing::of(observed);
        let hosts = standing.as_ref().map(Standing::hosts);
        let proxy = hosts.and_then(|hosts| Proxy::of(hosts, observed, settings));
        Self {
            way: proxy.as_ref().and_then(|proxy| Way::to(proxy, observed)),
            proxy,
            standing,
        }
    }

    /// Whether the claim is to have an egress proxy.
    pub(super) fn has_proxy(&self) -> bool {
        self.proxy.is_some()
    }

    /// What is placed in a sandbox of the class, and every binding that is not.
    ///
    /// # Errors
    /// The class's arguments for a session do not render.
    pub(super) fn placed(
        &self,
        class: &SandboxClassSpec,
    ) -> Result<Option<(Placement, Vec<Dropped>)>, Finding> {
        let standing = self.standing.as_ref();
        standing.map(|standing| standing.placed(class)).transpose()
    }

    /// The Secret with the files of what stands.
    pub(super) fn files(&self, observed: &Observed) -> Option<FilesIntent> {
        let standing = self.standing.as_ref();
        standing.map(|standing| standing.files(observed))
    }

    /// Whether a credential is to be taken away.
    pub(super) fn urgent(&self, observed: &Observed) -> Urgent {
        let standing = self.standing.as_ref();
        let live = observed.deployment.as_ref();
        standing.map_or(Urgent::No, |standing| standing.urgent(live))
    }

    /// Whether a Deployment was made for other bindings, another proxy or other test hosts. A sandbox that
    /// has no proxy any more keeps its variables: it is made anew for the bindings that are gone.
    pub(super) fn differ_from(&self, kind: ObjectKind, live: &LiveObject) -> bool {
        let standing = self.standing.as_ref();
        match kind {
            ObjectKind::Deployment => {
                standing.is_some_and(|standing| standing.differs_from(live))
                    || self.way.as_ref().is_some_and(|way| way.differs_from(live))
            }
            ObjectKind::EgressDeployment => {
                let proxy = self.proxy.as_ref();
                proxy.is_some_and(|proxy| proxy.differs_from(live))
            }
            _ => false,
        }
    }

    /// What the sandbox's policy opens for the proxy.
    pub(super) fn to_proxy(&self) -> Option<ToProxy> {
        self.proxy.as_ref().map(|_| ToProxy {
            address: self.way.as_ref().map(|way| way.address.ip()),
        })
    }

    /// What the sandbox's pod is told of the proxy, once there is something to tell.
    pub(super) fn told(
        &self,
        observed: &Observed,
        class: &SandboxClassSpec,
        settings: &Settings,
    ) -> Option<Told> {
        let way = self.way.as_ref();
        way.map(|way| way.told(observed, class, settings))
    }

    /// The objects of the proxy, in the order they are made.
    pub(super) fn sealed(&self, observed: &Observed, settings: &Settings) -> Vec<Sealed> {
        let proxy = self.proxy.as_ref();
        let sealed = proxy.map(|proxy| proxy.sealed(observed, settings));
        sealed.unwrap_or_default()
    }

    /// Whether somebody made its allowlist immutable: then that is made anew, and the pod that mounts it.
    pub(super) fn is_stuck(&self, observed: &Observed) -> bool {
        let kind = ObjectKind::EgressAllowlist;
        let allowlist = observed.live(kind).filter(|_| owns(observed, kind));
        self.has_proxy() && allowlist.is_some_and(|allowlist| allowlist.immutable)
    }

    /// Whether an object of the sandbox waits for the proxy: its policy where that is to name an address
    /// which is not known, and its Deployment until the proxy can be dialled, so that nothing in it starts
    /// by failing (E-004). A credential that goes waits for nothing.
    pub(super) fn holds_back(
        &self,
        observed: &Observed,
        kind: ObjectKind,
        settings: &Settings,
    ) -> bool {
        if !self.has_proxy() {
            return false;
        }
        if self.is_stuck(observed) && is_stuck_with(kind) {
            return true;
        }
        let unknown = self.way.is_none();
        let made = observed.live(kind).is_some();
        match kind {
            ObjectKind::NetworkPolicy => unknown && settings.judges_before_translation && !made,
            ObjectKind::Deployment if made => unknown && self.urgent(observed) == Urgent::No,
            ObjectKind::Deployment => unknown || !available(observed),
            _ => false,
        }
    }

    /// What is to be said of the proxy.
    pub(super) fn build(&self, observed: &Observed) -> Option<ProxyBuild> {
        let proxy = self.proxy.as_ref()?;
        let stuck = self.is_stuck(observed).then(stuck);
        let down = stuck.is_some() || !available(observed);
        Some(ProxyBuild {
            down,
            trouble: stuck.or_else(|| trouble(observed).filter(|_| down)),
            moved: None,
            test_hosts: proxy.fixtures.told(),
            again: proxy.fixtures.again(),
        })
    }

    /// Notes that the sandbox is started anew for another address of the proxy.
    pub(super) fn note_move(&self, observed: &Observed, action: &Action, build: &mut Build) {
        let (Some(way), Some(live), Some(proxy)) = (
            self.way.as_ref(),
            observed.deployment.as_ref(),
            build.proxy.as_mut(),
        ) else {
            return;
        };
        let left = way.left(live);
        let left = left.filter(|_| matches!(action, Action::Update(_)));
        proxy.moved = left.map(|left| (left.to_string(), way.address.to_string()));
    }
}

/// What goes with an allowlist that cannot be changed.
fn is_stuck_with(kind: ObjectKind) -> bool {
    matches!(
        kind,
        ObjectKind::EgressAllowlist | ObjectKind::EgressDeployment
    )
}

fn stuck() -> Finding {
    Finding {
        reason: reason::EGRESS_PROXY_NOT_READY,
        message: "the sandbox's egress proxy is not ready: somebody made its ConfigMap immutable, so that its hosts could never be changed again; both are made anew"
            .to_owned(),
    }
}

/// What makes kubelets look at the allowlist, and when that is due again.
pub(super) fn told_of_hosts(
    observed: &Observed,
    sealed: &[Sealed],
    build: &mut Build,
    now: Timestamp,
) -> Vec<Poke> {
    let mut all = sealed.iter();
    let allowlist = all.find(|sealed| sealed.kind == ObjectKind::EgressAllowlist);
    let (Some(allowlist), Some(proxy)) = (allowlist, build.proxy.as_mut()) else {
        return Vec::new();
    };
    let pokes = pokes(observed, &allowlist.hash, now);
    let again = due(observed, &allowlist.hash, &pokes, now);
    proxy.again = proxy.again.into_iter().chain(again).min();
    pokes
}
