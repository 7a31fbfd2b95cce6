//! Canonical host names, and the entries of a Connection that cover them (T-059, Q11, E-021). Pure.
//!
//! A host has one form: ASCII, lower case, no trailing dot. Everything that compares hosts compares
//! this form, so no two parts can disagree about what a name means. A name in other letters comes as
//! its `xn--` form, which is compared as it stands.

use std::str::FromStr;

use thiserror::Error;

use super::label::{self, LONGEST_NAME, is_label};

/// Why a text is no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// Longer than DNS can carry.
    #[error("failed to read a host: it is longer than {LONGEST_NAME} characters")]
    Long,
    /// Two labels at least: a single one is a name inside some cluster or machine.
    #[error("failed to read a host: it needs at least two labels, like example.com")]
    Labels,
    /// A label that is empty, too long or holds what no label may.
    #[error(
        "failed to read a host: between dots stand 1 to {} letters, digits and '-', with a letter or digit at both ends",
        label::LONGEST
    )]
    Label,
    /// The last label does not begin with a letter, as in every form of an IPv4 address.
    #[error(
        "failed to read a host: its last label must begin with a letter; an address is no host"
    )]
    Address,
}

/// A host in its canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host(String);

impl Host {
    /// The canonical form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Host {
    type Err = HostError;

    /// Reads a host in any case, with or without one trailing dot.
    fn from_str(text: &str) -> Result<Self, HostError> {
        let text = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if text.len() > LONGEST_NAME {
            return Err(HostError::Long);
        }
        if !text.split('.').all(is_label) {
            return Err(HostError::Label);
        }
        let (_, last) = text.rsplit_once('.').ok_or(HostError::Labels)?;
        if !last.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(HostError::Address);
        }
        Ok(Self(text))
    }
}

/// An entry of a Connection's `hosts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostEntry {
    /// This host and no other.
    Exactly(Host),
    /// Every host below this one, at any depth, and never itself: `*.example.com`.
    Below(Host),
}

impl HostEntry {
    /// Whether a sandbox bound to this entry may reach `host`.
    pub fn covers(&self, host: &Host) -> bool {
        match self {
            Self::Exactly(ours) => ours == host,
            Self::Below(apex) => host
                .as_str()
                .strip_suffix(apex.as_str())
                .is_some_and(|below| below.ends_with('.')),
        }
    }

    /// The host that is written, without the `*.` before it.
    pub fn host(&self) -> &Host {
        match self {
            Self::Exactly(host) | Self::Below(host) => host,
        }
    }
}

impl FromStr for HostEntry {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        match text.strip_prefix("*.") {
            Some(apex) => apex.parse().map(Self::Below),
            None => text.parse().map(Self::Exactly),
        }
    }
}

/// Whether entries of a Connection let a sandbox reach `page`, an https URL without user and port.
pub fn reached<'h>(hosts: impl IntoIterator<Item = &'h str>, page: &str) -> bool {
    let rest = page.strip_prefix("https://").unwrap_or_default();
    let host = rest.split('/').next().unwrap_or_default().parse::<Host>();
    host.is_ok_and(|host| {
        let mut entries = hosts.into_iter().map(str::parse::<HostEntry>);
        entries.any(|entry| entry.is_ok_and(|entry| entry.covers(&host)))
    })
}
