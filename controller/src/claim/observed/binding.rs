//! What was found of a Connection that a claim binds. Data.

use sandgate_shared::{
    api::ConnectionSpec,
    checks::{Bound, SecretKeys},
};

/// One entry of the claim's `connections`, read from the API server in this very pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The role.
    pub role: String,
    /// Name of the Connection, in the claim's namespace and nowhere else (K-014).
    pub connection: String,
    /// The Connection, if it exists.
    pub found: Option<ConnectionSpec>,
    /// The Secret it names, if that exists.
    pub secret: Option<SecretKeys>,
}

impl Binding {
    /// As the checks take it.
    pub fn bound(&self) -> Bound<'_> {
        Bound {
            role: &self.role,
            connection: &self.connection,
            found: self.found.as_ref(),
            secret: self.secret.as_ref(),
        }
    }
}
