//! Every reason string of conditions and Events, once. Data only.

/// Condition types that Sandgate writes on a claim.
pub mod condition {
    /// The sandbox can be dialled.
    pub const READY: &str = "Ready";
    /// Set once, at the first bind, and never removed (Q14).
    pub const BOUND: &str = "Bound";
    /// A stranger changed one of the claim's objects; it was healed (O-040).
    pub const SANDBOX_MODIFIED: &str = "SandboxModified";
    /// True once the operator is proved to have written the claim; never removed (P-015, P-017).
    pub const PROVENANCE_VERIFIED: &str = "ProvenanceVerified";
    /// Bad when true: the claim is final and will not become ready; what kstatus reads as failed
    /// (C-033).
    pub const STALLED: &str = "Stalled";
    /// False while a Service of `egress.allowedServices` opens less than asked; absent if none ever
    /// did (O-030).
    pub const ALLOWED_SERVICES_RESOLVED: &str = "AllowedServicesResolved";
    /// False while a bound claim's objects wait for a write that was refused; absent if none ever
    /// was (C-032).
    pub const OBJECTS_CURRENT: &str = "ObjectsCurrent";
}

/// `Ready` is true: addresses can be dialled.
pub const SANDBOX_READY: &str = "SandboxReady";
/// Objects exist and the pod has not reported ready yet (C-018).
pub const SANDBOX_STARTING: &str = "SandboxStarting";
/// A bound sandbox lost readiness; its addresses are withdrawn (C-021).
pub const SANDBOX_NOT_READY: &str = "SandboxNotReady";
/// The scheduler cannot place the pod (C-022).
pub const UNSCHEDULABLE: &str = "Unschedulable";
/// The image cannot be pulled.
pub const IMAGE_PULL_FAILED: &str = "ImagePullFailed";
/// The container exits again and again.
pub const CRASH_LOOP: &str = "CrashLoopBackOff";
/// The container was killed for using more memory than its limit.
pub const OOM_KILLED: &str = "OOMKilled";
/// The kubelet refuses the container's configuration (an image that wants root, say; O-036).
pub const CONTAINER_CONFIG_ERROR: &str = "CreateContainerConfigError";
/// The container was lost with its node or container runtime, and is started again.
pub const CONTAINER_LOST: &str = "ContainerLost";
/// The pod was taken off its node: evicted, preempted, or the node drained or shut down (O-038).
pub const EVICTED: &str = "Evicted";
/// The pod's node does not answer, or is gone.
pub const NODE_LOST: &str = "NodeLost";
/// The node refuses the pod that the scheduler gave it.
pub const REFUSED_BY_NODE: &str = "PodRefusedByNode";
/// The API server refuses the pod for a quota or policy; the `ReplicaSet` said so (C-032).
pub const POD_REFUSED: &str = "PodRefused";
/// A write of ours was refused for now and is retried (C-032).
pub const WRITE_RETRIED: &str = "WriteRetried";

/// The runtime's `spec.sandbox.enabled` is unset (C-002, Q12).
pub const SANDBOXES_DISABLED: &str = "SandboxesDisabled";
/// The named class does not exist (C-004, Q12).
pub const CLASS_NOT_FOUND: &str = "ClassNotFound";
/// The named `AgentRuntime` does not exist (Q13).
pub const AGENT_RUNTIME_NOT_FOUND: &str = "AgentRuntimeNotFound";
/// The API server rejected a sandbox object (C-007, C-032).
pub const SANDBOX_REJECTED: &str = "SandboxRejected";
/// An object of the claim's name exists and is not ours.
pub const NAME_CONFLICT: &str = "NameConflict";
/// Our own RBAC forbids a write (C-032).
pub const OPERATOR_FORBIDDEN: &str = "OperatorForbidden";
/// The claim needs proof that the operator wrote it, and none is recorded (P-029).
pub const PROVENANCE_UNPROVEN: &str = "ProvenanceUnproven";
/// What the condition `ProvenanceVerified` says of a claim that nobody but the operator can have
/// written (P-015).
pub const WRITTEN_BY_OPERATOR: &str = "WrittenByOperator";
/// Nothing can prove any more that the operator wrote a claim with a configured or session mount
/// (P-020).
pub const MOUNT_NOT_GRANTED: &str = "MountNotGranted";
/// The same of a claim that binds a Connection (P-021).
pub const CONNECTIONS_NOT_GRANTED: &str = "ConnectionsNotGranted";
/// The same of a claim that names a `targetPath` (P-022).
pub const TARGET_PATH_NOT_GRANTED: &str = "TargetPathNotGranted";
/// The same of an enrolment (P-023).
pub const ENROLMENT_NOT_GRANTED: &str = "EnrolmentNotGranted";
/// The claim asks for something that this version does not build yet (C-036).
pub const PART_NOT_BUILT: &str = "PartNotBuilt";
/// The class asks for no workspace, the claim mounts one (C-005).
pub const WORKSPACE_NOT_SUPPORTED: &str = "WorkspaceNotSupported";
/// The class does not list the role the claim mounts (M-015, Q35).
pub const MOUNT_NOT_PERMITTED: &str = "MountNotPermitted";
/// The class does not render to objects.
pub const INVALID_CLASS: &str = "InvalidClass";
/// A Service named in `egress.allowedServices` is missing or selects no pods (O-030).
pub const SERVICE_NOT_FOUND: &str = "AllowedServiceUnresolved";
/// What the condition `SandboxModified` says after a heal (O-040).
pub const HEALED: &str = "Healed";
/// What the condition `SandboxModified` says when an edit came back too often to be healed at once
/// (O-040).
pub const HEAL_BACKED_OFF: &str = "HealBackedOff";
/// What the condition `AllowedServicesResolved` says once every Service is open.
pub const SERVICES_RESOLVED: &str = "AllowedServicesResolved";
/// What the condition `ObjectsCurrent` says once the refused write went through.
pub const OBJECTS_WRITTEN: &str = "ObjectsWritten";
/// A webhook configuration of ours is gone.
pub const WEBHOOK_CONFIGURATION_MISSING: &str = "WebhookConfigurationMissing";
/// A webhook configuration holds the rules of another version of Sandgate.
pub const WEBHOOK_CONFIGURATION_REPLACED: &str = "WebhookConfigurationReplaced";
/// Somebody else's webhook or policy may rewrite objects of our kinds.
pub const FOREIGN_MUTATOR: &str = "ForeignMutator";
