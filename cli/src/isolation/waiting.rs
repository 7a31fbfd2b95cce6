//! Waiting for what an object becomes, by a watch. Does I/O.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Error, watch_object};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::trouble::{Trouble, chain};

/// Why there was nothing to wait for, or nothing came in time.
#[derive(Debug)]
pub enum Vain {
    /// The object may not be read, which waiting does not change.
    MayNot(Trouble),
    /// It was not in time. If the watch itself was in trouble at the end: how.
    Late(Option<String>),
}

impl Vain {
    /// What is known of it where it was late, with the trouble of the watch; an error where it may
    /// not be read.
    pub fn late(self, known: String) -> Result<String, Trouble> {
        match self {
            Self::MayNot(trouble) => Err(trouble),
            Self::Late(None) => Ok(known),
            Self::Late(Some(watch)) => Ok(format!("{known} (its watch failed: {watch})")),
        }
    }

    /// The trouble that this is: `late` makes it of what is known, where it was late.
    pub fn or(self, known: String, late: impl FnOnce(String) -> Trouble) -> Trouble {
        self.late(known).map_or_else(|trouble| trouble, late)
    }
}

/// Follows one object until `decide` has an answer.
///
/// A watch that fails begins anew, at growing distances; one that is forbidden ends the wait.
pub async fn follow<K, T>(
    api: Api<K>,
    name: &str,
    patience: Duration,
    mut decide: impl FnMut(Option<&K>) -> Option<T>,
) -> Result<T, Vain>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut changes = std::pin::pin!(watch_object(api, name).default_backoff());
    let mut trouble = None;
    let answer = async {
        while let Some(change) = changes.next().await {
            match change {
                Ok(object) => {
                    trouble = None;
                    if let Some(answer) = decide(object.as_ref()) {
                        return Ok(answer);
                    }
                }
                Err(error) => {
                    let forbidden = forbidden(&error);
                    let message = chain(&error);
                    if forbidden {
                        let what = format!("watch {} {name}", K::kind(&()));
                        return Err(Vain::MayNot(Trouble::MayNot { what, message }));
                    }
                    trouble = Some(message);
                }
            }
        }
        Err(Vain::Late(None))
    };
    match tokio::time::timeout(patience, answer).await {
        Ok(answered) => answered,
        Err(_) => Err(Vain::Late(trouble)),
    }
}

fn forbidden(error: &Error) -> bool {
    let code = match error {
        Error::InitialListFailed(kube::Error::Api(status))
        | Error::WatchStartFailed(kube::Error::Api(status))
        | Error::WatchError(status) => status.code,
        _ => return false,
    };
    matches!(code, 401 | 403)
}

#[cfg(test)]
mod tests;
