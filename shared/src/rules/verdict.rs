//! What is judged and what comes out: values only. Data only.

use serde_json::Value;

/// The kinds Sandgate judges (T-001).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// `sandboxclaims`
    SandboxClaim,
    /// `sandboxclasses`
    SandboxClass,
    /// `clustersandboxclasses`
    ClusterSandboxClass,
    /// `connections`
    Connection,
}

impl Subject {
    /// All kinds, in the order they are documented.
    pub const ALL: [Self; 4] = [
        Self::SandboxClaim,
        Self::SandboxClass,
        Self::ClusterSandboxClass,
        Self::Connection,
    ];

    /// The kind as written in manifests.
    pub fn kind(self) -> &'static str {
        match self {
            Self::SandboxClaim => "SandboxClaim",
            Self::SandboxClass => "SandboxClass",
            Self::ClusterSandboxClass => "ClusterSandboxClass",
            Self::Connection => "Connection",
        }
    }

    /// The resource as written in URLs and RBAC.
    pub fn plural(self) -> &'static str {
        match self {
            Self::SandboxClaim => "sandboxclaims",
            Self::SandboxClass => "sandboxclasses",
            Self::ClusterSandboxClass => "clustersandboxclasses",
            Self::Connection => "connections",
        }
    }

    /// The kind named `kind`, if it is one of ours.
    pub fn from_kind(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.kind() == kind)
    }
}

/// What the request does. PATCH and apply arrive as one of these two; deletion is never judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A change of a stored object.
    Update,
}

impl Operation {
    /// As the API server writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
        }
    }
}

/// Which of the two webhook calls asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the schema: defaults are filled in, and every violation is told at once.
    Mutating,
    /// After the schema: the object as it will be stored.
    Validating,
}

/// One write, as raw JSON: unknown fields survive, are compared and are never dropped by a patch.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The kind written.
    pub subject: Subject,
    /// Create or update.
    pub operation: Operation,
    /// `None` for the object itself, `Some("status")` for its status.
    pub subresource: Option<&'a str>,
    /// Which webhook call this is.
    pub phase: Phase,
    /// The object as sent.
    pub object: &'a Value,
    /// The object as stored; present exactly on update.
    pub old_object: Option<&'a Value>,
    /// `request.userInfo` as the API server authenticated it.
    pub user_info: &'a Value,
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Path as the user typed it: `spec.mounts[0].role`.
    pub field: String,
    /// Kebab-case id of the row, printed in brackets at the end of a denial.
    pub rule: String,
    /// `FieldValueInvalid`, `FieldValueRequired`, `FieldValueForbidden`, …
    pub reason: &'static str,
    /// Sentence and way out, without path and without id.
    pub message: String,
    /// Whether it is the writer's identity that is wrong (403), rather than the object (422).
    pub identity: bool,
}

/// The answer to one [`Attempt`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// All broken rules, ordered by path; empty means admitted.
    pub violations: Vec<Violation>,
    /// At most 120 characters each.
    pub warnings: Vec<String>,
    /// RFC 6902 operations that fill in defaults; empty unless mutating and admitted.
    pub patch: Vec<json_patch::PatchOperation>,
    /// Rules that could not be evaluated: our own fault, answered with 500.
    pub faults: Vec<String>,
}
