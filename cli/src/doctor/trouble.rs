//! Why it could not be looked: one sentence each, with the way out. Pure.

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Sandgate is not there.
    #[error(
        "Sandgate is not installed here: no Deployment bears app.kubernetes.io/name=sandgate and app.kubernetes.io/component=operator{0}; install its chart first"
    )]
    NotInstalled(String),
    /// It is there more than once.
    #[error("Sandgate is installed in more than one namespace ({0}); name one by --namespace")]
    Several(String),
    /// Rights are missing.
    #[error("may not {0}; run it as somebody who may, such as an administrator")]
    MayNot(String),
    /// The API server answered with something else.
    #[error("failed to {what}: {message}")]
    Failed {
        /// What was tried.
        what: String,
        /// What the API server said, or what happened to the connection.
        message: String,
    },
}
