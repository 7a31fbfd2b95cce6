//! What the writer of a Connection is warned of, and nothing is refused for. Data only.

use super::{
    check::Check,
    hosts,
    row::{Binds, Node, Row, for_kinds, warning},
    verdict::Subject,
};

/// The table.
pub(super) const ROWS: &[Row] = &for_kinds(
    &[Subject::Connection],
    [
        warning(
            "connection-shared-session",
            Check::Cel(
                "!has(self.credential.browserSession) || !has(self.credential.browserSession.scope) || self.credential.browserSession.scope != 'shared'",
            ),
            ".credential.browserSession.scope",
            "shared lets every user of bound agents browse as one account",
            "leave scope out, so that each user signs in for themselves, unless that is meant",
            &["W-026"],
        ),
        warning(
            "connection-sign-in-host",
            Check::Rust(hosts::of_the_sign_in_page),
            ".credential.browserSession.signInURL",
            "its host is not covered by hosts, so no enrolment can start",
            "add the host to spec.hosts",
            &["W-027"],
        ),
        warning(
            "connection-signed-out-host",
            Check::Rust(hosts::of_the_signed_out_pages),
            ".credential.browserSession.signedOutWhen.urlPrefixes",
            "hosts do not cover its host, so claims will fail",
            "add the host to spec.hosts; a claim that binds the Connection fails ConnectionSignedOutHostUnreachable until then",
            &["W-028"],
        ),
        warning(
            "connection-session-of-nobody",
            Check::Rust(hosts::of_nobody),
            ".hosts",
            "is a public suffix, where nobody has a domain: no enrolment can keep a session of it",
            "name the host itself, such as someone.github.io instead of *.github.io",
            &["N-012"],
        ),
        Row {
            nodes: &[
                Node {
                    path: "spec.credential.browserSession.encryption",
                    binds: Binds::Itself,
                },
                Node {
                    path: "spec.credential.gitHost.encryption",
                    binds: Binds::Itself,
                },
            ],
            ..warning(
                "connection-local-key",
                Check::Cel("self.kmsProvider != 'local'"),
                ".kmsProvider",
                "local is a key in a Secret and no KMS: never in production",
                "create the Connection with a real KMS; the provider cannot be changed later",
                &["W-029"],
            )
        },
    ],
);
