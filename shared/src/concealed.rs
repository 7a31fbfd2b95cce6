//! Values that are shown to nobody: what a Secret holds, and what is made of it (K-032). Data only.

use std::fmt;

use secrecy::{ExposeSecret, SecretSlice};

/// Bytes that no log, condition or Event may hold. There is no `Display` and no `Serialize`, and `Debug`
/// tells nothing, not even their number; the memory is cleared when they are dropped.
pub struct Concealed(SecretSlice<u8>);

impl Concealed {
    /// The bytes themselves: for what is sent to the API server as the content of a Secret.
    pub fn reveal(&self) -> &[u8] {
        self.0.expose_secret()
    }
}

impl From<Vec<u8>> for Concealed {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl Clone for Concealed {
    fn clone(&self) -> Self {
        Self::from(self.reveal().to_vec())
    }
}

impl PartialEq for Concealed {
    fn eq(&self, other: &Self) -> bool {
        self.reveal() == other.reveal()
    }
}

impl Eq for Concealed {}

impl fmt::Debug for Concealed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Concealed")
    }
}
