//! The rules of both class kinds. Data only; one list for both, so that they cannot diverge (T-004).

use super::{
    check::Check,
    quantities,
    row::{Binds, Moment, Node, Reason, Row, for_kinds, on_spec, warning, webhook_only},
    state_files, templates,
    verdict::Subject,
};

const CLASSES: &[Subject] = &[Subject::SandboxClass, Subject::ClusterSandboxClass];
const FILESYSTEM: &[Node] = &[Node {
    path: "spec.filesystem",
    binds: Binds::Itself,
}];
const SCRATCH: &[Node] = &[SCRATCH_VOLUME];
/// What is mounted where the class says.
const MOUNTED: &[Node] = &[
    Node {
        path: "spec.filesystem.workspace",
        binds: Binds::It,
    },
    SCRATCH_VOLUME,
];
const SCRATCH_VOLUME: Node = Node {
    path: "spec.filesystem.scratch",
    binds: Binds::EachItem,
};
const NEW_CLASS: &str = "create a new class instead";
const ARGUMENT: &str = "must be a Go text/template of fields, index, if, with, range, pipelines, comparisons, printf, print and len";

/// The table.
pub(super) const ROWS: &[Row] = &for_kinds(
    CLASSES,
    [
        on_spec(
            "class-limits",
            "(has(self.trusted) && self.trusted) || (has(self.resources) && has(self.resources.limits) && 'cpu' in self.resources.limits && 'memory' in self.resources.limits)",
            ".resources.limits",
            Reason::Required,
            "agent-directed code needs both a cpu and a memory limit",
            "set limits.cpu and limits.memory, or trusted: true for first-party code",
            &["T-047", "T-048", "W-021"],
        ),
        on_spec(
            "class-limits-above-zero",
            "(has(self.trusted) && self.trusted) || !has(self.resources) || !has(self.resources.limits) || ['cpu', 'memory'].all(name, !(name in self.resources.limits) || !string(self.resources.limits[name]).matches('^(-|[+]?[0.]+([^0-9.]|$))'))",
            ".resources.limits",
            Reason::Invalid,
            "a cpu or memory limit of 0 is no limit, and a negative one is none either",
            "set limits above 0, or trusted: true for first-party code",
            &["T-047", "W-021"],
        ),
        webhook_only(
            "class-requests",
            Check::Rust(quantities::requests),
            ".resources.requests",
            Reason::Invalid,
            "a request is a quantity of at least 0 and at most the limit of the same resource",
            "lower the request, raise the limit, or leave the request out: it then equals the limit",
            &["T-047", "W-020"],
        ),
        webhook_only(
            "class-limits-quantity",
            Check::Rust(quantities::limits),
            ".resources.limits",
            Reason::Invalid,
            "a limit is a quantity whose exponent, if any, is a whole number of at most 9 digits",
            "write it like 500m or 4Gi",
            &["T-047", "W-020"],
        ),
        Row {
            nodes: SCRATCH,
            ..webhook_only(
                "class-scratch-quantity",
                Check::Rust(quantities::size),
                ".sizeLimit",
                Reason::Invalid,
                "a size is a quantity whose exponent, if any, is a whole number of at most 9 digits",
                "write it like 1Gi",
                &["T-046", "W-020"],
            )
        },
        Row {
            nodes: SCRATCH,
            // Not in CEL: API servers up to 1.33 take a size to be as long as a whole request, and refuse
            // the CRD for what looking into it could cost.
            ..webhook_only(
                "class-scratch-size",
                Check::Rust(quantities::nothing),
                ".sizeLimit",
                Reason::Invalid,
                "a scratch volume needs a size above 0",
                "write it like 1Gi",
                &["T-046", "W-020"],
            )
        },
        Row {
            nodes: SCRATCH,
            ..on_spec(
                "class-scratch-name-reserved",
                "!it.name.startsWith('sandgate-')",
                ".name",
                Reason::Forbidden,
                "names that start with sandgate- are kept for the operator's own volumes",
                "give the volume another name",
                &["T-079", "W-020"],
            )
        },
        Row {
            nodes: FILESYSTEM,
            ..on_spec(
                "class-scratch-names-unique",
                "!has(self.scratch) || self.scratch.all(a, self.scratch.exists_one(b, b.name == a.name))",
                ".scratch",
                Reason::Duplicate,
                "two scratch volumes have the same name",
                "give each its own",
                &["T-079", "W-020"],
            )
        },
        Row {
            nodes: MOUNTED,
            ..on_spec(
                "class-mount-path",
                "it.mountPath.matches('^(/[^/:[:cntrl:]]+)+$') && !it.mountPath.matches('/[.]{1,2}(/|$)')",
                ".mountPath",
                Reason::Invalid,
                "must be an absolute path below '/', without empty, '.' or '..' segments, a '/' at the end, ':' or control characters",
                "write it like /workspace",
                &["T-079", "W-020"],
            )
        },
        Row {
            nodes: FILESYSTEM,
            ..on_spec(
                "class-mount-paths-disjoint",
                "!has(self.scratch) || self.scratch.all(a, self.scratch.exists_one(b, (a.mountPath + '/').startsWith(b.mountPath + '/') || (b.mountPath + '/').startsWith(a.mountPath + '/')) && (!has(self.workspace) || !((a.mountPath + '/').startsWith(self.workspace.mountPath + '/') || (self.workspace.mountPath + '/').startsWith(a.mountPath + '/'))))",
                ".scratch",
                Reason::Invalid,
                "no two of the workspace and the scratch volumes may be mounted at one path or one inside another",
                "give each a mountPath of its own, such as /workspace and /scratch",
                &["T-079", "W-020"],
            )
        },
        on_spec(
            "class-state-file",
            "!has(self.connections) || self.connections.all(c, !has(c.session) || !has(c.session.stateFile) || (c.session.stateFile.matches('^(/[^/[:cntrl:]]+)+$') && !c.session.stateFile.matches('/[.]{1,2}(/|$)') && has(self.filesystem) && has(self.filesystem.scratch) && self.filesystem.scratch.exists(s, c.session.stateFile.startsWith(s.mountPath + '/'))))",
            ".connections",
            Reason::Invalid,
            "a stateFile must be an absolute, normalised path below the mountPath of one of the class's scratch volumes",
            "put it on a scratch volume of medium Memory, like /session/state.json",
            &["T-056", "W-020"],
        ),
        on_spec(
            "class-resource-claims",
            "!has(self.resources) || !has(self.resources.claims) || self.resources.claims.size() == 0",
            ".resources.claims",
            Reason::Forbidden,
            "a sandbox takes no dynamic resource claims",
            "leave the field out",
            &["T-079"],
        ),
        Row {
            nodes: &[Node {
                path: "spec.env",
                binds: Binds::EachItem,
            }],
            ..on_spec(
                "class-env-reserved",
                "!it.name.matches('^(HTTPS?_PROXY|https?_proxy|NO_PROXY|no_proxy|OMNIA_INSECURE_TEST_(FIXTURES|SPKI))$')",
                ".name",
                Reason::Forbidden,
                "the operator alone sets the proxy and test-fixture variables of a sandbox",
                "leave the variable out; hosts are opened by Connections",
                &["T-040", "T-041"],
            )
        },
        on_spec(
            "class-readiness-port",
            "!has(self.readiness) || !has(self.readiness.port) || self.ports.exists(p, p.name == self.readiness.port)",
            ".readiness.port",
            Reason::Invalid,
            "must be the name of one of the class's ports",
            "name a port of spec.ports, or leave it out to probe the first",
            &["T-043"],
        ),
        on_spec(
            "class-view-port",
            "!has(self.view) || self.ports.exists(p, p.name == self.view.port)",
            ".view.port",
            Reason::Invalid,
            "must be the name of one of the class's ports",
            "name a port of spec.ports",
            &["T-057"],
        ),
        on_spec(
            "class-enrolment-view",
            "!has(self.enrolment) || has(self.view)",
            ".view",
            Reason::Required,
            "a class for enrolments needs a live view to sign in through",
            "set view.port, or drop enrolment",
            &["T-058"],
        ),
        Row {
            nodes: &[Node {
                path: "spec.connections",
                binds: Binds::EachItem,
            }],
            ..webhook_only(
                "class-session-args",
                Check::Rust(templates::of_a_role),
                ".session.args",
                Reason::Invalid,
                ARGUMENT,
                "write it like --state={{.StateFile}}",
                &["T-055", "B-009"],
            )
        },
        Row {
            nodes: &[Node {
                path: "spec.enrolment.args",
                binds: Binds::EachItem,
            }],
            ..webhook_only(
                "class-enrolment-args",
                Check::Rust(templates::of_an_argument),
                "",
                Reason::Invalid,
                ARGUMENT,
                "write it like --start={{.StartURL}}",
                &["T-058", "N-010"],
            )
        },
        warning(
            "class-args-not-given",
            Check::Rust(templates::beyond_what_is_given),
            ".connections.session.args",
            "names what its template is not given, so claims will fail",
            "session.args are given Connection, SignedOutPrefixes and StateFile; enrolment.args Connection, StartURL, StateDomains, MaxDuration, StateEndpoint and TokenFile",
            &["B-009", "N-010", "N-011"],
        ),
        warning(
            "class-session-on-disk",
            Check::Rust(state_files::on_disk),
            ".connections.session.stateFile",
            "is on a volume that writes sessions to the node's disk",
            "put it on a scratch volume with medium: Memory, such as /tmp",
            &["T-056"],
        ),
        Row {
            nodes: &[Node {
                path: "spec.mounts",
                binds: Binds::EachItem,
            }],
            ..on_spec(
                "class-mount-role",
                "it.role != 'session'",
                ".role",
                Reason::Forbidden,
                "a class does not name role session: a session mount needs only scratch",
                "use scratch or a configured mount role",
                &["T-053"],
            )
        },
        Row {
            nodes: &[Node {
                path: "spec.ports",
                binds: Binds::EachItem,
            }],
            ..on_spec(
                "class-port-name",
                "it.name.matches('^[a-z0-9]+(-[a-z0-9]+)*$') && it.name.matches('[a-z]')",
                ".name",
                Reason::Invalid,
                "a port name holds lower-case letters, digits and single '-' between them, at least one letter and at most 15 characters",
                "write it like mcp",
                &["T-078"],
            )
        },
        on_spec(
            "class-port-names-unique",
            "self.ports.all(p, self.ports.exists_one(q, q.name == p.name))",
            ".ports",
            Reason::Duplicate,
            "two ports have the same name",
            "addresses are published by port name: give each its own",
            &["T-078"],
        ),
        on_spec(
            "class-port-numbers-unique",
            "self.ports.all(p, self.ports.exists_one(q, q.port == p.port))",
            ".ports",
            Reason::Duplicate,
            "two ports have the same number",
            "give each its own",
            &["T-078"],
        ),
        Row {
            moment: Moment::Change,
            ..on_spec(
                "class-ports-immutable",
                "self.ports == oldSelf.ports",
                ".ports",
                Reason::Forbidden,
                "cannot be changed, added to or reordered once the class exists, since live claims depend on them",
                NEW_CLASS,
                &["T-042", "T-078", "W-022"],
            )
        },
        Row {
            moment: Moment::Change,
            ..on_spec(
                "class-workspace-immutable",
                "(has(self.filesystem) && has(self.filesystem.workspace)) == (has(oldSelf.filesystem) && has(oldSelf.filesystem.workspace))",
                ".filesystem",
                Reason::Forbidden,
                "whether a class has filesystem.workspace cannot be changed once it exists, since live claims depend on it",
                NEW_CLASS,
                &["T-044", "W-022"],
            )
        },
    ],
);
