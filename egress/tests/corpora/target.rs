//! Any text as a target: a host has one form, which reads as itself, and no address is a name.

use std::net::IpAddr;

use sandgate_egress::allowlist::Allowlist;
use sandgate_egress::decide::decide;
use sandgate_egress::pins::Pins;
use sandgate_egress::target::{Host, Name, Target};

/// Asserts the law; whether `text` is a target.
pub fn holds(text: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(text) else {
        return false;
    };
    let Ok(target) = Target::read(text) else {
        return false;
    };
    assert!(text.is_ascii(), "{text:?}");
    match &target.host {
        Host::Name(name) => {
            let form = name.as_str();
            assert!(form.parse::<IpAddr>().is_err(), "{form} is an address");
            assert_eq!(Name::read(form).as_ref(), Ok(name));
            assert_eq!(Name::read(&form.to_uppercase()).as_ref(), Ok(name));
            assert_eq!(Name::read(&format!("{form}.")).as_ref(), Ok(name));
            let known = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte)
            };
            assert!(form.bytes().all(known) && form.len() <= 253, "{form}");
        }
        Host::Address(address) => {
            let inner = address.trim_matches(['[', ']']);
            assert!(inner.parse::<IpAddr>().is_ok(), "{address}");
        }
    }
    // Whatever was asked for, an empty list lets nothing through, and says why in one line.
    let refused = decide(target, &Allowlist::default(), &Pins::default());
    let answer = refused.expect_err("nothing is listed").answer();
    assert!(answer.is_ascii());
    let body = answer.windows(4).position(|end| end == b"\r\n\r\n");
    let body = str::from_utf8(&answer[body.expect("a whole head") + 4..]);
    assert_eq!(body.map(|body| body.lines().count()), Ok(1));
    true
}
