//! Every label, annotation, field manager and object name that Sandgate writes, in one registry.
//! Data only.

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
/// Label: what part of a claim an object is (`sandbox`, later `egress`).
pub const LABEL_COMPONENT: &str = "omnia.altairalabs.ai/component";
/// Value of [`LABEL_COMPONENT`] on the sandbox's own objects.
pub const COMPONENT_SANDBOX: &str = "sandbox";
/// Standard label naming the tool that manages an object.
pub const LABEL_MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Value of [`LABEL_MANAGED_BY`].
pub const MANAGED_BY: &str = "sandgate";

/// Annotation: hash of the intent an object was written from; a different one is an update of ours,
/// not a stranger's edit (O-040).
pub const ANNOTATION_INTENT: &str = "omnia.altairalabs.ai/intent-hash";

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

/// Name of the admission policy and its binding: `<release>-sandbox-claim-<hash>` (P-001).
pub fn policy(release: &str, hash: &str) -> String {
    format!("{release}-sandbox-claim-{hash}")
}

/// Name of both webhook configurations. `zz-` makes ours the last mutator to run (W-030).
pub fn webhook_configuration(release: &str) -> String {
    format!("zz-{release}-sandgate")
}
