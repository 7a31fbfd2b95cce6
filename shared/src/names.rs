//! Every label, annotation, field manager and object name that Sandgate writes, in one registry.
//! Pure.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// API group of all four kinds (T-001).
pub const GROUP: &str = "omnia.altairalabs.ai";
/// Served version of all four kinds (T-001).
pub const VERSION: &str = "v1alpha1";

/// Label: the `AgentRuntime` a claim or pod belongs to.
pub const LABEL_AGENT_RUNTIME: &str = "omnia.altairalabs.ai/sandbox-agent-runtime";
/// Label: the session a claim or pod belongs to (O-004).
pub const LABEL_SESSION: &str = "omnia.altairalabs.ai/sandbox-session";
/// Label: the claim's name, for people and `kubectl -l`.
pub const LABEL_CLAIM: &str = "omnia.altairalabs.ai/sandbox-claim";
/// Label: the claim's UID. Selectors carry it, so that no two claims can ever share pods (O-005).
pub const LABEL_CLAIM_UID: &str = "omnia.altairalabs.ai/sandbox-claim-uid";
/// Label: constant `"true"` on every pod template of ours; the baseline policy selects it (O-037).
pub const LABEL_SANDBOX_POD: &str = "omnia.altairalabs.ai/sandbox-pod";
/// Label: what part of a claim an object is (`sandbox` or `egress`).
pub const LABEL_COMPONENT: &str = "omnia.altairalabs.ai/component";
/// Value of [`LABEL_COMPONENT`] on the sandbox's own objects.
pub const COMPONENT_SANDBOX: &str = "sandbox";
/// Value of [`LABEL_COMPONENT`] on the objects of a claim's egress proxy. Its pods carry no
/// [`LABEL_SESSION`], so that no selector of a sandbox's objects selects them.
pub const COMPONENT_EGRESS: &str = "egress";
/// Standard label naming the tool that manages an object.
pub const LABEL_MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Value of [`LABEL_MANAGED_BY`].
pub const MANAGED_BY: &str = "sandgate";

/// Standard label: which installation an object belongs to.
pub const LABEL_INSTANCE: &str = "app.kubernetes.io/instance";
/// Standard label: what part of an installation an object is.
pub const LABEL_PART: &str = "app.kubernetes.io/component";
/// Value of [`LABEL_PART`] on the admission policy and its binding.
pub const PART_CLAIM_POLICY: &str = "claim-policy";

/// Annotation: hash of the intent an object was written from; a different one is an update of ours,
/// not a stranger's edit (O-040).
pub const ANNOTATION_INTENT: &str = "omnia.altairalabs.ai/intent-hash";
/// Annotation of a Deployment: digest of the roles, Connections and Secret keys by name that went into
/// it. With another one it is built anew, so that a revoked credential goes (C-034, K-031).
pub const ANNOTATION_BINDINGS: &str = "omnia.altairalabs.ai/bindings-hash";
/// Annotation of a sandbox's Deployment: the egress proxy that its variables name, `address:port`. With
/// another one it is built anew (C-034).
pub const ANNOTATION_PROXY: &str = "omnia.altairalabs.ai/egress-proxy";
/// Annotation of an egress proxy's pod: hash of the allowlist that its kubelet was last told of. A change
/// makes the kubelet look at the pod, and so at the ConfigMap it mounts, at once (Q21).
pub const ANNOTATION_ALLOWLIST: &str = "omnia.altairalabs.ai/allowlist";
/// Annotation: hash of the rules a webhook configuration was rendered with. With another one it is
/// another version's, and that version's controller looks after it.
pub const ANNOTATION_WEBHOOK_RULES: &str = "omnia.altairalabs.ai/webhook-rules";

/// Annotation of the Lease: when nobody led, as a JSON list of `[from, to]` by the API server's clock.
pub const ANNOTATION_LEADERLESS: &str = "omnia.altairalabs.ai/leaderless";

/// Name of the un-owned policy that shuts every sandbox pod of a namespace (O-037).
pub const BASELINE_POLICY: &str = "sandgate-baseline";
/// Field manager of the controller's writes.
pub const MANAGER_CONTROLLER: &str = "sandgate-controller";
/// Field manager of the server-side apply that shares `caBundle`.
pub const MANAGER_CERTIFICATES: &str = "sandgate-certificates";

/// Longest claim name, so that `<claim>-sandbox` is a valid Service name (T-077, O-003).
pub const CLAIM_NAME_MAX: usize = 55;

/// Name of the Deployment, Service and `NetworkPolicy` of a claim (O-001).
pub fn sandbox(claim: &str) -> String {
    format!("{claim}-sandbox")
}

/// Name of the Deployment, Service, `NetworkPolicy` and allowlist of a claim's egress proxy (E-002).
pub fn egress(claim: &str) -> String {
    format!("{claim}-egress")
}

/// Port at which an egress proxy serves CONNECT.
pub const EGRESS_PORT: u16 = 3128;
/// Port at which it tells its health and metrics.
pub const EGRESS_ADMIN_PORT: u16 = 8083;
/// Key of the `ConfigMap` with the hosts of a claim, and name of the file that the proxy reads.
pub const ALLOWLIST_FILE: &str = "allowlist.json";

/// Name of the Secret with the files that a claim's Connections place (K-005).
pub fn placed_files(claim: &str) -> String {
    format!("{claim}{PLACED_FILES}")
}

/// The claim whose [`placed_files`] would be called so.
pub fn claim_of_placed_files(secret: &str) -> Option<&str> {
    secret.strip_suffix(PLACED_FILES)
}

const PLACED_FILES: &str = "-sandbox-connections";

/// The end of a name that changes with `text`: 10 hex digits.
pub fn short_hash(text: &str) -> String {
    let mut hash = hash(text);
    hash.truncate(10);
    hash
}

/// SHA-256 of `text`: 64 hex digits.
pub(crate) fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold(String::new(), |mut hash, byte| {
        let _ = write!(hash, "{byte:02x}");
        hash
    })
}

/// Name of the admission policy and its binding: `<release>-sandbox-claim-<hash>` (P-001).
pub fn policy(release: &str, hash: &str) -> String {
    format!("{release}-sandbox-claim-{hash}")
}

/// Name of the ServiceAccount that proves the policy is in force by being refused (P-029). Not `-probe`
/// alone: `sandgate-probe` is a program of ours.
pub fn probe(release: &str) -> String {
    format!("{release}-policy-probe")
}

/// Username of [`probe`] in the operator's namespace.
pub fn probe_username(release: &str, namespace: &str) -> String {
    format!("system:serviceaccount:{namespace}:{}", probe(release))
}

/// Name of the claim that the probe asks for and never gets.
pub const PROBE_CLAIM: &str = "sandgate-provenance-probe";

/// Name of the `ConfigMap` that records the policy's first refusal (P-029). `hash` is that of the UIDs
/// of policy and binding.
pub fn proof(release: &str, hash: &str) -> String {
    format!("{release}-proof-{hash}")
}

/// Name of the Service that API servers reach the webhook by.
pub fn webhook_service(release: &str) -> String {
    format!("{release}-webhook")
}

/// Name of both webhook configurations. `zz-` makes ours the last mutator to run (W-030).
pub fn webhook_configuration(release: &str) -> String {
    format!("zz-{release}-sandgate")
}
