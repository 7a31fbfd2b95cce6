//! Canonical hosts, what covers them, and whose domain they are.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing test stops where it stands"
)]

use proptest::prelude::*;
use rstest::rstest;
use sandgate_shared::net::{
    domain::registrable,
    host::{Host, HostEntry, HostError},
};

fn host(text: &str) -> Host {
    text.parse()
        .unwrap_or_else(|error: HostError| unreachable!("{text}: {error}"))
}

// Proves: T-059
#[rstest]
#[case::plain("api.example.com", "api.example.com")]
#[case::upper_case("API.Example.COM", "api.example.com")]
#[case::trailing_dot("api.example.com.", "api.example.com")]
#[case::punycode("XN--bcher-kva.example", "xn--bcher-kva.example")]
#[case::digits("1.2.3.4a.com", "1.2.3.4a.com")]
fn a_host_has_one_form(#[case] text: &str, #[case] canonical: &str) {
    assert_eq!(host(text).as_str(), canonical);
    assert_eq!(host(text), host(canonical));
}

// Proves: T-059
#[rstest]
#[case::nothing("", HostError::Label)]
#[case::one_label("localhost", HostError::Labels)]
#[case::one_label_and_a_dot("localhost.", HostError::Labels)]
#[case::two_dots_at_the_end("example.com..", HostError::Label)]
#[case::a_dot_before(".example.com", HostError::Label)]
#[case::two_dots_inside("api..example.com", HostError::Label)]
#[case::a_dash_before("-api.example.com", HostError::Label)]
#[case::a_dash_behind("api-.example.com", HostError::Label)]
#[case::an_underscore("a_b.example.com", HostError::Label)]
#[case::other_letters("bücher.example", HostError::Label)]
#[case::a_port("example.com:443", HostError::Label)]
#[case::a_scheme("https://example.com", HostError::Label)]
#[case::a_user("user@example.com", HostError::Label)]
#[case::a_space("example.com ", HostError::Label)]
#[case::a_nul("example\0.com", HostError::Label)]
#[case::a_wildcard("*.example.com", HostError::Label)]
#[case::an_address("10.0.0.1", HostError::Address)]
#[case::a_short_address("127.1", HostError::Address)]
#[case::a_hexadecimal_address("0x7f.0x1", HostError::Address)]
#[case::an_ipv6_address("::1", HostError::Label)]
#[case::a_bracketed_address("[::1]", HostError::Label)]
fn what_is_no_host_says_why(#[case] text: &str, #[case] error: HostError) {
    assert_eq!(text.parse::<Host>(), Err(error));
}

// Proves: T-059
#[test]
fn a_host_has_at_most_253_characters_and_a_label_63() {
    let label = "a".repeat(63);
    let longest = format!("{label}.{label}.{label}.{}", "b".repeat(61));
    assert_eq!(longest.len(), 253);
    assert_eq!(host(&format!("{longest}.")).as_str(), longest);
    let longer = format!("{longest}b");
    assert_eq!(longer.parse::<Host>(), Err(HostError::Long));
    let label = format!("{label}a.com");
    assert_eq!(label.parse::<Host>(), Err(HostError::Label));
}

// Proves: T-059
#[rstest]
#[case::itself("example.com", "example.com", true)]
#[case::in_other_case("example.com", "EXAMPLE.com", true)]
#[case::with_a_trailing_dot("example.com", "example.com.", true)]
#[case::below_it("example.com", "api.example.com", false)]
#[case::wildcard_over_one("*.example.com", "api.example.com", true)]
#[case::wildcard_over_two("*.example.com", "a.b.example.com", true)]
#[case::wildcard_over_the_apex("*.example.com", "example.com", false)]
#[case::wildcard_over_a_longer_label("*.example.com", "notexample.com", false)]
#[case::wildcard_over_another_domain("*.example.com", "example.com.evil.test", false)]
fn an_entry_covers_what_it_says(#[case] entry: &str, #[case] asked: &str, #[case] covered: bool) {
    let entry: HostEntry = entry.parse().expect("an entry");
    assert_eq!(entry.covers(&host(asked)), covered);
}

#[rstest]
#[case::bare("*")]
#[case::over_one_label("*.com")]
#[case::over_an_address("*.10.0.0.1")]
#[case::inside("a.*.example.com")]
#[case::part_of_a_label("*x.example.com")]
#[case::twice("*.*.example.com")]
fn a_wildcard_stands_first_alone_and_over_two_labels(#[case] text: &str) {
    assert!(text.parse::<HostEntry>().is_err());
}

#[rstest]
#[case::plain("login.example.com", Some("example.com"))]
#[case::itself("example.com", Some("example.com"))]
#[case::of_two_labels("www.shop.example.co.uk", Some("example.co.uk"))]
#[case::a_suffix("co.uk", None)]
#[case::a_private_suffix("github.io", None)]
#[case::below_a_private_suffix("someone.github.io", Some("someone.github.io"))]
#[case::an_exception("www.city.kobe.jp", Some("city.kobe.jp"))]
#[case::punycode("a.www.xn--55qx5d.cn", Some("www.xn--55qx5d.cn"))]
#[case::an_unlisted_suffix("a.b.internal", Some("b.internal"))]
fn the_registrable_domain_follows_the_public_suffix_list(
    #[case] text: &str,
    #[case] domain: Option<&str>,
) {
    assert_eq!(registrable(&host(text)), domain);
}

proptest! {
    #[test]
    fn no_text_makes_reading_a_host_panic(text in ".*") {
        let _ = text.parse::<HostEntry>();
    }

    #[test]
    fn the_form_of_a_host_reads_as_the_same_host(text in "[-a-zA-Z0-9.]{1,80}") {
        if let Ok(host) = text.parse::<Host>() {
            let form = host.as_str().to_owned();
            prop_assert_eq!(form.to_ascii_lowercase(), form.clone());
            prop_assert_eq!(form.parse::<Host>(), Ok(host));
        }
    }

    #[test]
    fn an_entry_covers_hosts_and_the_names_below_alike_in_every_spelling(
        apex in "[a-z0-9]{1,8}[.][a-z]{2,5}", below in "([a-z0-9]{1,5}[.]){0,3}", upper in any::<bool>()
    ) {
        let asked = format!("{below}{apex}{}", if upper { "." } else { "" });
        let asked = host(&if upper { asked.to_uppercase() } else { asked });
        let exactly: HostEntry = apex.parse().expect("an entry");
        let wildcard: HostEntry = format!("*.{apex}").parse().expect("an entry");
        prop_assert_eq!(exactly.covers(&asked), below.is_empty());
        prop_assert_eq!(wildcard.covers(&asked), !below.is_empty());
        prop_assert_eq!(exactly.host(), wildcard.host());
    }

    #[test]
    fn a_registrable_domain_is_the_host_or_ends_it(text in "([a-z0-9]{1,8}[.]){1,5}(com|co[.]uk|github[.]io|test)") {
        let host = host(&text);
        if let Some(domain) = registrable(&host) {
            let before = text.strip_suffix(domain).expect("the end of the host");
            prop_assert!(before.is_empty() || before.ends_with('.'), "{} of {}", domain, text);
        }
    }
}
