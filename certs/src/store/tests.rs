use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::issue;

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(500_000)
}

fn sample() -> Stored {
    let life = Duration::from_hours(24);
    let old = issue::authority(life, now()).unwrap();
    let new = issue::authority(2 * life, now() + life / 2).unwrap();
    let leaf = issue::leaf(&old, &["a.example".to_owned()], life, now()).unwrap();
    Stored {
        authorities: vec![old, new],
        leaf: Some(leaf),
        unreadable: Vec::new(),
    }
}

// Proves: X-012
#[test]
fn what_is_stored_is_what_is_read() {
    let stored = sample();
    assert_eq!(Stored::from_data(&stored.to_data()), stored);
}

#[test]
fn an_empty_secret_is_nothing_stored() {
    assert_eq!(Stored::from_data(&BTreeMap::new()), Stored::default());
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_kept() {
    let stored = sample();
    let mut data = stored.to_data();
    data.insert(
        "tls.crt".to_owned(),
        ByteString(b"not a certificate".to_vec()),
    );
    data.insert("ca-beef.crt".to_owned(), ByteString(vec![0xff, 0x00]));
    data.insert("stray.key".to_owned(), ByteString(Vec::new()));
    let read = Stored::from_data(&data);
    assert_eq!(read.authorities, stored.authorities);
    assert_eq!(read.leaf, None);
    let named: Vec<&str> = read
        .unreadable
        .iter()
        .map(|line| line.split(':').next().unwrap())
        .collect();
    assert_eq!(named, ["ca-beef.crt", "stray.key", "tls.crt"]);
}

#[test]
fn a_key_of_another_certificate_is_not_taken() {
    let stored = sample();
    let mut data = stored.to_data();
    let strange = stored.authorities[0].key.expose().as_bytes().to_vec();
    data.insert("tls.key".to_owned(), ByteString(strange));
    let read = Stored::from_data(&data);
    assert_eq!(read.leaf, None);
    assert!(
        read.unreadable[0].contains("does not belong"),
        "{:?}",
        read.unreadable
    );
}

#[test]
fn a_leaf_put_in_the_place_of_a_ca_is_not_taken() {
    let stored = sample();
    let mut data = stored.to_data();
    let leaf = stored.leaf.as_ref().unwrap();
    data.insert(
        "ca-0.crt".to_owned(),
        ByteString(leaf.certificate.pem().into_bytes()),
    );
    data.insert(
        "ca-0.key".to_owned(),
        ByteString(leaf.key.expose().as_bytes().to_vec()),
    );
    assert_eq!(Stored::from_data(&data).authorities, stored.authorities);
}

// Proves: X-012
#[test]
fn the_bundle_holds_every_ca_that_has_not_expired() {
    let stored = sample();
    let read = |at| Certificate::read_all(stored.bundle(at).as_bytes()).unwrap();
    assert_eq!(read(now()).len(), 2);
    let later = read(now() + Duration::from_hours(24));
    assert_eq!(later, vec![stored.authorities[1].certificate.clone()]);
}
