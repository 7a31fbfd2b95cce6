use std::time::{Duration, UNIX_EPOCH};

use rstest::rstest;

use super::*;
use crate::issue;

const LIFE: Duration = Duration::from_hours(24);

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(500_000)
}

fn files() -> TlsFiles {
    let names = vec![
        "sandgate-webhook.sandgate-system.svc".to_owned(),
        "127.0.0.1".to_owned(),
    ];
    let authority = issue::authority(2 * LIFE, now()).unwrap();
    let leaf = issue::leaf(&authority, &names, LIFE, now()).unwrap();
    TlsFiles {
        certificate: leaf.certificate.pem(),
        key: leaf.key,
        authorities: authority.certificate.pem(),
        server_names: names,
    }
}

// Proves: X-012
#[test]
fn a_good_set_is_fit() {
    ServingSet::parse(&files()).unwrap().fitness(now()).unwrap();
}

// Proves: X-012
#[rstest]
#[case::not_yet_valid(now() - LIFE, "not valid yet")]
#[case::expired(now() + LIFE, "expired")]
fn a_leaf_outside_its_validity_is_unfit(#[case] at: SystemTime, #[case] says: &str) {
    let unfit = ServingSet::parse(&files())
        .unwrap()
        .fitness(at)
        .unwrap_err();
    assert!(unfit.to_string().contains(says), "{unfit}");
}

// Proves: X-012
#[test]
fn a_set_whose_bundle_holds_another_ca_is_unfit() {
    let mut files = files();
    files.authorities = issue::authority(LIFE, now()).unwrap().certificate.pem();
    assert!(matches!(
        ServingSet::parse(&files).unwrap().fitness(now()),
        Err(Unfit::Refused(_))
    ));
}

// Proves: X-012
#[test]
fn a_set_whose_only_ca_has_expired_is_unfit() {
    let mut files = files();
    let names = files.server_names.clone();
    let authority = issue::authority(LIFE / 2, now()).unwrap();
    let leaf = issue::leaf(&authority, &names, LIFE / 2, now()).unwrap();
    files.certificate = leaf.certificate.pem();
    files.key = leaf.key;
    files.authorities = authority.certificate.pem();
    let set = ServingSet::parse(&files).unwrap();
    set.fitness(now()).unwrap();
    set.fitness(now() + LIFE).unwrap_err();
}

#[test]
fn a_set_that_does_not_serve_each_named_host_is_unfit() {
    let mut files = files();
    files.server_names.push("192.0.2.1".to_owned());
    let unfit = ServingSet::parse(&files)
        .unwrap()
        .fitness(now())
        .unwrap_err();
    let Unfit::Refused(VerifyError::Refused { host, .. }) = unfit else {
        panic!("{unfit}")
    };
    assert_eq!(host, "192.0.2.1");
}

#[test]
fn a_set_without_bundle_or_names_is_read_but_unfit() {
    let mut bare = files();
    bare.authorities = "\n".to_owned();
    ServingSet::parse(&bare)
        .unwrap()
        .fitness(now())
        .unwrap_err();
    let mut nameless = files();
    nameless.server_names.clear();
    assert!(matches!(
        ServingSet::parse(&nameless).unwrap().fitness(now()),
        Err(Unfit::NoNames)
    ));
}

#[rstest]
#[case::empty_leaf(|files: &mut TlsFiles| files.certificate.clear(), "tls.crt")]
#[case::broken_leaf(|files: &mut TlsFiles| files.certificate.truncate(80), "tls.crt")]
#[case::empty_key(|files: &mut TlsFiles| files.key = crate::certificate::KeyPem::new(""), "tls.key")]
#[case::key_of_another(|files: &mut TlsFiles| files.key = self::files().key, "tls.key")]
#[case::broken_bundle(|files: &mut TlsFiles| files.authorities = "x".to_owned(), "ca.crt")]
fn a_set_that_cannot_be_served_is_refused_by_the_name_of_its_file(
    #[case] spoil: fn(&mut TlsFiles),
    #[case] names: &str,
) {
    let mut files = files();
    spoil(&mut files);
    let error = ServingSet::parse(&files).unwrap_err().to_string();
    assert!(error.starts_with(names), "{error}");
}

#[test]
fn a_resolver_serves_what_was_swapped_in_last() {
    let resolver = Resolver::new();
    assert!(resolver.current().is_none());
    let (first, second) = (files(), files());
    resolver.swap(Arc::new(ServingSet::parse(&first).unwrap()));
    resolver.swap(Arc::new(ServingSet::parse(&second).unwrap()));
    assert_eq!(resolver.current().unwrap().leaf().pem(), second.certificate);
}
