//! What a request asks for. Pure.

use std::fmt;

use http::{Method, Uri};

/// One request, as far as its fate may depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `GET`, `POST`, …
    pub method: Method,
    /// `/apis/apps/v1/namespaces/x/deployments`
    pub path: String,
    /// `limit=500`, without the question mark.
    pub query: String,
}

/// Kinds of requests that fail in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Anything about the Lease that says who leads.
    Lease,
    /// Changes as they come.
    Watch,
    /// A list: an API server may answer the one a watch begins with from a cache.
    List,
    /// Anything else that is read.
    Read,
    /// A write.
    Write,
}

impl Asked {
    /// What this request asks for.
    pub fn of(method: &Method, uri: &Uri) -> Self {
        Self {
            method: method.clone(),
            path: uri.path().to_owned(),
            query: uri.query().unwrap_or_default().to_owned(),
        }
    }

    /// Of which kind it is.
    pub fn question(&self) -> Question {
        let says = |word: &str| self.query.split('&').any(|pair| pair.starts_with(word));
        if self.path.contains("/coordination.k8s.io/") {
            Question::Lease
        } else if self.method != Method::GET && self.method != Method::HEAD {
            Question::Write
        } else if says("watch=") {
            Question::Watch
        } else if says("limit=") {
            Question::List
        } else {
            Question::Read
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}
