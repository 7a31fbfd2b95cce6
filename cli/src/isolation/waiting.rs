//! Waiting for what an object becomes, by a watch. Does I/O.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::watcher::watch_object;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

/// Follows one object until `decide` has an answer; `None` if it has none in time.
///
/// Trouble of the watch itself is waited out: it starts again by itself.
pub async fn follow<K, T>(
    api: Api<K>,
    name: &str,
    patience: Duration,
    mut decide: impl FnMut(Option<&K>) -> Option<T>,
) -> Option<T>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut changes = std::pin::pin!(watch_object(api, name));
    let answer = async {
        while let Some(change) = changes.next().await {
            if let Ok(object) = change
                && let Some(answer) = decide(object.as_ref())
            {
                return Some(answer);
            }
        }
        None
    };
    tokio::time::timeout(patience, answer).await.unwrap_or(None)
}
