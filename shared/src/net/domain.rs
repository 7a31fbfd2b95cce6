//! Registrable domains, by the public suffix list (N-012, Q58). Pure.
//!
//! The list is compiled in: it is the one of the `psl` release that `Cargo.lock` pins, so every
//! binary of a build agrees, and no network is asked. Its private section counts, as it does for the
//! cookies of a browser: `someone.github.io` is a domain of its own, `github.io` is nobody's.

use super::host::Host;

/// The part of `host` that somebody registered, such as `example.co.uk` of `login.example.co.uk`;
/// none where the host is itself a public suffix.
pub fn registrable(host: &Host) -> Option<&str> {
    psl::domain_str(host.as_str())
}
