use proptest::prelude::*;
use rstest::rstest;

use super::find;

// Proves: W-001
#[rstest]
#[case::as_the_api_server_writes(
    br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","kind":{}}}"#
)]
#[case::late_and_spaced(
    b" { \"request\" :\n{ \"kind\" : { \"uid\" : \"no\" } ,\t\"uid\" : \"u-1\" } }"
)]
#[case::cut_off_after_it(br#"{"request":{"uid":"u-1","object":{"spec":"#)]
#[case::before_garbage(br#"{"request":{"uid":"u-1"}} trailing"#)]
#[case::behind_quotes_in_strings(
    br#"{"a":"\"request\":{\"uid\":\"no\"}","request":{"uid":"u-1"}}"#
)]
#[case::behind_brackets_in_strings(br#"{"a":["]}",{"b":"{["}],"request":{"uid":"u-1"}}"#)]
#[case::behind_scalars(br#"{"a":null,"b":-1.5e9,"c":true,"request":{"dryRun":false,"uid":"u-1"}}"#)]
#[case::written_with_escapes(br#"{"request":{"uid":"\u0075-1"}}"#)]
fn the_uid_is_found(#[case] body: &[u8]) {
    assert_eq!(find(body).as_deref(), Some("u-1"));
}

#[rstest]
#[case::empty(b"")]
#[case::null(b"null")]
#[case::no_request(b"{}")]
#[case::list_for_a_request(br#"{"request":[{"uid":"u"}]}"#)]
#[case::uid_elsewhere(br#"{"uid":"u","response":{"uid":"u"},"request":{"object":{"uid":"u"}}}"#)]
#[case::number(br#"{"request":{"uid":7}}"#)]
#[case::empty_string(br#"{"request":{"uid":""}}"#)]
#[case::lone_surrogate(br#"{"request":{"uid":"\ud800"}}"#)]
#[case::cut_off_inside(br#"{"request":{"uid":"u-1"#)]
#[case::invalid_utf8(b"{\"request\":{\"uid\":\"\xff\"}}")]
#[case::closing_too_much(br#"{"a":1}},"request":{"uid":"u"}}"#)]
#[case::not_json(b"{request:{uid:u}}")]
#[case::protobuf(b"k8s\x00\x0a\x10")]
fn there_is_no_uid(#[case] body: &[u8]) {
    assert_eq!(find(body), None);
}

#[test]
fn nesting_without_end_costs_no_stack() {
    let deep = "[".repeat(3_000_000);
    assert_eq!(find(format!("{{\"a\":{deep}").as_bytes()), None);
    let closed = format!(
        "{{\"a\":{deep}{},\"request\":{{\"uid\":\"u\"}}}}",
        "]".repeat(3_000_000)
    );
    assert_eq!(find(closed.as_bytes()).as_deref(), Some("u"));
}

#[test]
fn a_uid_too_long_to_be_one_is_not_echoed() {
    let body = |length: usize| format!(r#"{{"request":{{"uid":"{}"}}}}"#, "u".repeat(length));
    assert!(find(body(256).as_bytes()).is_some());
    assert!(find(body(257).as_bytes()).is_none());
}

proptest! {
    #[test]
    fn any_bytes_are_survived(body in proptest::collection::vec(any::<u8>(), 0..512)) {
        let _ = find(&body);
    }

    #[test]
    fn what_looks_like_json_is_survived(body in r#"[{}\[\]:,"\\ a1u]{0,64}"#) {
        let whole = format!(r#"{{"a":{body}"#);
        let _ = find(whole.as_bytes());
    }
}
