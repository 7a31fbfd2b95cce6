//! What a writer is warned of, and nothing is refused for. Data only.

use super::{
    check::Check,
    row::{Row, for_kinds, warning},
    verdict::Subject,
};

/// The table.
pub(super) const ROWS: &[Row] = &for_kinds(
    &[Subject::Connection],
    [warning(
        "connection-shared-session",
        Check::Cel(
            "!has(self.credential.browserSession) || !has(self.credential.browserSession.scope) || self.credential.browserSession.scope != 'shared'",
        ),
        ".credential.browserSession.scope",
        "shared lets every user of bound agents browse as one account",
        "leave scope out, so that each user signs in for themselves, unless that is meant",
        &["W-026"],
    )],
);
