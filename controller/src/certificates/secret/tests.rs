use std::time::{Duration, SystemTime};

use kube::core::DynamicObject;
use sandgate_certs::directory::{CERTIFICATE, TlsFiles};
use sandgate_certs::issue::{self, Lifetimes};
use sandgate_certs::plan::plan;
use sandgate_certs::store::Stored;
use sandgate_certs::trust::StandingSince;
use serde_json::json;

use super::{expiry, object, read};

fn stored(now: SystemTime) -> Stored {
    let hosts = ["127.0.0.1".to_owned()];
    let plan = plan(now, &Stored::default(), &hosts, &StandingSince::default());
    issue::carry_out(&plan, &Stored::default(), &hosts, Lifetimes::default(), now).unwrap()
}

// Proves: X-012
#[test]
fn the_secret_reads_back_as_it_was_written() {
    let stored = stored(SystemTime::now());
    assert!(stored.leaf.is_some());
    let secret = object(None, "ns", "s", &stored);
    assert_eq!(read(&secret).unwrap(), stored);
}

#[test]
fn a_secret_is_written_over_the_one_that_was_read() {
    let standing: DynamicObject = serde_json::from_value(json!({
        "metadata": {"name": "s", "namespace": "ns", "uid": "u", "resourceVersion": "7",
            "labels": {"theirs": "x"}},
        "data": {"odd": "eA=="},
    }))
    .unwrap();
    let stored = stored(SystemTime::now());
    let next = object(Some(&standing), "ns", "s", &stored);
    assert_eq!(next.metadata.uid.as_deref(), Some("u"));
    assert_eq!(next.metadata.resource_version.as_deref(), Some("7"));
    let labels = next.metadata.labels.clone().unwrap();
    assert_eq!(labels.get("theirs").map(String::as_str), Some("x"));
    assert!(next.data["data"].get("odd").is_none());
}

#[test]
fn an_empty_secret_holds_nothing_and_an_odd_one_is_an_error() {
    let secret = |data| -> DynamicObject {
        serde_json::from_value(json!({"metadata": {"name": "s"}, "data": data})).unwrap()
    };
    assert_eq!(read(&secret(json!(null))).unwrap(), Stored::default());
    assert!(read(&secret(json!({"tls.crt": "not base64!"}))).is_err());
}

#[test]
fn the_expiry_is_that_of_the_leaf() {
    let now = SystemTime::now();
    let leaf = stored(now).leaf.unwrap();
    let files = TlsFiles {
        certificate: leaf.certificate.pem(),
        key: leaf.key,
        authorities: String::new(),
        server_names: vec![CERTIFICATE.to_owned()],
    };
    let since_epoch = now.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let expected = since_epoch + Lifetimes::default().leaf;
    assert!(expiry(&files).unwrap().abs_diff(expected) < Duration::from_secs(2));
    let broken = TlsFiles {
        certificate: "no PEM".to_owned(),
        ..files
    };
    assert_eq!(expiry(&broken), None);
}
