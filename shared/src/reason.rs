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
    /// Set once, when the claim is admitted, and never removed: its objects are made only after, and
    /// from then on it counts under its runtime's ceilings until it is over (C-012, C-016).
    pub const ADMITTED: &str = "Admitted";
    /// False while a Service of `egress.allowedServices` opens less than asked; absent if none ever
    /// did (O-030).
    pub const ALLOWED_SERVICES_RESOLVED: &str = "AllowedServicesResolved";
    /// False while a bound claim's objects wait for a write that was refused; absent if none ever
    /// was (C-032).
    pub const OBJECTS_CURRENT: &str = "ObjectsCurrent";
    /// True while a `NetworkPolicy` that is not the claim's opens the way to its pod, or out of it
    /// (O-040).
    pub const NETWORK_POLICY_WIDENED: &str = "NetworkPolicyWidened";
    /// False while a Connection that a bound claim was built with is gone and its credential taken
    /// from the sandbox (C-034, K-030).
    pub const CONNECTIONS_CURRENT: &str = "ConnectionsCurrent";
    /// False while the egress proxy of a bound claim is not ready, so that no host of its Connections can
    /// be reached; absent if it always was.
    pub const EGRESS_PROXY_READY: &str = "EgressProxyReady";
    /// Bad when true: the claim's egress proxy dials in-cluster test hosts (E-036).
    pub const INSECURE_EGRESS_TEST_HOSTS: &str = "InsecureEgressTestHosts";
}

/// Defines reasons, and with them the list of all: one that is not in it can not be written.
macro_rules! reasons {
    ($(#[$about:meta])* $list:ident; $($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        $(#[$about])*
        pub const $list: &[&str] = &[$($name),*];
    };
}

reasons! {
    /// Every reason of a claim's conditions and Events.
    CLAIM;

    /// `Ready` is true: addresses can be dialled.
    SANDBOX_READY = "SandboxReady";
    /// Objects exist and the pod has not reported ready yet (C-018).
    SANDBOX_STARTING = "SandboxStarting";
    /// A bound sandbox lost readiness; its addresses are withdrawn (C-021).
    SANDBOX_NOT_READY = "SandboxNotReady";
    /// The scheduler cannot place the pod (C-022).
    UNSCHEDULABLE = "Unschedulable";
    /// The image cannot be pulled.
    IMAGE_PULL_FAILED = "ImagePullFailed";
    /// The container exits again and again.
    CRASH_LOOP = "CrashLoopBackOff";
    /// The container was killed for using more memory than its limit.
    OOM_KILLED = "OOMKilled";
    /// The kubelet refuses the container's configuration (an image that wants root, say; O-036).
    CONTAINER_CONFIG_ERROR = "CreateContainerConfigError";
    /// The container was lost with its node or container runtime, and is started again.
    CONTAINER_LOST = "ContainerLost";
    /// The pod was taken off its node: evicted, preempted, or the node drained or shut down (O-038).
    EVICTED = "Evicted";
    /// The pod's node does not answer, or is gone.
    NODE_LOST = "NodeLost";
    /// The node refuses the pod that the scheduler gave it.
    REFUSED_BY_NODE = "PodRefusedByNode";
    /// The API server refuses the pod for a quota or policy; the `ReplicaSet` said so (C-032).
    POD_REFUSED = "PodRefused";
    /// A write of ours was refused for now and is retried (C-032).
    WRITE_RETRIED = "WriteRetried";

    /// The runtime's `spec.sandbox.enabled` is unset (C-002, Q12).
    SANDBOXES_DISABLED = "SandboxesDisabled";
    /// The named class does not exist (C-004, Q12).
    CLASS_NOT_FOUND = "ClassNotFound";
    /// The named `AgentRuntime` does not exist (Q13).
    AGENT_RUNTIME_NOT_FOUND = "AgentRuntimeNotFound";
    /// The API server rejected a sandbox object (C-007, C-032).
    SANDBOX_REJECTED = "SandboxRejected";
    /// An object of the claim's name exists and is not ours.
    NAME_CONFLICT = "NameConflict";
    /// An object of the claim's name exists and is an earlier claim's of that name: it is being collected.
    PREVIOUS_OBJECTS_REMAIN = "PreviousObjectsRemain";
    /// Our own RBAC forbids a write (C-032).
    OPERATOR_FORBIDDEN = "OperatorForbidden";
    /// The claim needs proof that the operator wrote it, and none is recorded (P-029).
    PROVENANCE_UNPROVEN = "ProvenanceUnproven";
    /// What the condition `ProvenanceVerified` says of a claim that nobody but the operator can have
    /// written (P-015).
    WRITTEN_BY_OPERATOR = "WrittenByOperator";
    /// Nothing can prove any more that the operator wrote a claim with a configured or session mount
    /// (P-020).
    MOUNT_NOT_GRANTED = "MountNotGranted";
    /// The same of a claim that binds a Connection (P-021).
    CONNECTIONS_NOT_GRANTED = "ConnectionsNotGranted";
    /// The same of a claim that names a `targetPath` (P-022).
    TARGET_PATH_NOT_GRANTED = "TargetPathNotGranted";
    /// The same of an enrolment (P-023).
    ENROLMENT_NOT_GRANTED = "EnrolmentNotGranted";
    /// The claim asks for something that this version does not build yet (C-036).
    PART_NOT_BUILT = "PartNotBuilt";
    /// The class asks for no workspace, the claim mounts one (C-005).
    WORKSPACE_NOT_SUPPORTED = "WorkspaceNotSupported";
    /// The class does not list the role the claim mounts (M-015, Q35).
    MOUNT_NOT_PERMITTED = "MountNotPermitted";
    /// The class does not render to objects.
    INVALID_CLASS = "InvalidClass";
    /// A Service named in `egress.allowedServices` is missing or selects no pods (O-030).
    SERVICE_NOT_FOUND = "AllowedServiceUnresolved";
    /// What the condition `SandboxModified` says after a heal (O-040).
    HEALED = "Healed";
    /// What the condition `SandboxModified` says when an edit came back too often to be healed at once
    /// (O-040).
    HEAL_BACKED_OFF = "HealBackedOff";
    /// What the condition `AllowedServicesResolved` says once every Service is open.
    SERVICES_RESOLVED = "AllowedServicesResolved";
    /// What the condition `ObjectsCurrent` says once the refused write went through.
    OBJECTS_WRITTEN = "ObjectsWritten";
    /// What the condition `Admitted` says (C-012).
    ADMITTED = "Admitted";
    /// The runtime has as many admitted claims as it may have (C-008).
    CEILING_REACHED = "CeilingReached";
    /// The session has as many admitted claims as one may have (C-009).
    SESSION_LIMIT_REACHED = "SessionLimitReached";
    /// The session has as many instances of the sandbox as the claim allows (C-010).
    INSTANCE_LIMIT_REACHED = "InstanceLimitReached";
    /// The workspace's content volume is not there yet (C-023).
    WAITING_FOR_STORAGE = "WaitingForStorage";
    /// The workspace has no storage for content (C-024).
    NO_WORKSPACE_STORAGE = "NoWorkspaceStorage";
    /// The directory that the claim mounts does not exist and its role makes none (M-016).
    MOUNT_NOT_FOUND = "MountNotFound";
    /// The session's directory cannot be served (M-018).
    SESSION_WORKSPACE_UNAVAILABLE = "SessionWorkspaceUnavailable";
    /// The mounted path cannot be used: its text, a recorded `volumeSubPath` that differs, a symbolic
    /// link, or a directory inside or around another claim's (M-019, M-021, M-022).
    INVALID_MOUNT = "InvalidMount";
    /// The claim stayed `Pending` too long.
    SANDBOX_NEVER_READY = "SandboxNeverReady";
    /// The claim stayed `Queued` too long.
    QUEUE_WAIT_EXCEEDED = "QueueWaitExceeded";
    /// What the condition `ProvenanceVerified` says of a claim that was bound before the admission policy
    /// was installed (P-018).
    BOUND_BEFORE_POLICY = "BoundBeforePolicy";
    /// The class needs a session to be fetched, which this installation does not do (C-036).
    SESSION_FETCH_UNAVAILABLE = "SessionFetchUnavailable";
    /// What the condition `ConnectionsCurrent` says once every bound Connection is placed again (Q44).
    CONNECTIONS_PLACED = "ConnectionsPlaced";
    /// What the condition `NetworkPolicyWidened` says while another policy opens the sandbox's pod (O-040).
    NETWORK_POLICY_WIDENED = "NetworkPolicyWidened";
    /// What the same condition says once none does.
    NETWORK_POLICY_NOT_WIDENED = "NetworkPolicyNotWidened";
    /// The claim's egress proxy cannot start, or does not answer.
    EGRESS_PROXY_NOT_READY = "EgressProxyNotReady";
    /// What the condition `EgressProxyReady` says once it answers again.
    EGRESS_PROXY_READY = "EgressProxyReady";
    /// The egress proxy has another address, and the sandbox is started anew to know it (C-034).
    EGRESS_PROXY_MOVED = "EgressProxyMoved";
    /// What the condition `InsecureEgressTestHosts` says while test hosts can be reached (E-036).
    INSECURE_EGRESS_TEST_HOSTS_ENABLED = "InsecureEgressTestHostsEnabled";
    /// What it says while the Service of one is not there or lacks what is needed (E-033).
    INSECURE_EGRESS_TEST_FIXTURE_UNRESOLVED = "InsecureEgressTestFixtureUnresolved";
    /// What it says where a real host beside them keeps the fixture's key from being trusted (E-035).
    INSECURE_EGRESS_TEST_SPKI_WITHHELD = "InsecureEgressTestSPKIWithheld";
    /// What it says once no Connection of the claim names a test host any more.
    NO_INSECURE_EGRESS_TEST_HOSTS = "NoInsecureEgressTestHosts";
    /// A bound role is missing from the class's `connections` (K-012).
    CONNECTION_ROLE_UNDECLARED = "ConnectionRoleUndeclared";
    /// A required role has no Connection (K-013).
    CONNECTION_ROLE_UNBOUND = "ConnectionRoleUnbound";
    /// The bound Connection is not in the claim's namespace (K-014).
    CONNECTION_NOT_FOUND = "ConnectionNotFound";
    /// A role without `session` is bound to a browser session (K-015).
    CONNECTION_KIND_NOT_ACCEPTED = "ConnectionKindNotAccepted";
    /// Two bound Connections place the same variable, or files of which one is or holds the other (K-016).
    CONNECTION_PLACEMENT_COLLISION = "ConnectionPlacementCollision";
    /// The Secret of a Connection does not exist (K-017).
    CONNECTION_SECRET_NOT_FOUND = "ConnectionSecretNotFound";
    /// The Secret of a Connection lacks a key that is placed (K-018).
    CONNECTION_SECRET_KEY_MISSING = "ConnectionSecretKeyMissing";
    /// A file's template does not parse, or names a key that the Secret lacks (K-019).
    CONNECTION_TEMPLATE_INVALID = "ConnectionTemplateInvalid";
    /// Two bound Connections are browser sessions (K-020).
    CONNECTION_SESSION_CONFLICT = "ConnectionSessionConflict";
    /// The host of a signed-out URL is not among the Connection's hosts (K-021).
    CONNECTION_SIGNED_OUT_HOST_UNREACHABLE = "ConnectionSignedOutHostUnreachable";
    /// A placement sets a variable that the operator or the class sets (K-022).
    CONNECTION_ENV_RESERVED = "ConnectionEnvReserved";
    /// A placed file is, or is inside, a directory that a variable of the class points into (K-023).
    CONNECTION_PATH_RESERVED = "ConnectionPathReserved";
    /// Files are placed and the class sets no HOME (K-024).
    CONNECTION_FILES_UNSUPPORTED = "ConnectionFilesUnsupported";
}

/// A webhook configuration of ours is gone.
pub const WEBHOOK_CONFIGURATION_MISSING: &str = "WebhookConfigurationMissing";
/// A webhook configuration holds the rules of another version of Sandgate.
pub const WEBHOOK_CONFIGURATION_REPLACED: &str = "WebhookConfigurationReplaced";
/// Somebody else's webhook or policy may rewrite objects of our kinds.
pub const FOREIGN_MUTATOR: &str = "ForeignMutator";
