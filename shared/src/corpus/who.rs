//! Everybody who writes in the corpus. Pure.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::rules::OperatorIdentity;

/// Who writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// `system:masters`.
    #[default]
    Administrator,
    /// Somebody with every right on our kinds.
    User,
    /// Somebody who may write classes only.
    ClassAuthor,
    /// The operator, whole.
    Operator,
    /// The operator's name, groups and pod, but no uid.
    OperatorWithoutUid,
    /// The operator's name, but neither ServiceAccount group.
    OperatorWithoutGroups,
    /// The operator's name, but not the group of its namespace.
    OperatorWithoutNamespaceGroup,
    /// The operator's name, but not the group of all ServiceAccounts.
    OperatorWithoutAccountsGroup,
    /// The operator's name, but the group of another namespace.
    OperatorOfAnotherNamespaceGroup,
    /// The operator's token, not bound to a pod.
    OperatorWithoutPod,
    /// The operator's name with a pod that has no name.
    OperatorOfANamelessPod,
    /// The operator's name with two pods.
    OperatorOfTwoPods,
    /// A ServiceAccount of the operator's name in another namespace, whole.
    NamesakeOfTheOperator,
    /// Another ServiceAccount of the operator's namespace, whole.
    NeighbourOfTheOperator,
    /// The controller manager with its own certificate.
    ControllerManager,
    /// What deletes dependents and rewrites owner references.
    GarbageCollector,
    /// What empties namespaces that are deleted.
    NamespaceController,
    /// A GitOps controller, with every right on our kinds.
    GitOps,
}

impl Who {
    /// Everybody who is like the operator in all but one thing. A ServiceAccount with another uid is
    /// not among them: no layer knows the uid, which changes when the account is made anew.
    pub const HALF_OPERATORS: [Self; 10] = [
        Self::OperatorWithoutUid,
        Self::OperatorWithoutGroups,
        Self::OperatorWithoutNamespaceGroup,
        Self::OperatorWithoutAccountsGroup,
        Self::OperatorOfAnotherNamespaceGroup,
        Self::OperatorWithoutPod,
        Self::OperatorOfANamelessPod,
        Self::OperatorOfTwoPods,
        Self::NamesakeOfTheOperator,
        Self::NeighbourOfTheOperator,
    ];

    /// Controllers of the cluster, which write much and may not write what is the operator's.
    pub const CONTROLLERS: [Self; 4] = [
        Self::ControllerManager,
        Self::GarbageCollector,
        Self::NamespaceController,
        Self::GitOps,
    ];

    /// `userInfo` as the API server would write it.
    pub fn user_info(self, operator: &OperatorIdentity) -> Value {
        let mut parts = operator.username.split(':').skip(2);
        let (namespace, name) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        let account = |namespace: &str, name: &str| {
            let whole = format!("system:serviceaccount:{namespace}:{name}");
            with_groups(&whole, &[ACCOUNTS, &format!("{ACCOUNTS}:{namespace}")])
        };
        let whole = account(namespace, name);
        let grouped = |groups: &[&str]| with_groups(&operator.username, groups);
        let changed = |patch: Value| {
            let mut info = whole.clone();
            json_patch::merge(&mut info, &patch);
            info
        };
        match self {
            Self::Administrator => json!({"username": "admin", "groups": ["system:masters"]}),
            Self::User => json!({"username": "alice", "groups": [AUTHENTICATED]}),
            Self::ClassAuthor => json!({"username": "platform", "groups": [AUTHENTICATED]}),
            Self::Operator => whole,
            Self::OperatorWithoutUid => changed(json!({"uid": null})),
            Self::OperatorWithoutGroups => grouped(&[]),
            Self::OperatorWithoutNamespaceGroup => grouped(&[ACCOUNTS]),
            Self::OperatorWithoutAccountsGroup => grouped(&[&format!("{ACCOUNTS}:{namespace}")]),
            Self::OperatorOfAnotherNamespaceGroup => {
                grouped(&[ACCOUNTS, &format!("{ACCOUNTS}:elsewhere")])
            }
            Self::OperatorWithoutPod => changed(json!({"extra": null})),
            Self::OperatorOfANamelessPod => changed(json!({"extra": {POD_NAME: [""]}})),
            Self::OperatorOfTwoPods => {
                changed(json!({"extra": {POD_NAME: ["sandgate-0", "sandgate-1"]}}))
            }
            Self::NamesakeOfTheOperator => account("elsewhere", name),
            Self::NeighbourOfTheOperator => account(namespace, "default"),
            Self::ControllerManager => json!({
                "username": "system:kube-controller-manager",
                "groups": [AUTHENTICATED],
            }),
            Self::GarbageCollector => account("kube-system", "generic-garbage-collector"),
            Self::NamespaceController => account("kube-system", "namespace-controller"),
            Self::GitOps => account("flux-system", "kustomize-controller"),
        }
    }
}

const ACCOUNTS: &str = "system:serviceaccounts";
const AUTHENTICATED: &str = "system:authenticated";
const POD_NAME: &str = "authentication.kubernetes.io/pod-name";

fn with_groups(username: &str, groups: &[&str]) -> Value {
    let groups: Vec<&str> = groups.iter().copied().chain([AUTHENTICATED]).collect();
    json!({
        "username": username,
        "uid": "6f5c0b2e-7a39-4c53-9d54-0f6c8f6a2f11",
        "groups": groups,
        "extra": {POD_NAME: ["sandgate-0"]},
    })
}
