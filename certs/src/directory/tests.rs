use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::issue;
use crate::store::{Authority, Leaf};

const LIFE: Duration = Duration::from_hours(24);

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(500_000)
}

fn names() -> Vec<String> {
    vec!["127.0.0.1".to_owned()]
}

fn made() -> (Authority, Leaf) {
    let authority = issue::authority(LIFE, now()).unwrap();
    let leaf = issue::leaf(&authority, &names(), LIFE, now()).unwrap();
    (authority, leaf)
}

fn files(authority: &Authority, leaf: &Leaf) -> TlsFiles {
    TlsFiles {
        certificate: leaf.certificate.pem(),
        key: leaf.key.clone(),
        authorities: authority.certificate.pem(),
        server_names: names(),
    }
}

// Proves: X-012
#[test]
fn what_is_written_is_what_is_read_and_the_key_is_readable_by_its_owner_only() {
    let place = tempfile::tempdir().unwrap();
    let directory = TlsDirectory::new(place.path());
    let (authority, leaf) = made();
    let files = files(&authority, &leaf);
    assert!(directory.write(&files).unwrap());
    assert_eq!(directory.read().unwrap(), files);
    let mode = |name: &str| {
        fs::metadata(place.path().join(name))
            .unwrap()
            .permissions()
            .mode()
    };
    assert_eq!(mode(KEY) & 0o777, 0o600);
    assert_eq!(
        fs::read_dir(place.path()).unwrap().count(),
        4,
        "no temporary file is left"
    );
}

#[test]
fn the_same_files_are_not_written_twice() {
    let place = tempfile::tempdir().unwrap();
    let directory = TlsDirectory::new(place.path());
    let (authority, leaf) = made();
    let files = files(&authority, &leaf);
    directory.write(&files).unwrap();
    assert!(!directory.write(&files).unwrap());
}

#[test]
fn a_file_left_over_from_a_crash_does_not_stop_the_next_write() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join(".tls.key.next"), "half").unwrap();
    let (authority, leaf) = made();
    TlsDirectory::new(place.path())
        .write(&files(&authority, &leaf))
        .unwrap();
}

#[test]
fn a_missing_file_is_named() {
    let place = tempfile::tempdir().unwrap();
    let error = TlsDirectory::new(place.path()).read().unwrap_err();
    assert!(error.to_string().ends_with("server-names"), "{error}");
}

#[test]
fn the_digest_tells_each_file_from_the_next() {
    let (authority, leaf) = made();
    let one = files(&authority, &leaf);
    let mut other = one.clone();
    other.certificate.push_str(&one.authorities);
    other.authorities.clear();
    assert_ne!(one.digest(), other.digest());
}

// Proves: X-012
#[test]
fn a_leaf_that_works_stays_until_the_stored_one_is_trusted() {
    let (old, old_leaf) = made();
    let (new, new_leaf) = made();
    let current = files(&old, &old_leaf);
    let stored = Stored {
        authorities: vec![old.clone(), new.clone()],
        leaf: Some(new_leaf.clone()),
        unreadable: Vec::new(),
    };
    let only_old = [old.certificate.clone()];
    let both = [old.certificate.clone(), new.certificate.clone()];
    let next = |standing: &[Certificate]| {
        next_files(Some(&current), &stored, standing, &names(), now()).unwrap()
    };
    assert_eq!(next(&only_old), current);
    assert_eq!(next(&both).certificate, new_leaf.certificate.pem());
    assert_eq!(next(&both).authorities, to_pem(&both));
    assert_eq!(
        next(&[]).certificate,
        new_leaf.certificate.pem(),
        "neither works: the newer"
    );
}

#[test]
fn without_a_leaf_anywhere_nothing_is_written() {
    assert_eq!(
        next_files(None, &Stored::default(), &[], &names(), now()),
        None
    );
}
