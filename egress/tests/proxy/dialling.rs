//! Which of a host's addresses are dialled, and what becomes of it.

use std::time::{Duration, Instant};

use hickory_resolver::proto::rr::RecordType;
use rstest::rstest;

use crate::client::{asked, is_echoed, tunnel};
use crate::dns::{Dns, Say, at};
use crate::origin::{Origin, echo};
use crate::proxy::{PUBLIC, Proxy, Setup};

// Proves: E-024
#[tokio::test]
async fn whoever_answers_from_another_address_gets_no_tunnel() {
    let proxy = Proxy::asking(at(&[PUBLIC])).await;
    let origin = Origin::start().await;
    proxy
        .internet
        .pretend(PUBLIC, origin.address, "10.0.0.1:443");
    let answer = asked(proxy.address, "a.example:443").await;
    assert_eq!(answer.refusal(), (502, "dial-failed"));
}

#[tokio::test]
async fn of_very_many_addresses_few_are_tried() {
    let dns = Dns::start(|_, kind, _| match kind {
        RecordType::A => Say::Many(2000),
        _ => Say::NoAddress,
    })
    .await;
    let proxy = Proxy::start(Setup::default(), dns);
    let answer = asked(proxy.address, "a.example:443").await;
    assert_eq!(answer.refusal(), (502, "dial-failed"));
    assert_eq!(proxy.internet.dialled().len(), 8);
}

#[tokio::test]
async fn an_address_that_swallows_everything_costs_a_moment() {
    let proxy = Proxy::asking(at(&["2606:4700::1111", PUBLIC])).await;
    proxy.internet.swallow("2606:4700::1111");
    proxy.internet.put(PUBLIC, echo().await);
    let began = Instant::now();
    let mut stream = tunnel(proxy.address, "a.example:443").await;
    assert!(is_echoed(&mut stream, "hello").await);
    assert!(
        began.elapsed() < Duration::from_millis(1500),
        "{:?}",
        began.elapsed()
    );
}

#[rstest]
#[case::all_refuse(&[], 502, "dial-failed")]
#[case::all_swallow(&["1.2.3.4"], 504, "dial-timeout")]
#[tokio::test]
async fn a_host_that_takes_no_connection_is_told_without_its_address(
    #[case] swallow: &[&str],
    #[case] status: u16,
    #[case] reason: &str,
) {
    let dns = Dns::start(|_, _, _| at(&[PUBLIC])).await;
    let mut setup = Setup::default();
    setup.limits.dial.each = Duration::from_millis(200);
    let proxy = Proxy::start(setup, dns);
    for address in swallow {
        proxy.internet.swallow(address);
    }
    let answer = asked(proxy.address, "a.example:443").await;
    assert_eq!(answer.refusal(), (status, reason));
    assert!(!answer.body.contains("1.2.3.4"), "{answer:?}");
}

// Proves: E-022
#[tokio::test]
async fn what_the_operator_shuts_is_not_dialled() {
    let dns = Dns::start(|_, _, _| at(&[PUBLIC, "1.2.4.1"])).await;
    let setup = Setup {
        flags: vec!["--deny-cidr=1.2.3.0/24".to_owned()],
        ..Setup::default()
    };
    let proxy = Proxy::start(setup, dns);
    proxy.internet.put(PUBLIC, echo().await);
    proxy.internet.put("1.2.4.1", echo().await);
    let _stream = tunnel(proxy.address, "a.example:443").await;
    assert_eq!(proxy.internet.dialled(), ["1.2.4.1:443"]);
}

// Proves: E-022
#[rstest]
#[case("64:ff9b::1.2.3.4", true)]
#[case("64:ff9b::10.0.0.1", false)]
#[tokio::test]
async fn behind_a_gateway_to_ipv4_the_address_it_translates_to_counts(
    #[case] address: &'static str,
    #[case] goes: bool,
) {
    let dns = Dns::start(move |_, _, _| at(&[address])).await;
    let setup = Setup {
        flags: vec!["--nat64-prefix=64:ff9b::/96".to_owned()],
        ..Setup::default()
    };
    let proxy = Proxy::start(setup, dns);
    proxy.internet.put(address, echo().await);
    if goes {
        let _stream = tunnel(proxy.address, "a.example:443").await;
        assert_eq!(proxy.internet.dialled(), ["[64:ff9b::102:304]:443"]);
    } else {
        let answer = asked(proxy.address, "a.example:443").await;
        assert_eq!(answer.refusal(), (403, "address-not-public"));
    }
}
