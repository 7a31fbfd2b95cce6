//! What to do about the certificates now. Pure: the clock and everything known are arguments.
//!
//! ```text
//!  CA     none valid ─▶ make one           two thirds of its life over ─▶ make a second, publish it
//!  leaf   none that works ─▶ at once, from the CA most likely to be trusted
//!         two thirds over, or a newer CA has stood everywhere for a minute ─▶ from that CA, else
//!         from its own, if that outlives it
//!  CA     expired ─▶ retired
//! ```

use std::time::SystemTime;

use crate::certificate::{Certificate, Fingerprint, canonical_host};
use crate::store::{Authority, Leaf, Stored};
use crate::trust::{self, StandingSince};

/// What [`crate::issue::carry_out`] is to do. Default: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// CAs to drop: they have expired.
    pub retire: Vec<Fingerprint>,
    /// Whether to make a new CA, and why.
    pub authority: Option<AuthorityReason>,
    /// Whether to make a new leaf, from which CA, and why.
    pub leaf: Option<(Signer, LeafReason)>,
    /// Whether the Secret holds things to be cleared away.
    pub clear_unreadable: bool,
}

impl Plan {
    /// Whether the Secret may stay as it is.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Who signs the new leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signer {
    /// The CA that the same plan makes.
    New,
    /// A CA that is stored.
    Stored(Fingerprint),
}

/// Why a CA is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorityReason {
    /// No stored CA is valid now.
    NoneValid,
    /// Two thirds of the newest one's life are over.
    RenewalDue,
}

/// Why a leaf is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafReason {
    /// There is none, or it cannot be read.
    Missing,
    /// It has expired or is not valid yet.
    NotValidNow,
    /// No valid stored CA signed it.
    NotOurs,
    /// It does not hold for every name that is wanted.
    NamesMissing,
    /// Two thirds of its life are over.
    RenewalDue,
    /// A newer CA has settled in every `caBundle`.
    NewerAuthority,
}

/// Decides what to do (X-012). `names`: each host that the webhook configurations name; with none,
/// no leaf is made. `standing`: how long each CA has stood in every `caBundle`. `now` is best the clock of those who verify:
/// the API server's.
pub fn plan(now: SystemTime, stored: &Stored, names: &[String], standing: &StandingSince) -> Plan {
    let retire = stored
        .authorities
        .iter()
        .map(|authority| &authority.certificate)
        .filter(|certificate| certificate.not_after() <= now)
        .map(|certificate| certificate.fingerprint().clone())
        .collect();
    let valid: Vec<&Authority> = stored
        .authorities
        .iter()
        .filter(|authority| authority.certificate.is_valid_at(now))
        .collect();
    let authority = match valid.last() {
        None => Some(AuthorityReason::NoneValid),
        Some(newest) if newest.certificate.renewal_due() <= now => {
            Some(AuthorityReason::RenewalDue)
        }
        Some(_) => None,
    };
    Plan {
        retire,
        authority,
        leaf: if names.is_empty() {
            None
        } else {
            plan_leaf(now, stored.leaf.as_ref(), &valid, names, standing)
        },
        clear_unreadable: !stored.unreadable.is_empty(),
    }
}

fn plan_leaf(
    now: SystemTime,
    leaf: Option<&Leaf>,
    valid: &[&Authority],
    names: &[String],
    standing: &StandingSince,
) -> Option<(Signer, LeafReason)> {
    let settled = valid
        .iter()
        .rev()
        .map(|authority| authority.certificate.fingerprint())
        .find(|fingerprint| standing.is_settled(fingerprint));
    match state(now, leaf, valid, names) {
        // Nothing works as it is, so waiting for a CA to settle would help nobody: take the CA that
        // API servers most likely know already.
        Err(reason) => {
            let known = valid
                .iter()
                .rev()
                .map(|authority| authority.certificate.fingerprint())
                .find(|fingerprint| standing.stands(fingerprint));
            let newest = valid
                .last()
                .map(|authority| authority.certificate.fingerprint());
            let signer = settled
                .or(known)
                .or(newest)
                .cloned()
                .map_or(Signer::New, Signer::Stored);
            Some((signer, reason))
        }
        Ok((leaf, issuer)) => {
            let newer = settled
                .filter(|settled| position(valid, settled) > position(valid, issuer.fingerprint()));
            // Its own CA is trusted as long as the leaf is, so a renewal waits for nothing: leaders
            // that change often must not cost the leaf. One that ends with that CA would only be made
            // again and again.
            let outlives = issuer.not_after() > leaf.not_after();
            let (signer, reason) = match newer {
                Some(newer) if leaf.renewal_due() <= now => (newer, LeafReason::RenewalDue),
                Some(newer) => (newer, LeafReason::NewerAuthority),
                None if leaf.renewal_due() <= now && outlives => {
                    (issuer.fingerprint(), LeafReason::RenewalDue)
                }
                None => return None,
            };
            Some((Signer::Stored(signer.clone()), reason))
        }
    }
}

/// The leaf and its issuer, if it works for every name now; else why not.
fn state<'a>(
    now: SystemTime,
    leaf: Option<&'a Leaf>,
    valid: &[&'a Authority],
    names: &[String],
) -> Result<(&'a Certificate, &'a Certificate), LeafReason> {
    let leaf = &leaf.ok_or(LeafReason::Missing)?.certificate;
    if !leaf.is_valid_at(now) {
        return Err(LeafReason::NotValidNow);
    }
    let covers = |host: &String| leaf.names().contains(&canonical_host(host));
    if !names.iter().all(covers) {
        return Err(LeafReason::NamesMissing);
    }
    let chain = [leaf.der().clone()];
    let signed = |authority: &&&'a Authority| {
        let bundle = std::slice::from_ref(&authority.certificate);
        names
            .iter()
            .all(|host| trust::verify(&chain, bundle, &canonical_host(host), now).is_ok())
    };
    let issuer = valid.iter().rev().find(signed).ok_or(LeafReason::NotOurs)?;
    Ok((leaf, &issuer.certificate))
}

fn position(valid: &[&Authority], fingerprint: &Fingerprint) -> Option<usize> {
    valid
        .iter()
        .position(|authority| authority.certificate.fingerprint() == fingerprint)
}

#[cfg(test)]
mod schedules;
#[cfg(test)]
mod tests;
