//! Changes of a few objects, for those who read them anew whenever there is one. Does I/O.

use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use kube::api::Api;
use kube::core::DynamicObject;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watch_object, watcher};

use crate::api_server::{ApiServer, Place};
use crate::cause;
use crate::kind::Kind;
use crate::metrics::Metrics;
use crate::watch::back_off;

/// A change of the object at `place`, its coming and going included.
pub(crate) fn of_object(
    api: &ApiServer,
    metrics: &Metrics,
    place: Place<'_>,
) -> BoxStream<'static, ()> {
    let objects = api.objects(place.kind, place.namespace);
    let seen = watch_object(objects, place.name).backoff(back_off());
    changes(seen, place.kind, metrics.clone(), |_| true)
}

/// A change of any of these objects; one for all that stood at first.
pub(crate) fn of_kind(
    objects: Api<DynamicObject>,
    metrics: &Metrics,
    kind: Kind,
) -> BoxStream<'static, ()> {
    let seen = watcher(objects, watcher::Config::default()).backoff(back_off());
    changes(seen, kind, metrics.clone(), |event| {
        matches!(event, Event::InitDone | Event::Apply(_) | Event::Delete(_))
    })
}

fn changes<T: Send + 'static>(
    seen: impl Stream<Item = watcher::Result<T>> + Send + 'static,
    kind: Kind,
    metrics: Metrics,
    counts: impl Fn(&T) -> bool + Send + 'static,
) -> BoxStream<'static, ()> {
    let mut last_cause = None;
    let told = seen.filter_map(move |seen| {
        std::future::ready(match seen {
            Ok(seen) => counts(&seen).then(|| last_cause = None),
            Err(error) => {
                metrics.watch_failed(kind);
                // One that is refused is refused every time: it says so once.
                let error = Some(cause::of_watch(&error));
                if last_cause != error {
                    let kind = kind.as_str();
                    tracing::info!(kind, error, "a watch broke and is started again");
                    last_cause = error;
                }
                None
            }
        })
    });
    told.boxed()
}
