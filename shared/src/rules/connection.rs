//! The rules of `Connection` (T-059 to T-076). Data only.

use super::{
    check::Check,
    row::{Binds, Moment, Node, Reason, Row, for_kinds, on_spec, webhook_only},
    templates,
    verdict::Subject,
};

const BROWSER_SESSION: &[Node] = &[itself("spec.credential.browserSession")];
const GIT_HOST: &[Node] = &[itself("spec.credential.gitHost")];
const OAUTH: &[Node] = &[itself("spec.credential.gitHost.oauth")];
const ENCRYPTION: &[Node] = &[
    itself("spec.credential.browserSession.encryption"),
    itself("spec.credential.gitHost.encryption"),
];
const URL_PREFIXES: &[Node] = &[each(
    "spec.credential.browserSession.signedOutWhen.urlPrefixes",
)];
const VARIABLES: &[Node] = &[each("spec.placement.env")];
const FILES: &[Node] = &[each("spec.placement.files")];

const OMIT: &str = "leave the field out";
const NEW_CONNECTION: &str = "delete this Connection and create a new one";
const PAGE: &str = "must be https://, a host in lower case and at most a path, without port, user, query or fragment; other characters of the path are percent-encoded";
const WRITE_A_PAGE: &str = "write it like https://portal.example.com/login";

/// A pattern of the path of a URL, or of none (RFC 3986, 3.3).
macro_rules! path {
    () => {
        "(/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?"
    };
}

/// A pattern of a page that a browser may be sent to: its host as in `hosts`, without a wildcard.
macro_rules! page {
    () => {
        concat!(
            "\"^https://([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?[.])+[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
            path!(),
            "$\""
        )
    };
}

const fn itself(path: &'static str) -> Node {
    Node {
        path,
        binds: Binds::Itself,
    }
}

const fn each(path: &'static str) -> Node {
    Node {
        path,
        binds: Binds::EachItem,
    }
}

/// A row that freezes one field of a part of the credential, whoever asks (W-025).
const fn frozen(
    id: &'static str,
    nodes: &'static [Node],
    expression: &'static str,
    field: &'static str,
    requirements: &'static [&'static str],
) -> Row {
    Row {
        moment: Moment::Change,
        nodes,
        ..on_spec(
            id,
            expression,
            field,
            Reason::Forbidden,
            "cannot be changed once the Connection exists, since what users stored under it depends on it",
            NEW_CONNECTION,
            requirements,
        )
    }
}

/// The table.
pub(super) const ROWS: &[Row] = &for_kinds(
    &[Subject::Connection],
    [
        on_spec(
            "connection-secret-required",
            "self.credential.kind != 'secret' || has(self.credential.secretRef)",
            ".credential.secretRef",
            Reason::Required,
            "a credential of kind secret needs the name of its Secret",
            "set secretRef.name to a Secret in this namespace",
            &["T-061", "W-024"],
        ),
        on_spec(
            "connection-secret-refused",
            "self.credential.kind == 'secret' || !has(self.credential.secretRef)",
            ".credential.secretRef",
            Reason::Forbidden,
            "only a credential of kind secret names a Secret here",
            OMIT,
            &["T-061", "W-024"],
        ),
        on_spec(
            "connection-placement",
            "self.credential.kind == 'secret' || !has(self.placement)",
            ".placement",
            Reason::Forbidden,
            "only a credential of kind secret is placed in the sandbox",
            OMIT,
            &["T-062", "W-024"],
        ),
        on_spec(
            "connection-browser-session-required",
            "self.credential.kind != 'browserSession' || has(self.credential.browserSession)",
            ".credential.browserSession",
            Reason::Required,
            "a credential of kind browserSession needs its settings",
            "set browserSession.encryption at least",
            &["T-062", "W-024"],
        ),
        on_spec(
            "connection-browser-session-refused",
            "self.credential.kind == 'browserSession' || !has(self.credential.browserSession)",
            ".credential.browserSession",
            Reason::Forbidden,
            "only a credential of kind browserSession has these settings",
            OMIT,
            &["T-062", "W-024"],
        ),
        on_spec(
            "connection-git-host-required",
            "self.credential.kind != 'gitHost' || has(self.credential.gitHost)",
            ".credential.gitHost",
            Reason::Required,
            "a credential of kind gitHost needs its settings",
            "set gitHost.provider and gitHost.encryption at least",
            &["T-062", "W-024"],
        ),
        on_spec(
            "connection-git-host-refused",
            "self.credential.kind == 'gitHost' || !has(self.credential.gitHost)",
            ".credential.gitHost",
            Reason::Forbidden,
            "only a credential of kind gitHost has these settings",
            OMIT,
            &["T-062", "W-024"],
        ),
        Row {
            moment: Moment::Change,
            ..on_spec(
                "connection-kind-immutable",
                "!(oldSelf.credential.kind in ['browserSession', 'gitHost']) || self.credential.kind == oldSelf.credential.kind",
                ".credential.kind",
                Reason::Forbidden,
                "browserSession and gitHost cannot become another kind, since users stored sessions or accounts under it",
                NEW_CONNECTION,
                &["T-063", "W-025"],
            )
        },
        frozen(
            "connection-scope-immutable",
            BROWSER_SESSION,
            "(has(self.scope) ? self.scope : 'perUser') == (has(oldSelf.scope) ? oldSelf.scope : 'perUser')",
            ".scope",
            &["T-064", "W-025"],
        ),
        frozen(
            "connection-kms-provider-immutable",
            ENCRYPTION,
            "self.kmsProvider == oldSelf.kmsProvider",
            ".kmsProvider",
            &["T-068", "W-025"],
        ),
        frozen(
            "connection-key-immutable",
            ENCRYPTION,
            "self.keyID == oldSelf.keyID",
            ".keyID",
            &["T-068", "W-025"],
        ),
        frozen(
            "connection-git-provider-immutable",
            GIT_HOST,
            "self.provider == oldSelf.provider",
            ".provider",
            &["T-069", "W-025"],
        ),
        Row {
            nodes: URL_PREFIXES,
            ..on_spec(
                "connection-url-prefix",
                concat!("it.matches(", page!(), ")"),
                "",
                Reason::Invalid,
                PAGE,
                WRITE_A_PAGE,
                &["T-065", "W-024"],
            )
        },
        Row {
            nodes: BROWSER_SESSION,
            ..on_spec(
                "connection-sign-in-url",
                concat!(
                    "!has(self.signInURL) || self.signInURL.matches(",
                    page!(),
                    ")"
                ),
                ".signInURL",
                Reason::Invalid,
                PAGE,
                WRITE_A_PAGE,
                &["T-066", "W-024"],
            )
        },
        Row {
            nodes: GIT_HOST,
            ..on_spec(
                "connection-oauth-required",
                "self.provider == 'token' || has(self.oauth)",
                ".oauth",
                Reason::Required,
                "users of github and gitlab link their accounts through an OAuth app",
                "set oauth.clientID and oauth.clientSecretRef, or use provider: token",
                &["T-070", "W-024"],
            )
        },
        Row {
            nodes: GIT_HOST,
            ..on_spec(
                "connection-oauth-refused",
                "self.provider != 'token' || !has(self.oauth)",
                ".oauth",
                Reason::Forbidden,
                "users of provider token paste a token of their own, through no OAuth app",
                OMIT,
                &["T-070", "W-024"],
            )
        },
        Row {
            nodes: OAUTH,
            ..on_spec(
                "connection-base-url",
                concat!(
                    "!has(self.baseURL) || self.baseURL.matches(\"^https://[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?([.][A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?)*(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?",
                    path!(),
                    "$\")"
                ),
                ".baseURL",
                Reason::Invalid,
                "must be https://, a host and at most a port and a path, without user, query or fragment",
                "write it like https://github.example.com, or leave it out for github.com or gitlab.com",
                &["T-072", "W-024"],
            )
        },
        Row {
            nodes: VARIABLES,
            ..on_spec(
                "connection-env-reserved",
                "!it.name.matches('^(HOME|HTTPS?_PROXY|https?_proxy|NO_PROXY|no_proxy|OMNIA_INSECURE_TEST_(FIXTURES|SPKI))$')",
                ".name",
                Reason::Forbidden,
                "HOME is the class's, and the operator alone sets the proxy and test-fixture variables of a sandbox",
                "place the key under another name",
                &["T-074", "W-024"],
            )
        },
        Row {
            nodes: FILES,
            ..on_spec(
                "connection-file-source",
                "has(it.key) != has(it.template)",
                ".key",
                Reason::Invalid,
                "a placed file needs exactly one of key and template",
                "set key for the bytes of one key, or template to write several",
                &["T-075", "W-024"],
            )
        },
        Row {
            nodes: FILES,
            ..webhook_only(
                "connection-file-template",
                Check::Rust(templates::of_a_file),
                ".template",
                Reason::Invalid,
                "must be a Go text/template of fields, index, if, with, range, pipelines, comparisons, printf, print and len",
                "write it like https://{{.user}}:{{.token}}@github.com, or use key",
                &["T-075", "W-024"],
            )
        },
        Row {
            nodes: FILES,
            ..on_spec(
                "connection-file-path",
                "!it.path.matches('(^|/)[.]{0,2}(/|$)') && !it.path.matches('[[:cntrl:]\\\\\\\\]')",
                ".path",
                Reason::Invalid,
                "must be relative to HOME, without empty, '.' or '..' segments, backslashes or control characters",
                "write it like .config/tool/token",
                &["T-076", "W-024"],
            )
        },
    ],
);
