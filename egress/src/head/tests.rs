use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::target::Host;

/// What is made of bytes that came at once.
fn whole(bytes: &[u8]) -> Result<Option<Request>, Refusal> {
    end(bytes, 0)?.map(|end| read(&bytes[..end])).transpose()
}

fn reason(bytes: &[u8]) -> Reason {
    whole(bytes).unwrap_err().reason
}

fn taken(bytes: &[u8]) -> Request {
    whole(bytes).unwrap().unwrap()
}

// Proves: E-015
#[rstest]
#[case::with_a_host("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n")]
#[case::with_the_host_alone("CONNECT a.example:443 HTTP/1.1\r\nHost: A.example\r\n\r\n")]
#[case::of_http_1_0("CONNECT a.example:443 HTTP/1.0\r\n\r\n")]
#[case::of_http_1_0_with_a_host("CONNECT a.example:443 HTTP/1.0\r\nHost: a.example\r\n\r\n")]
#[case::in_capitals("CONNECT A.EXAMPLE:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::with_an_empty_body(
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n"
)]
#[case::that_expects(
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\n\r\n"
)]
#[case::that_would_go_on(
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nX-Upstream-Https-Proxy: evil.example\r\nProxy-Authorization: Basic eDp5\r\nX-Omnia-Egress-Refused: x\r\n\r\n"
)]
#[case::after_an_empty_line("\r\nCONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::after_two("\r\n\r\nCONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")]
fn a_connect_is_understood(#[case] text: &str) {
    let request = taken(text.as_bytes());
    assert_eq!(request.target.host.to_string(), "a.example");
    assert_eq!(request.target.port.as_deref(), Some("443"));
    assert!(!request.other_host_header);
}

#[test]
fn the_target_counts_where_the_host_header_differs() {
    let request = taken(b"CONNECT a.example:443 HTTP/1.1\r\nHost: b.example\r\n\r\n");
    assert_eq!(request.target.host.to_string(), "a.example");
    assert!(request.other_host_header);
}

// Proves: E-015, E-017
#[rstest]
#[case::a_page("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::a_form("POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\n")]
#[case::a_file("PUT http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::a_path("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::options("OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::trace("TRACE / HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::an_upgrade(
    "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
)]
#[case::small_letters("connect a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")]
fn another_method_is_refused_as_one(#[case] text: &str) {
    assert_eq!(reason(text.as_bytes()), Reason::MethodNotAllowed);
}

#[rstest]
#[case::no_version("CONNECT a.example:443\r\n")]
#[case::another_version("CONNECT a.example:443 HTTP/1.2\r\n")]
#[case::the_preface_of_http_2("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")]
#[case::no_host_header("CONNECT a.example:443 HTTP/1.1\r\n\r\n")]
#[case::two_host_headers(
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n"
)]
#[case::two_host_headers_of_http_1_0(
    "CONNECT a.example:443 HTTP/1.0\r\nHost: a.example\r\nhost: b.example\r\n\r\n"
)]
#[case::a_body(
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nhello"
)]
#[case::a_body_in_chunks(
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n"
)]
#[case::bare_line_feeds("CONNECT a.example:443 HTTP/1.1\nHost: a.example\n\n")]
#[case::one_bare_line_feed("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\n\r\n")]
#[case::a_bare_carriage_return("CONNECT a.example:443 HTTP/1.1\r\nHost: a\rb\r\n\r\n")]
#[case::three_empty_lines("\r\n\r\n\r\nCONNECT a.example:443 HTTP/1.1\r\n")]
#[case::a_line_feed_first("\nCONNECT a.example:443 HTTP/1.1\r\n")]
#[case::a_carriage_return_first("\rCONNECT")]
#[case::two_spaces("CONNECT  a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::a_space_before_the_port("CONNECT a.example: 443 HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::a_tab_in_the_line("CONNECT\ta.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::a_space_before_a_colon("CONNECT a.example:443 HTTP/1.1\r\nHost : a.example\r\n\r\n")]
#[case::a_folded_header("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nX: a\r\n b\r\n\r\n")]
#[case::a_zero_byte_in_the_host("CONNECT evil\0.a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::a_zero_byte_in_a_header(
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nX: \0\r\n\r\n"
)]
#[case::another_alphabet("CONNECT \u{ff41}.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::a_user("CONNECT a.example@evil.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::a_greeting_of_socks_5("\x05\x01\x00")]
#[case::a_greeting_of_socks_4("\x04\x01\x01\u{7f}")]
#[case::a_hello_of_tls("\x16\x03\x01\x02")]
#[case::a_banner_of_ssh("SSH-2.0-OpenSSH_9.9\r\n")]
fn what_has_no_single_reading_is_refused_as_soon_as_that_is_certain(#[case] text: &str) {
    assert_eq!(reason(text.as_bytes()), Reason::BadRequest);
}

fn of_length(length: usize) -> Vec<u8> {
    let before = "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nX: ";
    let filler = "x".repeat(length - before.len() - 4);
    format!("{before}{filler}\r\n\r\n").into_bytes()
}

#[test]
fn a_head_ends_at_its_limit() {
    assert!(whole(&of_length(LONGEST)).unwrap().is_some());
    assert_eq!(reason(&of_length(LONGEST + 1)), Reason::HeadTooLarge);
    let line = [b"CONNECT ".as_slice(), &[b'a'; LONGEST]].concat();
    assert_eq!(reason(&line), Reason::HeadTooLarge);
    assert_eq!(whole(&line[..LONGEST - 1]), Ok(None));
}

#[rstest]
#[case(MOST_HEADERS, true)]
#[case(MOST_HEADERS + 1, false)]
fn headers_are_counted(#[case] count: usize, #[case] fit: bool) {
    let more = "X: y\r\n".repeat(count - 1);
    let text = format!("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n{more}\r\n");
    let read = whole(text.as_bytes());
    let wanted = if fit {
        None
    } else {
        Some(Reason::HeadTooLarge)
    };
    assert_eq!(read.err().map(|refusal| refusal.reason), wanted);
}

#[rstest]
#[case("")]
#[case("\r")]
#[case("\r\n\r")]
#[case("\r\n\r\n")]
#[case("C")]
#[case("CONNECT a.example:443 HTTP/1.1\r")]
#[case("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n")]
fn the_beginning_of_a_request_waits_for_more(#[case] text: &str) {
    assert_eq!(whole(text.as_bytes()), Ok(None));
}

#[test]
fn bytes_behind_the_head_are_not_of_it() {
    let bytes = b"CONNECT a.example:443 HTTP/1.0\r\n\r\n\x16\x03\n\n";
    let end = end(bytes, 0).unwrap().unwrap();
    assert_eq!(&bytes[end..], b"\x16\x03\n\n");
}

proptest! {
    #[test]
    fn it_is_the_same_however_the_bytes_are_cut(
        text in "\\PC{0,3}(CONNECT|GET|[A-Z]{1,3}) [a-z.:0-9]{0,20} HTTP/1.[01](\r\n|\n|\r)(Host: [a-z]{0,5}\r\n){0,2}(\r\n)?[\\s\\w]{0,6}",
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let bytes = text.as_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.push(bytes.len());
        at.sort_unstable();
        let mut seen = 0;
        let mut found = Ok(None);
        for upto in at {
            found = end(&bytes[..upto], seen);
            if found != Ok(None) {
                break;
            }
            seen = upto;
        }
        prop_assert_eq!(found, end(bytes, 0));
    }

    #[test]
    fn no_bytes_are_read_as_a_host_that_is_not_canonical(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let head = [b"CONNECT ".as_slice(), &bytes, b" HTTP/1.0\r\n\r\n"].concat();
        if let Ok(Some(request)) = whole(&head)
            && let Host::Name(name) = request.target.host
        {
            prop_assert_eq!(crate::target::Name::read(name.as_str()), Ok(name));
        }
    }
}
