//! What is asked for, and how asking can fail. Pure.

use std::time::Duration;

use kube::core::Status;

use crate::kind::Kind;

/// A request that did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The API server said no.
    #[error("the API server answered {} {}: {}", .0.code, .0.reason, .0.message)]
    Refused(Box<Status>),
    /// No answer in time; the request may have been carried out.
    #[error("the API server did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The request or its answer was lost; the request may have been carried out.
    #[error("failed to talk to the API server")]
    Lost(#[source] kube::Error),
}

impl CallError {
    /// The refusal, if it is one.
    pub fn refusal(&self) -> Option<&Status> {
        match self {
            Self::Refused(status) => Some(status),
            Self::TimedOut(_) | Self::Lost(_) => None,
        }
    }

    /// Whether an object of that name exists already.
    pub fn is_already_exists(&self) -> bool {
        self.refusal().is_some_and(Status::is_already_exists)
    }

    /// Whether there is no such object. A kind that is not served, or a namespace that is gone, is
    /// another matter: then the answer does not name the object.
    pub fn is_not_found(&self) -> bool {
        let named = |status: &Status| {
            let details = status.details.as_ref();
            details.is_some_and(|details| !details.name.is_empty() && details.kind != "namespaces")
        };
        self.refusal()
            .is_some_and(|status| status.is_not_found() && named(status))
    }

    /// Whether the API server does not serve the kind at all, asked for an object of it.
    pub fn is_not_served(&self) -> bool {
        let unnamed = |status: &Status| {
            let details = status.details.as_ref();
            details.is_none_or(|details| details.name.is_empty())
        };
        self.refusal()
            .is_some_and(|status| status.is_not_found() && unnamed(status))
    }

    /// Whether somebody else's write came first, or a precondition does not hold.
    pub fn is_conflict(&self) -> bool {
        self.refusal().is_some_and(Status::is_conflict)
    }
}

/// Where an object is kept: a name, and a namespace unless its kind has none.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// What it is.
    pub kind: Kind,
    /// Where it is, if its kind is namespaced.
    pub namespace: Option<&'a str>,
    /// What it is called.
    pub name: &'a str,
}

impl<'a> Place<'a> {
    /// A place in a namespace.
    pub fn namespaced(kind: Kind, namespace: &'a str, name: &'a str) -> Self {
        Self {
            kind,
            namespace: Some(namespace),
            name,
        }
    }

    /// A place of a kind that has no namespaces.
    pub fn cluster(kind: Kind, name: &'a str) -> Self {
        Self {
            kind,
            namespace: None,
            name,
        }
    }

    /// Whether an object can bear the name: a DNS subdomain, which holds for every kind we read.
    ///
    /// Some names are typed by whoever writes a claim, and a name becomes part of a URL: one like
    /// `?watch=true` or `a/status` would turn our request into another.
    pub fn can_exist(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let label = |label: &str| {
            let ends = [label.bytes().next(), label.bytes().last()];
            ends.into_iter().all(|end| end.is_some_and(plain))
                && label.bytes().all(|byte| plain(byte) || byte == b'-')
        };
        self.name.len() <= 253 && self.name.split('.').all(label)
    }
}

#[cfg(test)]
mod tests;
