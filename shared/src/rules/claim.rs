//! The rules of `SandboxClaim` that need only the claim. Data only.

use super::{
    row::{Binds, Moment, Node, Reason, Row, for_kinds, on_spec},
    verdict::Subject,
};

const CLAIM: &[Subject] = &[Subject::SandboxClaim];
const BINDINGS: &[Node] = &[
    Node {
        path: "spec.mounts",
        binds: Binds::EachItem,
    },
    Node {
        path: "spec.mount",
        binds: Binds::It,
    },
];

const DELETE_AND_CREATE: &str = "delete this claim and create a new one";
const OMIT: &str = "leave the field out";

/// A row about one binding, in `mounts` and in the deprecated `mount` alike.
const fn on_bindings(
    id: &'static str,
    expression: &'static str,
    field: &'static str,
    reason: Reason,
    sentence: &'static str,
    remedy: &'static str,
    requirements: &'static [&'static str],
) -> Row {
    Row {
        nodes: BINDINGS,
        ..on_spec(
            id,
            expression,
            field,
            reason,
            sentence,
            remedy,
            requirements,
        )
    }
}

/// A row that freezes one field: set, unset and changed are all refused, whoever asks (W-009). An empty
/// text or list and `false` are as good as absent; a present object is not.
const fn frozen(id: &'static str, expression: &'static str, field: &'static str) -> Row {
    Row {
        moment: Moment::Change,
        ..on_spec(
            id,
            expression,
            field,
            Reason::Forbidden,
            "cannot be added, removed or changed once the claim exists",
            DELETE_AND_CREATE,
            &["W-009", "W-010"],
        )
    }
}

/// The table.
pub(super) const ROWS: &[Row] = &for_kinds(
    CLAIM,
    [
        Row {
            moment: Moment::Create,
            nodes: &[Node {
                path: "",
                binds: Binds::Itself,
            }],
            ..on_spec(
                "claim-name",
                "self.metadata.name.matches('^[a-z]([-a-z0-9]{0,53}[a-z0-9])?$')",
                ".metadata.name",
                Reason::Invalid,
                "the name must start with a lower-case letter, hold only lower-case letters, digits and '-', not end with '-' and be at most 55 characters long, so that <claim>-sandbox is a valid Service name",
                "choose a shorter or plainer name",
                &["T-077", "O-003"],
            )
        },
        on_spec(
            "claim-runtime-or-enrolment",
            "has(self.agentRuntimeRef) != has(self.enrolment)",
            ".agentRuntimeRef",
            Reason::Invalid,
            "exactly one of agentRuntimeRef and enrolment must be set",
            "name the AgentRuntime the sandbox serves",
            &["T-007", "T-028", "W-011"],
        ),
        on_spec(
            "claim-handle",
            "!has(self.handle) || self.handle.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",
            ".handle",
            Reason::Invalid,
            "must be <sandbox>/<instance>, two DNS labels of lower-case letters, digits and '-'",
            "write it like codegen/default",
            &["T-011", "W-011"],
        ),
        on_spec(
            "claim-target-path",
            "!has(self.targetPath) || (!self.targetPath.matches('(^|/)[.]{0,2}(/|$)') && !self.targetPath.matches('[[:cntrl:]\\\\\\\\]'))",
            ".targetPath",
            Reason::Invalid,
            "must be relative to the workspace's content, without empty, '.' or '..' segments, backslashes or control characters",
            "write it like projects/checkout-service",
            &["T-012", "W-011"],
        ),
        on_spec(
            "claim-one-mount-form",
            "!has(self.mount) || !has(self.mounts) || self.mounts.size() == 0",
            ".mount",
            Reason::Forbidden,
            "mount is the deprecated form of mounts and may not be set beside it",
            "keep mounts",
            &["T-020", "W-011"],
        ),
        on_bindings(
            "claim-mount-role",
            "!has(it.role) || it.role == '' || it.role.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",
            ".role",
            Reason::Invalid,
            "a mount role is a DNS label of at most 63 lower-case letters, digits and '-'",
            "use scratch, session or a configured mount role",
            &["T-014", "W-011"],
        ),
        on_bindings(
            "claim-mount-id-required",
            "!has(it.role) || it.role in ['', 'scratch', 'session'] || (has(it.id) && it.id != '')",
            ".id",
            Reason::Required,
            "a configured mount role needs the id of what it mounts",
            "set id, or use role scratch",
            &["T-015", "W-011"],
        ),
        on_bindings(
            "claim-mount-id-refused",
            "(has(it.role) && !(it.role in ['', 'scratch', 'session'])) || !has(it.id) || it.id == ''",
            ".id",
            Reason::Forbidden,
            "roles scratch and session take no id: their directories follow from the claim itself",
            OMIT,
            &["T-015", "W-011"],
        ),
        on_bindings(
            "claim-mount-path-required",
            "!has(it.role) || it.role in ['', 'scratch', 'session'] || (has(it.path) && it.path != '')",
            ".path",
            Reason::Required,
            "a configured mount role needs the path the operator resolved it to",
            "use role scratch; what resolves the path, the Sandbox API, is not part of this version",
            &["T-016", "W-011"],
        ),
        on_bindings(
            "claim-mount-path-refused",
            "(has(it.role) && !(it.role in ['', 'scratch', 'session'])) || !has(it.path) || it.path == ''",
            ".path",
            Reason::Forbidden,
            "roles scratch and session take no path: their directories follow from the claim itself",
            OMIT,
            &["T-016", "W-011"],
        ),
        on_bindings(
            "claim-mount-path",
            "!has(it.path) || it.path == '' || (!it.path.matches('(^|/)[.]{0,2}(/|$)') && !it.path.matches('[[:cntrl:]\\\\\\\\]'))",
            ".path",
            Reason::Invalid,
            "must be relative to the workspace's content, without empty, '.' or '..' segments, backslashes or control characters",
            "write it like arena/workspaces/shop",
            &["T-016", "W-011"],
        ),
        on_bindings(
            "claim-mount-must-exist",
            "(has(it.role) && !(it.role in ['', 'scratch', 'session'])) || !has(it.mustExist) || !it.mustExist",
            ".mustExist",
            Reason::Forbidden,
            "roles scratch and session take no mustExist: the operator makes their directories",
            OMIT,
            &["T-017", "W-011"],
        ),
        on_spec(
            "claim-session-mount-handle",
            "has(self.handle) || !((has(self.mounts) && self.mounts.exists(m, has(m.role) && m.role == 'session')) || (has(self.mount) && has(self.mount.role) && self.mount.role == 'session'))",
            ".handle",
            Reason::Required,
            "a session mount is placed by runtime, session and handle, so it needs a handle",
            "set handle, or use role scratch",
            &["T-013", "W-011"],
        ),
        on_spec(
            "claim-enrolment-duration",
            "!has(self.enrolment) || !has(self.enrolment.maxDuration) || (self.enrolment.maxDuration.matches('^([0-9]{1,4}([.][0-9]{1,9})?(h|m|s|ms))+$') && duration(self.enrolment.maxDuration) >= duration('1m') && duration(self.enrolment.maxDuration) <= duration('20m'))",
            ".enrolment.maxDuration",
            Reason::Invalid,
            "must be a duration from 1m to 20m",
            "write it like 15m",
            &["T-027", "W-011"],
        ),
        on_spec(
            "claim-enrolment-connection",
            "!has(self.enrolment) || (has(self.connections) && self.connections.size() == 1 && self.connections.all(c, c.connection == self.enrolment.connection))",
            ".connections",
            Reason::Invalid,
            "an enrolment binds exactly one Connection, the one enrolment.connection names",
            "bind that Connection and no other",
            &["T-028", "W-011"],
        ),
        on_spec(
            "claim-enrolment-alone",
            "!has(self.enrolment) || (!has(self.mount) && !has(self.targetPath) && (!has(self.mounts) || self.mounts.size() == 0))",
            ".enrolment",
            Reason::Forbidden,
            "an enrolment has no workspace: mounts, mount and targetPath may not be set beside it",
            "drop them",
            &["T-028", "W-011"],
        ),
        frozen(
            "claim-runtime-immutable",
            "has(self.agentRuntimeRef) == has(oldSelf.agentRuntimeRef) && (!has(self.agentRuntimeRef) || self.agentRuntimeRef.name == oldSelf.agentRuntimeRef.name)",
            ".agentRuntimeRef",
        ),
        frozen(
            "claim-class-immutable",
            "self.classRef.name == oldSelf.classRef.name && (has(self.classRef.kind) ? self.classRef.kind : 'SandboxClass') == (has(oldSelf.classRef.kind) ? oldSelf.classRef.kind : 'SandboxClass')",
            ".classRef",
        ),
        frozen(
            "claim-session-immutable",
            "self.sessionID == oldSelf.sessionID",
            ".sessionID",
        ),
        frozen(
            "claim-handle-immutable",
            "(has(self.handle) ? self.handle : '') == (has(oldSelf.handle) ? oldSelf.handle : '')",
            ".handle",
        ),
        frozen(
            "claim-target-path-immutable",
            "(has(self.targetPath) ? self.targetPath : '') == (has(oldSelf.targetPath) ? oldSelf.targetPath : '')",
            ".targetPath",
        ),
        frozen(
            "claim-mounts-immutable",
            "(has(self.mounts) ? self.mounts.size() : 0) == (has(oldSelf.mounts) ? oldSelf.mounts.size() : 0) && (!has(self.mounts) || self.mounts.all(m, oldSelf.mounts.exists(n, (has(m.role) ? m.role : '') == (has(n.role) ? n.role : '') && (has(m.id) ? m.id : '') == (has(n.id) ? n.id : '') && (has(m.path) ? m.path : '') == (has(n.path) ? n.path : '') && (has(m.mustExist) && m.mustExist) == (has(n.mustExist) && n.mustExist))))",
            ".mounts",
        ),
        frozen(
            "claim-mount-immutable",
            "has(self.mount) == has(oldSelf.mount) && (!has(self.mount) || ((has(self.mount.role) ? self.mount.role : '') == (has(oldSelf.mount.role) ? oldSelf.mount.role : '') && (has(self.mount.id) ? self.mount.id : '') == (has(oldSelf.mount.id) ? oldSelf.mount.id : '') && (has(self.mount.path) ? self.mount.path : '') == (has(oldSelf.mount.path) ? oldSelf.mount.path : '') && (has(self.mount.mustExist) && self.mount.mustExist) == (has(oldSelf.mount.mustExist) && oldSelf.mount.mustExist)))",
            ".mount",
        ),
        frozen(
            "claim-connections-immutable",
            "(has(self.connections) ? self.connections.size() : 0) == (has(oldSelf.connections) ? oldSelf.connections.size() : 0) && (!has(self.connections) || !has(oldSelf.connections) || self.connections.all(c, oldSelf.connections.exists(d, d.role == c.role && d.connection == c.connection)))",
            ".connections",
        ),
        frozen(
            "claim-declared-by-immutable",
            "(has(self.declaredBy) ? self.declaredBy : '') == (has(oldSelf.declaredBy) ? oldSelf.declaredBy : '')",
            ".declaredBy",
        ),
        frozen(
            "claim-max-instances-immutable",
            "has(self.maxInstances) == has(oldSelf.maxInstances) && (!has(self.maxInstances) || self.maxInstances == oldSelf.maxInstances)",
            ".maxInstances",
        ),
        frozen(
            "claim-enrolment-immutable",
            "has(self.enrolment) == has(oldSelf.enrolment) && (!has(self.enrolment) || self.enrolment == oldSelf.enrolment || (self.enrolment.connection == oldSelf.enrolment.connection && (has(self.enrolment.subject) ? self.enrolment.subject : '') == (has(oldSelf.enrolment.subject) ? oldSelf.enrolment.subject : '') && [(has(self.enrolment.maxDuration) ? self.enrolment.maxDuration : '15m'), (has(oldSelf.enrolment.maxDuration) ? oldSelf.enrolment.maxDuration : '15m')].all(d, d.matches('^([0-9]{1,4}([.][0-9]{1,9})?(h|m|s|ms))+$')) && duration((has(self.enrolment.maxDuration) ? self.enrolment.maxDuration : '15m')) == duration((has(oldSelf.enrolment.maxDuration) ? oldSelf.enrolment.maxDuration : '15m'))))",
            ".enrolment",
        ),
    ],
);
