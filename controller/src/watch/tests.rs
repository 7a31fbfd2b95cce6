//! What follows when a watch cannot be had, and what is kept of metadata.

use std::{future, io};

use http::{Request, Response};
use kube::client::Body;
use kube::core::Status;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use rstest::rstest;
use serde_json::json;
use tokio::sync::mpsc;

use super::*;
use crate::key::Key;

fn intake(source: Source) -> Intake {
    Intake {
        source,
        watches: Arc::default(),
        metrics: Metrics::register(&mut Registry::default()),
    }
}

fn refusal(code: u16) -> watcher::Error {
    let status: Status =
        serde_json::from_value(json!({"code": code, "status": "Failure"})).unwrap();
    watcher::Error::InitialListFailed(kube::Error::Api(Box::new(status)))
}

#[rstest]
#[case::not_served(Source::Workspaces, 404, true)]
#[case::forbidden(Source::Workspaces, 403, false)]
#[case::down(Source::Workspaces, 503, false)]
#[case::not_served_but_ours(Source::Claims, 404, false)]
#[case::not_served_but_needed(Source::Runtimes, 404, false)]
fn of_a_kind_that_need_not_be_served_there_are_none(
    #[case] source: Source,
    #[case] code: u16,
    #[case] listed: bool,
) {
    let intake = intake(source);
    assert_eq!(intake.broke(&refusal(code)), BTreeSet::new());
    assert_eq!(!intake.watches.synced.missing().contains(&source), listed);
}

// Proves: C-008
#[test]
fn runtimes_are_in_doubt_again_once_their_watch_breaks_or_has_listed_them() {
    let runtimes = intake(Source::Runtimes);
    let claims = Intake {
        watches: Arc::clone(&runtimes.watches),
        ..intake(Source::Claims)
    };
    let runtime = json!({"apiVersion": "omnia.altairalabs.ai/v1alpha1", "kind": "AgentRuntime",
        "metadata": {"name": "rt", "namespace": "ns", "uid": "u", "resourceVersion": "7"}, "spec": {}});
    let runtime: DynamicObject = serde_json::from_value(runtime).unwrap();
    let key = Key::new("ns", "rt");
    let confirmed = &runtimes.watches.confirmed;
    let settle = || confirmed.settle(confirmed.doubt(&key).unwrap());
    let list = || {
        runtimes.event(Event::Init);
        runtimes.event(Event::InitApply(runtime.clone()));
        runtimes.event(Event::InitDone);
    };
    // Before the first list nothing is known for longer than the moment it is read.
    settle();
    settle();
    list();
    settle();
    assert!(confirmed.doubt(&key).is_none());
    list();
    settle();
    claims.broke(&refusal(503));
    runtimes.event(Event::Apply(runtime.clone()));
    runtimes.event(Event::Delete(runtime.clone()));
    assert!(confirmed.doubt(&key).is_none());
    // Nor is it while a watch that broke has not told anything again.
    runtimes.broke(&refusal(503));
    settle();
    settle();
    runtimes.event(Event::Apply(runtime));
    settle();
    assert!(confirmed.doubt(&key).is_none());
}

// Proves: C-008
#[test]
fn what_is_read_for_a_doubt_does_not_settle_a_later_one() {
    let (confirmed, key) = (Confirmed::default(), Key::new("ns", "rt"));
    let doubt = confirmed.doubt(&key).unwrap();
    confirmed.doubt_all();
    confirmed.told();
    confirmed.settle(doubt);
    assert!(confirmed.doubt(&key).is_some());
    assert!(confirmed.doubt(&Key::new("ns", "other")).is_some());
}

#[test]
fn of_metadata_no_annotation_is_taken_in() {
    let object = json!({
        "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
        "metadata": {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7",
            "labels": {"kept": "yes"}, "annotations": {"last-applied": "s3cret"},
            "managedFields": [{"manager": "kubectl"}]},
    });
    let object = serde_json::from_value(object).unwrap();
    let Event::Apply(bare) = metadata_alone(Event::Apply(object)) else {
        panic!("an event became another");
    };
    let left = serde_json::to_value(&bare.metadata).unwrap();
    let expected = json!({"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7",
        "labels": {"kept": "yes"}});
    assert_eq!(left, expected);
}

// Proves: K-029
#[rstest]
#[case::secrets(Source::Secrets, true)]
#[case::volume_claims(Source::ContentClaims, true)]
#[case::connections(Source::Connections, false)]
#[tokio::test]
async fn the_api_server_is_asked_for_no_more_than_is_kept(
    #[case] source: Source,
    #[case] metadata_only: bool,
) {
    let (asked, mut asks) = mpsc::channel(1);
    let service = tower::service_fn(move |request: Request<Body>| {
        let accept = request.headers().get(http::header::ACCEPT);
        let accept = accept.map(|accept| accept.to_str().unwrap().to_owned());
        let told = asked.try_send(accept.unwrap_or_default());
        async move {
            told.map_err(io::Error::other)?;
            future::pending::<io::Result<Response<Body>>>().await
        }
    });
    let metrics = Metrics::register(&mut Registry::default());
    let api = ApiServer::new(kube::Client::new(service, "default"), metrics.clone());
    let following = tokio::spawn(follow(source, Arc::default(), api, metrics));
    let accept = asks.recv().await.unwrap();
    following.abort();
    assert_eq!(
        accept.contains("PartialObjectMetadata"),
        metadata_only,
        "{source:?} is asked for as {accept}"
    );
}

#[test]
fn an_object_that_cannot_be_read_is_counted_and_its_listing_is_whole_without_it() {
    // No UID, and words where there should be fields.
    let odd = json!({"apiVersion": "v1", "kind": "Odd", "spec": "words", "status": "words",
        "metadata": {"name": "odd-sandbox", "namespace": "ns", "resourceVersion": "8"}});
    let odd: DynamicObject = serde_json::from_value(odd).unwrap();
    for source in Source::ALL {
        let mut registry = Registry::default();
        let intake = Intake {
            metrics: Metrics::register(&mut registry),
            ..intake(source)
        };
        for event in [
            Event::Init,
            Event::InitApply(odd.clone()),
            Event::InitDone,
            Event::Apply(odd.clone()),
        ] {
            intake.event(event);
        }
        let missing = intake.watches.synced.missing();
        assert!(!missing.contains(&source), "{source:?}");
        let mut page = String::new();
        encode(&mut page, &registry).unwrap();
        let kind = source.kind().as_str();
        let counted = |line: &str| {
            let of_kind = line.contains("undecodable") && line.contains(&format!("\"{kind}\""));
            of_kind && line.ends_with(" 2")
        };
        // Of these nothing is read but their metadata, which is always one.
        let metadata_alone = source.metadata_only() || source == Source::Namespaces;
        assert_eq!(page.lines().any(counted), !metadata_alone, "{source:?}");
    }
}
