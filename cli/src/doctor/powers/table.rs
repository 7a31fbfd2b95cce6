//! The table of such rights. Data only.
//!
//! A right is listed because of what the API server lets its holder do, not because of what a holder
//! does. Rights to write roles and bindings are not in it: without `escalate` or `bind` the API server
//! gives nobody more than they hold.

use super::{Effect, Names, Place, Power};

const ADMISSION: &str = "admissionregistration.k8s.io";
const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "rbac.authorization.k8s.io";

/// The verbs by which an object that stands is changed or taken away.
const UNDO: &[&str] = &["update", "patch", "delete", "deletecollection"];
/// The verbs by which an object comes to hold something else.
const WRITE: &[&str] = &["create", "update", "patch"];

/// All of them.
pub const POWERS: &[Power] = &[
    Power {
        id: "impersonate-operator",
        effect: Effect::Forge,
        place: Place::Namespace,
        resources: &[("", "serviceaccounts")],
        verbs: &["impersonate"],
        names: Names::Account,
        allows: "act with the operator's rights, and write claims as the operator if it may also impersonate uids and the pod-name extra",
    },
    Power {
        id: "impersonate-uid",
        effect: Effect::Forge,
        place: Place::Cluster,
        resources: &[(AUTHENTICATION, "uids")],
        verbs: &["impersonate"],
        names: Names::Any,
        allows: "show the uid of any account, the operator's too, while it impersonates one",
    },
    Power {
        id: "impersonate-pod",
        effect: Effect::Forge,
        place: Place::Cluster,
        resources: &[(
            AUTHENTICATION,
            "userextras/authentication.kubernetes.io/pod-name",
        )],
        verbs: &["impersonate"],
        names: Names::Any,
        allows: "say that its token is bound to a pod, as the operator's is, while it impersonates an account",
    },
    Power {
        id: "impersonate-user",
        effect: Effect::Escalate,
        place: Place::Cluster,
        resources: &[("", "users")],
        verbs: &["impersonate"],
        names: Names::Users,
        allows: "act as a user who may do what is listed here",
    },
    Power {
        id: "impersonate-group",
        effect: Effect::Escalate,
        place: Place::Cluster,
        resources: &[("", "groups")],
        verbs: &["impersonate"],
        names: Names::Groups,
        allows: "act as a member of a group that may do what is listed here, such as system:masters",
    },
    Power {
        id: "impersonate-user-info",
        effect: Effect::Escalate,
        place: Place::Cluster,
        resources: &[(AUTHENTICATION, "users"), (AUTHENTICATION, "groups")],
        verbs: &["impersonate:user-info"],
        names: Names::Any,
        allows: "act as any user or member of any group, for the verbs it holds impersonate-on:user-info on (constrained impersonation)",
    },
    Power {
        id: "impersonate-constrained",
        effect: Effect::Escalate,
        place: Place::Namespace,
        resources: &[(AUTHENTICATION, "serviceaccounts")],
        verbs: &["impersonate:serviceaccount"],
        names: Names::Account,
        allows: "act with the operator's rights, for the verbs it holds impersonate-on:serviceaccount on; claims tell it by the missing uid",
    },
    Power {
        id: "impersonate-node",
        effect: Effect::Forge,
        place: Place::Cluster,
        resources: &[(AUTHENTICATION, "nodes")],
        verbs: &["impersonate:arbitrary-node", "impersonate:associated-node"],
        names: Names::Any,
        allows: "act as a node, which may ask for tokens of the pods on it, the operator's too (constrained impersonation)",
    },
    Power {
        id: "operator-token",
        effect: Effect::Forge,
        place: Place::Namespace,
        resources: &[("", "serviceaccounts/token")],
        verbs: &["create"],
        names: Names::Account,
        allows: "ask for a token of the operator's ServiceAccount, bound to its pod: nothing tells its holder from the operator",
    },
    Power {
        id: "read-secrets",
        effect: Effect::Forge,
        place: Place::Namespace,
        resources: &[("", "secrets")],
        verbs: &["get", "list", "watch"],
        names: Names::Secrets,
        allows: "read the key of the webhook's CA, and lasting tokens of the operator where there are any",
    },
    Power {
        id: "write-secrets",
        effect: Effect::Forge,
        place: Place::Namespace,
        resources: &[("", "secrets")],
        verbs: WRITE,
        names: Names::Secrets,
        allows: "have a lasting token of the operator's ServiceAccount made, or replace the webhook's CA",
    },
    Power {
        id: "run-as-operator",
        effect: Effect::Forge,
        place: Place::Namespace,
        resources: &[
            ("", "pods"),
            ("", "replicationcontrollers"),
            ("apps", "daemonsets"),
            ("apps", "deployments"),
            ("apps", "replicasets"),
            ("apps", "statefulsets"),
            ("batch", "cronjobs"),
            ("batch", "jobs"),
        ],
        verbs: WRITE,
        names: Names::Any,
        allows: "run a program of its own in a pod that has the operator's ServiceAccount",
    },
    Power {
        id: "enter-operator",
        effect: Effect::Forge,
        place: Place::Namespace,
        resources: &[("", "pods/exec"), ("", "pods/attach")],
        // A GET with an upgrade is enough where the API server asks for no `create`.
        verbs: &["create", "get"],
        names: Names::Any,
        allows: "run commands in the operator's pods, beside its token",
    },
    Power {
        id: "debug-operator",
        effect: Effect::Forge,
        place: Place::Namespace,
        resources: &[("", "pods/ephemeralcontainers")],
        verbs: &["update", "patch"],
        names: Names::Any,
        allows: "add a container to the operator's pods, beside its token",
    },
    Power {
        id: "reach-kubelets",
        effect: Effect::Forge,
        place: Place::Cluster,
        resources: &[("", "nodes/proxy")],
        verbs: &["create", "get"],
        names: Names::Any,
        allows: "run commands in any pod through its node's kubelet, the operator's pods too",
    },
    Power {
        id: "edit-policy",
        effect: Effect::SwitchOff,
        place: Place::Cluster,
        resources: &[
            (ADMISSION, "validatingadmissionpolicies"),
            (ADMISSION, "validatingadmissionpolicybindings"),
        ],
        verbs: UNDO,
        names: Names::Policies,
        allows: "take away or weaken the policy that keeps what only the operator may write; no claim is trusted from then on",
    },
    Power {
        id: "edit-webhooks",
        effect: Effect::SwitchOff,
        place: Place::Cluster,
        resources: &[
            (ADMISSION, "mutatingwebhookconfigurations"),
            (ADMISSION, "validatingwebhookconfigurations"),
        ],
        verbs: UNDO,
        names: Names::Configurations,
        allows: "switch our webhooks off, or send what they judge elsewhere",
    },
    Power {
        id: "rewrite-in-admission",
        effect: Effect::SwitchOff,
        place: Place::Cluster,
        resources: &[
            (ADMISSION, "mutatingwebhookconfigurations"),
            (ADMISSION, "mutatingadmissionpolicies"),
            (ADMISSION, "mutatingadmissionpolicybindings"),
        ],
        verbs: WRITE,
        names: Names::Any,
        allows: "rewrite what others write, the operator too, before it is stored",
    },
    Power {
        id: "edit-kinds",
        effect: Effect::SwitchOff,
        place: Place::Cluster,
        resources: &[("apiextensions.k8s.io", "customresourcedefinitions")],
        verbs: UNDO,
        names: Names::Kinds,
        allows: "take the rules out of our kinds, or have stored claims rewritten by a conversion of its own",
    },
    Power {
        id: "replace-api",
        effect: Effect::SwitchOff,
        place: Place::Cluster,
        resources: &[("apiregistration.k8s.io", "apiservices")],
        verbs: WRITE,
        names: Names::ApiService,
        allows: "serve our kinds from a server of its own, so that claims are what that server says",
    },
    Power {
        id: "write-records",
        effect: Effect::SwitchOff,
        place: Place::Namespace,
        resources: &[("", "configmaps")],
        verbs: &["create", "update", "patch", "delete", "deletecollection"],
        names: Names::Records,
        allows: "forge or take away the record of when the policy began to refuse; the policy's own age still counts",
    },
    Power {
        id: "escalate",
        effect: Effect::Escalate,
        place: Place::Cluster,
        resources: &[(AUTHORIZATION, "clusterroles")],
        verbs: &["escalate"],
        names: Names::Any,
        allows: "write rights into a ClusterRole that it does not hold itself",
    },
    Power {
        id: "escalate-here",
        effect: Effect::Escalate,
        place: Place::Namespace,
        resources: &[(AUTHORIZATION, "roles")],
        verbs: &["escalate"],
        names: Names::Any,
        allows: "write rights into a Role of the operator's namespace that it does not hold itself",
    },
    Power {
        id: "bind",
        effect: Effect::Escalate,
        place: Place::Namespace,
        resources: &[(AUTHORIZATION, "clusterroles"), (AUTHORIZATION, "roles")],
        verbs: &["bind"],
        names: Names::Roles,
        allows: "give itself a role that holds what is listed here",
    },
    Power {
        id: "sign-certificates",
        effect: Effect::Escalate,
        place: Place::Cluster,
        resources: &[("certificates.k8s.io", "signers")],
        verbs: &["approve", "sign"],
        names: Names::Signers,
        allows: "have a client certificate signed for a user, group or node of its choice",
    },
];

/// The signers whose certificates the API server takes for clients'.
pub const SIGNERS: [&str; 3] = [
    "kubernetes.io/kube-apiserver-client",
    "kubernetes.io/kube-apiserver-client-kubelet",
    "kubernetes.io/*",
];
