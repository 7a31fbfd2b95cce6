use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;

fn of(entries: &[&str]) -> Allowlist {
    Allowlist::read(json!({ "hosts": entries }).to_string().as_bytes()).unwrap()
}

fn refused(content: &[u8]) -> String {
    let error = Allowlist::read(content).unwrap_err();
    let source = std::error::Error::source(&error).map(ToString::to_string);
    format!("{error}: {}", source.unwrap_or_default())
}

// Proves: E-019, E-020, E-021
#[rstest]
#[case::itself("api.github.com", "api.github.com", true)]
#[case::in_capitals("api.github.com", "API.GITHUB.COM", true)]
#[case::with_a_trailing_dot("api.github.com", "api.github.com.", true)]
#[case::another("api.github.com", "github.com", false)]
#[case::below_an_exact_one("github.com", "api.github.com", false)]
#[case::below("*.x.com", "a.x.com", true)]
#[case::far_below("*.x.com", "a.b.c.x.com", true)]
#[case::below_with_what_dns_allows("*.x.com", "_a.-b-.x.com", true)]
#[case::the_apex("*.x.com", "x.com", false)]
#[case::the_end_of_a_label("*.x.com", "evilx.com", false)]
#[case::in_the_middle("*.x.com", "x.com.evil.org", false)]
#[case::an_entry_of_the_same_length("a.x.com", "b.x.com", false)]
#[case::the_very_a_label("xn--bcher-kva.example", "xn--bcher-kva.example", true)]
#[case::a_homoglyph("example.com", "xn--xample-2of.com", false)]
#[case::a_single_label("*.x.com", "com", false)]
fn an_entry_covers_what_it_says(#[case] entry: &str, #[case] host: &str, #[case] covered: bool) {
    assert_eq!(of(&[entry]).covers(&Name::read(host).unwrap()), covered);
}

#[rstest]
#[case::a_star("*")]
#[case::a_star_and_a_dot("*.")]
#[case::a_public_suffix("*.com")]
#[case::a_star_within("a.*.b")]
#[case::a_star_in_a_label("*x.com")]
#[case::two_stars("*.*.x.com")]
#[case::capitals("API.github.com")]
#[case::capitals_below("*.Github.com")]
#[case::a_port("a.example:443")]
#[case::a_scheme("https://a.example")]
#[case::a_trailing_dot("a.example.")]
#[case::an_ipv4_address("1.2.3.4")]
#[case::an_ipv6_address("::1")]
#[case::a_single_label("localhost")]
#[case::nothing("")]
#[case::a_space(" a.example")]
fn a_wrong_entry_refuses_the_file_and_is_named(#[case] entry: &str) {
    let content = json!({ "hosts": ["good.example", entry] }).to_string();
    let told = refused(content.as_bytes());
    assert!(told.contains(&format!("entry 2 is {entry:?}")), "{told}");
}

#[rstest]
#[case::no_json("a.example\n")]
#[case::another_form(r#"["a.example"]"#)]
#[case::nothing_in_it("{}")]
#[case::one_more_field(r#"{"hosts": [], "ports": [80]}"#)]
#[case::no_text(r#"{"hosts": [1]}"#)]
#[case::two_lists(r#"{"hosts": [], "hosts": ["a.example"]}"#)]
#[case::more_behind_it(r#"{"hosts": []}{"hosts": ["a.example"]}"#)]
#[case::a_blank(" ")]
fn another_form_is_told_how_to_be_written(#[case] content: &str) {
    let told = refused(content.as_bytes());
    assert!(told.contains(r#"it must be {"hosts": ["#), "{told}");
}

#[test]
fn no_beginning_of_a_file_counts() {
    let content = json!({ "hosts": ["api.github.com", "*.example.com"] }).to_string();
    for length in 1..content.len() {
        let cut = &content.as_bytes()[..length];
        assert!(Allowlist::read(cut).is_err(), "{length}");
    }
    assert_eq!(Allowlist::read(content.as_bytes()).unwrap().len(), 2);
}

#[test]
fn an_empty_file_and_an_empty_list_name_no_host() {
    assert!(Allowlist::read(b"").unwrap().is_empty());
    assert!(of(&[]).is_empty());
}

#[test]
fn a_huge_file_is_refused_unread_and_a_long_list_by_its_length() {
    let told = refused(&vec![b' '; LARGEST_FILE + 1]);
    assert!(told.contains("larger than 1048576 bytes"), "{told}");
    let hosts: Vec<String> = (0..=MOST_ENTRIES)
        .map(|n| format!("h{n}.example"))
        .collect();
    let told = refused(json!({ "hosts": hosts }).to_string().as_bytes());
    assert!(told.contains("more than 4096 hosts"), "{told}");
}

#[test]
fn as_many_hosts_as_a_claim_can_have_are_told_apart() {
    let label = "a".repeat(63);
    let long = |c: usize, h: usize| format!("{label}.{label}.{label}.c{c}.h{h}.example");
    let hosts: Vec<String> = (0..32)
        .flat_map(|c| (0..16).map(move |h| (c, h)))
        .map(|(c, h)| long(c, h))
        .collect();
    let entries: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let all = of(&entries);
    assert_eq!(all.len(), 512);
    for host in &hosts {
        assert!(all.covers(&Name::read(host).unwrap()), "{host}");
    }
    assert!(!all.covers(&Name::read(&long(32, 0)).unwrap()));
}

fn label() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{1,2}", "x", "com"]
}

fn host() -> impl Strategy<Value = String> {
    proptest::collection::vec(label(), 2..5).prop_map(|labels| labels.join("."))
}

proptest! {
    // Proves: E-019, E-020
    #[test]
    fn it_covers_just_what_one_of_its_entries_does(
        entries in proptest::collection::vec((any::<bool>(), host()), 0..6),
        asked in host(),
    ) {
        let entries: Vec<String> = entries
            .into_iter()
            .map(|(below, host)| if below { format!("*.{host}") } else { host })
            .collect();
        let texts: Vec<&str> = entries.iter().map(String::as_str).collect();
        let wanted = texts.iter().any(|entry| {
            let entry: HostEntry = entry.parse().unwrap();
            entry.covers(&asked.parse().unwrap())
        });
        prop_assert_eq!(of(&texts).covers(&Name::read(&asked).unwrap()), wanted);
    }

    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _answered = Allowlist::read(&bytes);
    }
}
