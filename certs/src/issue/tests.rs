use std::time::UNIX_EPOCH;

use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::*;
use crate::plan::{AuthorityReason, LeafReason};
use crate::trust;

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(500_000)
}

fn names() -> Vec<String> {
    vec![
        "sandgate-webhook.sandgate-system.svc".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ]
}

// Proves: X-012
#[test]
fn a_ca_may_sign_leaves_and_nothing_else() {
    let made = authority(Lifetimes::default().authority, now()).unwrap();
    let (_, x509) = X509Certificate::from_der(made.certificate.der()).unwrap();
    let constraints = x509.basic_constraints().unwrap().unwrap().value;
    assert!(constraints.ca);
    assert_eq!(constraints.path_len_constraint, Some(0));
    let usage = x509.key_usage().unwrap().unwrap().value;
    assert!(usage.key_cert_sign() && !usage.digital_signature() && !usage.crl_sign());
    let curve = x509
        .public_key()
        .algorithm
        .parameters
        .as_ref()
        .unwrap()
        .as_oid()
        .unwrap();
    assert_eq!(curve.to_id_string(), "1.2.840.10045.3.1.7", "P-256");
    assert_eq!(
        made.certificate.not_before(),
        now() - Duration::from_hours(1)
    );
    assert_eq!(
        made.certificate.not_after(),
        now() + Duration::from_hours(365 * 24)
    );
    made.certificate.check_key(&made.key).unwrap();
}

// Proves: X-012
#[test]
fn a_leaf_serves_its_names_and_may_not_sign() {
    let signer = authority(Lifetimes::default().authority, now()).unwrap();
    let made = leaf(&signer, &names(), Lifetimes::default().leaf, now()).unwrap();
    let (_, x509) = X509Certificate::from_der(made.certificate.der()).unwrap();
    assert!(!x509.is_ca());
    let extended = x509.extended_key_usage().unwrap().unwrap().value;
    assert!(extended.server_auth && !extended.client_auth && !extended.any);
    assert_eq!(made.certificate.names(), names());
    assert_eq!(
        made.certificate.not_before(),
        now() - Duration::from_hours(1)
    );
    assert_eq!(
        made.certificate.not_after(),
        now() + Duration::from_hours(30 * 24)
    );
    let chain = [made.certificate.der().clone()];
    for host in names() {
        trust::verify(
            &chain,
            std::slice::from_ref(&signer.certificate),
            &host,
            now(),
        )
        .unwrap();
    }
    trust::verify(&chain, &[signer.certificate], "elsewhere.example", now()).unwrap_err();
}

#[test]
fn a_leaf_never_outlives_its_ca() {
    let signer = authority(Duration::from_mins(10), now()).unwrap();
    let made = leaf(&signer, &names(), Lifetimes::default().leaf, now()).unwrap();
    assert_eq!(made.certificate.not_after(), signer.certificate.not_after());
}

#[test]
fn an_absurd_lifetime_is_cut_rather_than_a_panic() {
    let made = authority(Duration::MAX, now()).unwrap();
    assert!(made.certificate.is_valid_at(now()));
}

#[test]
fn a_name_that_no_certificate_can_hold_is_an_error_that_names_it() {
    let signer = authority(Lifetimes::default().authority, now()).unwrap();
    let error = leaf(
        &signer,
        &["bücher.example".to_owned()],
        Duration::from_mins(1),
        now(),
    );
    assert!(error.unwrap_err().to_string().contains("bücher.example"));
}

#[test]
fn a_plan_that_signs_with_an_unknown_ca_is_an_error() {
    let strange = authority(Lifetimes::default().authority, now()).unwrap();
    let signer = Signer::Stored(strange.certificate.fingerprint().clone());
    let plan = Plan {
        leaf: Some((signer, LeafReason::Missing)),
        ..Plan::default()
    };
    let made = carry_out(
        &plan,
        &Stored::default(),
        &names(),
        Lifetimes::default(),
        now(),
    );
    assert!(matches!(made, Err(IssueError::UnknownAuthority(_))));
}

#[test]
fn debug_output_of_what_is_stored_shows_no_key() {
    let plan = Plan {
        authority: Some(AuthorityReason::NoneValid),
        leaf: Some((Signer::New, LeafReason::Missing)),
        ..Plan::default()
    };
    let stored = carry_out(
        &plan,
        &Stored::default(),
        &names(),
        Lifetimes::default(),
        now(),
    )
    .unwrap();
    let shown = format!("{stored:?}");
    assert!(!shown.contains("PRIVATE"));
    let key = &stored.leaf.unwrap().key;
    let body = key.expose().lines().nth(1).unwrap();
    assert!(!shown.contains(body));
}
