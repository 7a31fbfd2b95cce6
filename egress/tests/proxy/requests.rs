//! Requests that mean no good, each with its exact answer; and none of them asks DNS for anything.

use rstest::rstest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{answered, asked, connect, dial, established, is_echoed, tunnel};
use crate::proxy::{Proxy, Setup};

fn with_host(line: &str) -> String {
    format!("{line}\r\nHost: a.example\r\n\r\n")
}

// Proves: E-015, E-017, E-018, E-019, E-020, E-021, E-026
#[rstest]
#[case::no_host_header("CONNECT a.example:443 HTTP/1.1\r\n\r\n", 400, "bad-request")]
#[case::two_host_headers(
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n",
    400,
    "bad-request"
)]
#[case::no_version("CONNECT a.example:443\r\n\r\n", 400, "bad-request")]
#[case::small_letters(&with_host("connect a.example:443 HTTP/1.1"), 405, "method-not-allowed")]
#[case::the_apex_of_a_wildcard(&with_host("CONNECT b.example:443 HTTP/1.1"), 403, "host-not-allowed")]
#[case::the_end_of_a_label(&with_host("CONNECT evilb.example:443 HTTP/1.1"), 403, "host-not-allowed")]
#[case::a_listed_host_as_a_beginning(&with_host("CONNECT a.example.evil.test:443 HTTP/1.1"), 403, "host-not-allowed")]
#[case::below_an_exact_entry(&with_host("CONNECT x.a.example:443 HTTP/1.1"), 403, "host-not-allowed")]
#[case::no_port(&with_host("CONNECT a.example HTTP/1.1"), 403, "port-not-allowed")]
#[case::an_empty_port(&with_host("CONNECT a.example: HTTP/1.1"), 403, "port-not-allowed")]
#[case::a_zero_before_the_port(&with_host("CONNECT a.example:0443 HTTP/1.1"), 403, "port-not-allowed")]
#[case::a_sign_before_the_port(&with_host("CONNECT a.example:+443 HTTP/1.1"), 403, "port-not-allowed")]
#[case::a_letter_behind_the_port(&with_host("CONNECT a.example:443x HTTP/1.1"), 403, "port-not-allowed")]
#[case::a_port_that_wraps_around(&with_host("CONNECT a.example:65979 HTTP/1.1"), 403, "port-not-allowed")]
#[case::a_hexadecimal_port(&with_host("CONNECT a.example:1bb HTTP/1.1"), 403, "port-not-allowed")]
#[case::a_space_before_the_port(&with_host("CONNECT a.example: 443 HTTP/1.1"), 400, "bad-request")]
#[case::port_80(&with_host("CONNECT a.example:80 HTTP/1.1"), 403, "port-not-allowed")]
#[case::port_22(&with_host("CONNECT a.example:22 HTTP/1.1"), 403, "port-not-allowed")]
#[case::port_8443(&with_host("CONNECT a.example:8443 HTTP/1.1"), 403, "port-not-allowed")]
#[case::port_0(&with_host("CONNECT a.example:0 HTTP/1.1"), 403, "port-not-allowed")]
#[case::a_user(&with_host("CONNECT a.example@evil.test:443 HTTP/1.1"), 400, "bad-request")]
#[case::a_zero_byte(&with_host("CONNECT evil\0.a.example:443 HTTP/1.1"), 400, "bad-request")]
#[case::a_control_byte(&with_host("CONNECT evil\x01.a.example:443 HTTP/1.1"), 400, "bad-request")]
#[case::a_path(&with_host("CONNECT a.example:443/x HTTP/1.1"), 400, "bad-request")]
#[case::a_query(&with_host("CONNECT a.example:443?x HTTP/1.1"), 400, "bad-request")]
#[case::a_fragment(&with_host("CONNECT a.example:443#x HTTP/1.1"), 400, "bad-request")]
#[case::a_scheme(&with_host("CONNECT https://a.example:443 HTTP/1.1"), 400, "bad-request")]
#[case::an_ipv4_address(&with_host("CONNECT 1.2.3.4:443 HTTP/1.1"), 403, "host-not-allowed")]
#[case::loopback(&with_host("CONNECT 127.0.0.1:443 HTTP/1.1"), 403, "host-not-allowed")]
#[case::an_octal_address(&with_host("CONNECT 0177.0.0.1:443 HTTP/1.1"), 403, "host-not-allowed")]
#[case::a_hexadecimal_address(&with_host("CONNECT 0x7f000001:443 HTTP/1.1"), 403, "host-not-allowed")]
#[case::an_ipv6_address(&with_host("CONNECT [2606:4700::1111]:443 HTTP/1.1"), 403, "host-not-allowed")]
#[case::a_mapped_address(&with_host("CONNECT [::ffff:127.0.0.1]:443 HTTP/1.1"), 403, "host-not-allowed")]
#[case::a_zone(&with_host("CONNECT [fe80::1%25eth0]:443 HTTP/1.1"), 403, "host-not-allowed")]
#[case::no_brackets(&with_host("CONNECT ::1:443 HTTP/1.1"), 400, "bad-request")]
#[case::two_brackets(&with_host("CONNECT [[a.example]]:443 HTTP/1.1"), 400, "bad-request")]
#[case::a_full_width_letter(&with_host("CONNECT \u{ff41}.example:443 HTTP/1.1"), 400, "bad-request")]
#[case::an_ideographic_dot(&with_host("CONNECT a\u{3002}example:443 HTTP/1.1"), 400, "bad-request")]
#[case::a_soft_hyphen(&with_host("CONNECT a\u{ad}.example:443 HTTP/1.1"), 400, "bad-request")]
#[case::a_zero_width_space(&with_host("CONNECT a\u{200b}.example:443 HTTP/1.1"), 400, "bad-request")]
#[case::a_kelvin_sign(&with_host("CONNECT \u{212a}.example:443 HTTP/1.1"), 400, "bad-request")]
#[case::a_homoglyph(&with_host("CONNECT xn--80ak6aa92e.example:443 HTTP/1.1"), 403, "host-not-allowed")]
#[case::bare_line_feeds(
    "CONNECT a.example:443 HTTP/1.1\nHost: a.example\n\n",
    400,
    "bad-request"
)]
#[case::three_empty_lines(
    "\r\n\r\n\r\nCONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
    400,
    "bad-request"
)]
#[case::a_body(
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nhello",
    400,
    "bad-request"
)]
#[case::a_body_in_chunks(
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    400,
    "bad-request"
)]
#[case::a_page(
    "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
    405,
    "method-not-allowed"
)]
#[case::a_form(
    "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n\r\nhi",
    405,
    "method-not-allowed"
)]
#[case::a_file(
    "PUT http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
    405,
    "method-not-allowed"
)]
#[case::an_upgrade(
    "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    405,
    "method-not-allowed"
)]
#[case::a_path_alone("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 405, "method-not-allowed")]
#[case::options(
    "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n",
    405,
    "method-not-allowed"
)]
#[case::trace(
    "TRACE / HTTP/1.1\r\nHost: a.example\r\n\r\n",
    405,
    "method-not-allowed"
)]
#[case::the_preface_of_http_2("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "bad-request")]
#[case::a_hello_of_tls("\x16\x03\x01\x02\x00\x01\x00", 400, "bad-request")]
#[case::a_greeting_of_socks_5("\x05\x01\x00", 400, "bad-request")]
#[case::a_greeting_of_socks_4("\x04\x01\x01\x7f", 400, "bad-request")]
#[case::a_banner_of_ssh("SSH-2.0-OpenSSH_9.9\r\n", 400, "bad-request")]
#[tokio::test]
async fn a_bad_request_has_its_answer_and_no_question_goes_out(
    #[case] request: &str,
    #[case] status: u16,
    #[case] reason: &str,
) {
    let proxy = Proxy::echoing(Setup::default()).await;
    let answer = answered(proxy.address, request.as_bytes()).await;
    assert_eq!(answer.refusal(), (status, reason));
    let allows = answer.header("Allow");
    assert_eq!(allows, (status == 405).then_some("CONNECT"));
    assert_eq!(proxy.dns.asked(), [""; 0]);
    assert_eq!(proxy.internet.dialled(), [""; 0]);
    let series = format!(r#"requests_total{{result="refused",reason="{reason}"}}"#);
    assert!((proxy.metric(&series).await - 1.0).abs() < 0.5);
}

// Proves: E-015, E-020, E-021, E-026
#[rstest]
#[case::plain("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n")]
#[case::of_http_1_0("CONNECT a.example:443 HTTP/1.0\r\n\r\n")]
#[case::of_http_1_0_with_a_host("CONNECT a.example:443 HTTP/1.0\r\nHost: a.example\r\n\r\n")]
#[case::another_host_header("CONNECT a.example:443 HTTP/1.1\r\nHost: other.test\r\n\r\n")]
#[case::in_capitals("CONNECT A.EXAMPLE:443 HTTP/1.1\r\nHost: A.EXAMPLE\r\n\r\n")]
#[case::with_a_trailing_dot("CONNECT a.example.:443 HTTP/1.1\r\nHost: a.example.\r\n\r\n")]
#[case::deep_below_a_wildcard(
    "CONNECT x.y.z.b.example:443 HTTP/1.1\r\nHost: x.y.z.b.example\r\n\r\n"
)]
#[case::with_an_underscore("CONNECT _x.b.example:443 HTTP/1.1\r\nHost: _x.b.example\r\n\r\n")]
#[case::with_dashes_at_the_ends(
    "CONNECT -x-.b.example:443 HTTP/1.1\r\nHost: -x-.b.example\r\n\r\n"
)]
#[case::in_another_alphabet(
    "CONNECT xn--bcher-kva.b.example:443 HTTP/1.1\r\nHost: xn--bcher-kva.b.example\r\n\r\n"
)]
#[case::after_two_empty_lines("\r\n\r\nCONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")]
#[case::with_an_empty_body(
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n"
)]
#[case::that_expects(
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\n\r\n"
)]
#[case::with_orders_to_the_proxy(
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nProxy-Authorization: Basic eDp5\r\nX-Upstream-Https-Proxy: http://evil.test\r\nX-Forwarded-For: 1.1.1.1\r\nProxy-Connection: keep-alive\r\nX-Omnia-Egress-Refused: x\r\n\r\n"
)]
#[tokio::test]
async fn a_good_request_gets_a_tunnel_and_not_a_byte_more(#[case] request: &str) {
    let proxy = Proxy::echoing(Setup::default()).await;
    let mut stream = dial(proxy.address).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    established(&mut stream).await;
    assert!(is_echoed(&mut stream, "hello").await);
    assert_eq!(proxy.internet.dialled(), ["1.2.3.4:443"]);
}

// Proves: E-026
#[rstest]
#[case::one_header(format!("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nX: {}", "x".repeat(70_000)), "head-too-large")]
#[case::the_first_line(format!("CONNECT {}", "a".repeat(70_000)), "head-too-large")]
#[case::many_headers(format!("CONNECT a.example:443 HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(101)), "head-too-large")]
#[tokio::test]
async fn a_head_that_is_too_large_is_refused_at_its_limit(
    #[case] request: String,
    #[case] reason: &str,
) {
    let proxy = Proxy::echoing(Setup::default()).await;
    let answer = answered(proxy.address, request.as_bytes()).await;
    assert_eq!(answer.refusal(), (431, reason));
}

#[tokio::test]
async fn what_comes_behind_a_refused_request_is_not_served() {
    let proxy = Proxy::echoing(Setup::default()).await;
    let two = connect("evil.test:443") + &connect("a.example:443");
    let answer = answered(proxy.address, two.as_bytes()).await;
    assert_eq!(answer.refusal(), (403, "host-not-allowed"));
    assert_eq!(proxy.dns.asked(), [""; 0]);
}

#[tokio::test]
async fn a_second_connect_in_a_tunnel_is_the_servers_business() {
    let proxy = Proxy::echoing(Setup::default()).await;
    let mut stream = tunnel(proxy.address, "a.example:443").await;
    assert!(is_echoed(&mut stream, &connect("evil.test:443")).await);
}

// Proves: E-018, E-026
#[tokio::test]
async fn a_refusal_says_what_was_asked_for_and_what_to_do() {
    let proxy = Proxy::echoing(Setup::default()).await;
    let port = asked(proxy.address, "a.example:80").await;
    assert!(
        port.body
            .contains("port \"80\" was asked for, and only 443 is open"),
        "{port:?}"
    );
    let host = asked(proxy.address, "Evil.test.:443").await;
    assert!(
        host.body
            .contains("no Connection bound to this sandbox names evil.test"),
        "{host:?}"
    );
}

// Proves: E-031
// The proxy's half of E-029, E-030.
#[tokio::test]
async fn a_test_host_is_dialled_where_it_is_pinned_and_never_asked_for() {
    let flags = [
        "-insecure-test-hosts=a.example=10.96.0.20,unlisted.test=10.96.0.21",
        "--acknowledge-insecure-test-only",
        "--deny-cidr=10.96.0.0/16",
    ];
    let proxy = Proxy::echoing(Setup {
        flags: flags.map(String::from).to_vec(),
        ..Setup::default()
    })
    .await;
    proxy
        .internet
        .put("10.96.0.20", crate::origin::echo().await);
    let mut stream = tunnel(proxy.address, "a.example:443").await;
    assert!(is_echoed(&mut stream, "hello").await);
    let refused = asked(proxy.address, "unlisted.test:443").await;
    assert_eq!(refused.refusal(), (403, "host-not-allowed"));
    let refused = asked(proxy.address, "a.example:80").await;
    assert_eq!(refused.refusal(), (403, "port-not-allowed"));
    assert_eq!(proxy.internet.dialled(), ["10.96.0.20:443"]);
    assert_eq!(proxy.dns.asked(), [""; 0]);
}

#[tokio::test]
async fn no_host_becomes_a_label_of_a_metric() {
    let proxy = Proxy::echoing(Setup::default()).await;
    let mut stream = tunnel(proxy.address, "a.example:443").await;
    assert!(is_echoed(&mut stream, "hello").await);
    let _refused = asked(proxy.address, "secret-in-a-name.evil.test:443").await;
    let page = proxy.page("/metrics").await;
    assert!(
        !page.contains("example") && !page.contains("evil"),
        "{page}"
    );
    assert!(page.contains("# EOF"), "{page}");
}

#[tokio::test]
async fn health_and_readiness_are_told_and_nothing_else_is_there() {
    let proxy = Proxy::echoing(Setup::default()).await;
    for path in ["/healthz", "/readyz"] {
        assert!(proxy.page(path).await.starts_with("HTTP/1.1 200"), "{path}");
    }
    assert!(proxy.page("/").await.starts_with("HTTP/1.1 404"));
    let mut stream = dial(proxy.admin).await;
    let request = connect("a.example:443");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 404");
    assert_eq!(proxy.internet.dialled(), [""; 0]);
}
