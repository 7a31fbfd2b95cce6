//! Any text as an entry of `hosts`: it has one form, which reads as the same host, and coverage and
//! registrable domain follow from that form.

use std::net::IpAddr;

use sandgate_shared::net::domain::registrable;
use sandgate_shared::net::host::{Host, HostEntry};

/// Asserts the law; whether `text` is an entry.
pub fn holds(text: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(text) else {
        return false;
    };
    let Ok(entry) = text.parse::<HostEntry>() else {
        // What is no entry is no host either.
        assert!(text.parse::<Host>().is_err());
        return false;
    };
    let host = entry.host();
    let form = host.as_str();
    assert_eq!(form.parse::<Host>().as_ref(), Ok(host));
    assert_eq!(form.to_uppercase().parse::<Host>().as_ref(), Ok(host));
    assert_eq!(format!("{form}.").parse::<Host>().as_ref(), Ok(host));
    assert!(form.len() <= 253 && form.contains('.'), "{form}");
    let known =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    assert!(form.bytes().all(known), "{form}");
    assert!(form.parse::<IpAddr>().is_err(), "{form} is an address");
    covers(&entry);
    is_registered_as_it_ends(host);
    true
}

/// The host itself and one below it are covered as the entry says, and a longer label never is.
fn covers(entry: &HostEntry) {
    let host = entry.host();
    let exact = matches!(entry, HostEntry::Exactly(_));
    assert_eq!(entry.covers(host), exact);
    let form = host.as_str();
    if let Ok(below) = format!("a.{form}").parse::<Host>() {
        assert_eq!(entry.covers(&below), !exact);
    }
    if let Ok(longer) = format!("a{form}").parse::<Host>() {
        assert!(!entry.covers(&longer), "{longer:?}");
    }
    if let Ok(elsewhere) = format!("{form}.test").parse::<Host>() {
        assert!(!entry.covers(&elsewhere), "{elsewhere:?}");
    }
}

/// The registrable domain is the end of the host from a label on, and its own registrable domain.
fn is_registered_as_it_ends(host: &Host) {
    let Some(domain) = registrable(host) else {
        return;
    };
    let before = host.as_str().strip_suffix(domain);
    let before = before.expect("the end of the host");
    assert!(before.is_empty() || before.ends_with('.'), "{domain}");
    let alone: Host = domain.parse().expect("a host");
    assert_eq!(registrable(&alone), Some(domain));
}
