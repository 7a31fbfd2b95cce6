//! What DNS may say, and what is made of it.

use std::time::{Duration, Instant};

use hickory_resolver::proto::rr::RecordType;
use rstest::rstest;

use crate::client::{asked, is_echoed, tunnel};
use crate::dns::{Dns, Say, at};
use crate::origin::echo;
use crate::proxy::{PUBLIC, Proxy, Setup};

// Proves: E-022, E-023, E-025, E-026
#[rstest]
#[case::private(at(&["10.0.0.1"]), 403, "address-not-public")]
#[case::several_private(at(&["10.0.0.1", "192.168.1.1", "172.16.0.1", "fd00::1"]), 403, "address-not-public")]
#[case::loopback(at(&["127.0.0.1", "::1"]), 403, "address-not-public")]
#[case::metadata(at(&["169.254.169.254"]), 403, "address-not-public")]
#[case::wireserver(at(&["168.63.129.16"]), 403, "address-not-public")]
#[case::shared(at(&["100.64.0.1"]), 403, "address-not-public")]
#[case::this_network(at(&["0.0.0.0", "::"]), 403, "address-not-public")]
#[case::broadcast(at(&["255.255.255.255"]), 403, "address-not-public")]
#[case::multicast(at(&["224.0.0.1", "ff02::1"]), 403, "address-not-public")]
#[case::mapped(at(&["::ffff:1.2.3.4"]), 403, "address-not-public")]
#[case::mapped_loopback(at(&["::ffff:127.0.0.1"]), 403, "address-not-public")]
#[case::compatible(at(&["::1.2.3.4"]), 403, "address-not-public")]
#[case::nat64(at(&["64:ff9b::10.0.0.1"]), 403, "address-not-public")]
#[case::sixtofour(at(&["2002:7f00:1::"]), 403, "address-not-public")]
#[case::teredo(at(&["2001:0:7f00:1::"]), 403, "address-not-public")]
#[case::documentation(at(&["2001:db8::1", "192.0.2.1"]), 403, "address-not-public")]
#[case::an_alias_of_a_private_host(Say::AliasWith("internal.test", vec!["10.0.0.1"]), 403, "address-not-public")]
#[case::no_name(Say::NoName, 502, "resolve-failed")]
#[case::no_address(Say::NoAddress, 502, "resolve-failed")]
#[case::a_failure(Say::Failure, 502, "resolve-failed")]
#[tokio::test]
async fn a_host_without_a_public_address_is_not_dialled(
    #[case] say: Say,
    #[case] status: u16,
    #[case] reason: &str,
) {
    let proxy = Proxy::asking(say).await;
    let answer = asked(proxy.address, "a.example:443").await;
    assert_eq!(answer.refusal(), (status, reason));
    assert_eq!(proxy.internet.dialled(), [""; 0]);
}

// Proves: E-022
#[tokio::test]
async fn a_service_of_the_cluster_is_not_dialled_though_a_connection_names_it() {
    let dns = Dns::start(|_, _, _| at(&["10.96.0.5"])).await;
    let setup = Setup {
        hosts: vec!["*.svc.cluster.local"],
        ..Setup::default()
    };
    let proxy = Proxy::start(setup, dns);
    let answer = asked(proxy.address, "db.prod.svc.cluster.local:443").await;
    assert_eq!(answer.refusal(), (403, "address-not-public"));
    assert_eq!(proxy.internet.dialled(), [""; 0]);
}

#[rstest]
#[case::no_name(Say::NoName)]
#[case::no_address(Say::NoAddress)]
#[tokio::test]
async fn what_is_not_there_is_not_asked_for_again_for_a_moment(#[case] say: Say) {
    let proxy = Proxy::asking(say).await;
    for _ in 0..3 {
        let answer = asked(proxy.address, "a.example:443").await;
        assert_eq!(answer.refusal(), (502, "resolve-failed"));
    }
    let mut all = proxy.dns.asked();
    all.sort();
    assert_eq!(all, ["a.example. A", "a.example. AAAA"]);
}

#[rstest]
#[case::no_name(Say::NoName, "DNS knows no such host")]
#[case::no_address(Say::NoAddress, "DNS knows no address of this host")]
#[case::a_failure(Say::Failure, "the DNS server gave no usable answer")]
#[tokio::test]
async fn an_answer_that_is_none_is_told_apart(#[case] say: Say, #[case] told: &str) {
    let proxy = Proxy::asking(say).await;
    let answer = asked(proxy.address, "a.example:443").await;
    assert!(answer.body.contains(told), "{answer:?}");
}

// Proves: E-022, E-023
#[rstest]
#[case::private_beside_public(&["10.0.0.1", PUBLIC, "127.0.0.1"], 2.0)]
#[case::by_ipv6(&["::1", "fe80::1", "64:ff9b::10.0.0.1", "2002:7f00:1::", "::ffff:10.0.0.1", PUBLIC], 5.0)]
#[tokio::test]
async fn of_a_mixed_answer_only_what_is_public_is_dialled(
    #[case] addresses: &'static [&'static str],
    #[case] shut: f64,
) {
    let proxy = Proxy::asking(at(addresses)).await;
    proxy.internet.put(PUBLIC, echo().await);
    let mut stream = tunnel(proxy.address, "a.example:443").await;
    assert!(is_echoed(&mut stream, "hello").await);
    assert_eq!(proxy.internet.dialled(), ["1.2.3.4:443"]);
    let page = proxy.page("/metrics").await;
    let refused = page
        .lines()
        .filter(|line| line.starts_with("sandgate_egress_addresses_refused_total"));
    let counts = refused.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap());
    assert!((counts.sum::<f64>() - shut).abs() < 0.5, "{page}");
}

// Proves: E-024
#[tokio::test]
async fn a_name_that_moves_is_asked_for_once_a_request_and_judged_each_time() {
    let dns = Dns::start(|_, kind, before| match (kind, before) {
        (RecordType::A, 0) => at(&[PUBLIC]),
        (RecordType::A, _) => at(&["10.0.0.1"]),
        _ => Say::NoAddress,
    })
    .await;
    let proxy = Proxy::start(Setup::default(), dns);
    proxy.internet.put(PUBLIC, echo().await);
    let mut stream = tunnel(proxy.address, "a.example:443").await;
    assert!(is_echoed(&mut stream, "hello").await);
    let asked_for_a = |asked: Vec<String>| asked.iter().filter(|line| line.ends_with(" A")).count();
    assert_eq!(asked_for_a(proxy.dns.asked()), 1);
    let answer = asked(proxy.address, "a.example:443").await;
    assert_eq!(answer.refusal(), (403, "address-not-public"));
    assert_eq!(asked_for_a(proxy.dns.asked()), 2);
    assert_eq!(proxy.internet.dialled(), ["1.2.3.4:443"]);
}

#[tokio::test]
async fn names_are_asked_for_absolutely_and_once_for_each_family() {
    let proxy = Proxy::echoing(Setup::default()).await;
    let _stream = tunnel(proxy.address, "X.Y.B.Example.:443").await;
    let mut asked = proxy.dns.asked();
    asked.sort();
    assert_eq!(asked, ["x.y.b.example. A", "x.y.b.example. AAAA"]);
}

#[tokio::test]
async fn of_an_alias_the_name_that_was_asked_for_counts_and_its_addresses_are_judged() {
    let proxy = Proxy::asking(Say::AliasWith("cdn.unlisted.test", vec![PUBLIC])).await;
    proxy.internet.put(PUBLIC, echo().await);
    let mut stream = tunnel(proxy.address, "a.example:443").await;
    assert!(is_echoed(&mut stream, "hello").await);
}

#[tokio::test]
async fn an_answer_about_another_name_is_none() {
    let proxy = Proxy::asking(Say::Of("other.test", vec![PUBLIC])).await;
    let answer = asked(proxy.address, "a.example:443").await;
    assert_eq!(answer.refusal(), (502, "resolve-failed"));
    assert_eq!(proxy.internet.dialled(), [""; 0]);
}

// Proves: E-022
#[tokio::test]
async fn an_answer_that_is_kept_is_judged_each_time() {
    let proxy = Proxy::asking(Say::Kept(vec![PUBLIC, "10.0.0.1"])).await;
    proxy.internet.put(PUBLIC, echo().await);
    for _ in 0..3 {
        let mut stream = tunnel(proxy.address, "a.example:443").await;
        assert!(is_echoed(&mut stream, "hello").await);
    }
    assert_eq!(proxy.internet.dialled(), ["1.2.3.4:443"; 3]);
    let all = proxy.dns.asked();
    let of_ipv4 = all.iter().filter(|line| line.ends_with(" A")).count();
    assert_eq!(of_ipv4, 1, "{all:?}");
    let private = proxy
        .metric(r#"addresses_refused_total{class="private"}"#)
        .await;
    assert!((private - 3.0).abs() < 0.5, "{private}");
}

#[tokio::test]
async fn aliases_that_go_round_end() {
    let dns = Dns::start(|name, _, _| match name {
        "a.example" => Say::Alias("b.test"),
        _ => Say::Alias("a.example"),
    })
    .await;
    let proxy = Proxy::start(Setup::default(), dns);
    let answer = asked(proxy.address, "a.example:443").await;
    assert_eq!(answer.refusal(), (502, "resolve-failed"));
    assert!(proxy.dns.asked().len() <= 40, "{:?}", proxy.dns.asked());
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_in_time() {
    let dns = Dns::start(|_, _, _| Say::Silence).await;
    let mut setup = Setup::default();
    setup.limits.resolve = Duration::from_millis(300);
    let proxy = Proxy::start(setup, dns);
    let began = Instant::now();
    let answer = asked(proxy.address, "a.example:443").await;
    assert_eq!(answer.refusal(), (504, "resolve-timeout"));
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn a_server_that_is_down_is_given_up_in_time() {
    let dns = Dns::start(|_, _, _| Say::Silence).await;
    let mut setup = Setup {
        // Nobody is there.
        dns_server: Some("127.0.0.1:1"),
        ..Setup::default()
    };
    setup.limits.resolve = Duration::from_millis(500);
    let proxy = Proxy::start(setup, dns);
    let began = Instant::now();
    let answer = asked(proxy.address, "a.example:443").await;
    assert_eq!(answer.refusal(), (504, "resolve-timeout"));
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(proxy.internet.dialled(), [""; 0]);
}

#[tokio::test]
async fn of_very_many_hosts_few_are_asked_for_at_once_and_each_has_its_turn() {
    const AT_ONCE: usize = 64;
    const EACH: Duration = Duration::from_millis(300);
    let dns = Dns::start(|_, _, _| Say::Late(EACH, Box::new(at(&[PUBLIC])))).await;
    let proxy = Proxy::start(Setup::default(), dns);
    proxy.internet.put(PUBLIC, echo().await);
    let address = proxy.address;
    let began = Instant::now();
    let all = (0..3 * AT_ONCE).map(|n| {
        tokio::spawn(async move { drop(tunnel(address, &format!("x{n}.b.example:443")).await) })
    });
    for one in all.collect::<Vec<_>>() {
        one.await.unwrap();
    }
    assert!(began.elapsed() >= 3 * EACH, "{:?}", began.elapsed());
}

#[tokio::test]
async fn one_family_does_not_wait_for_the_other() {
    let dns = Dns::start(|_, kind, _| match kind {
        RecordType::A => at(&[PUBLIC]),
        _ => Say::Silence,
    })
    .await;
    let proxy = Proxy::start(Setup::default(), dns);
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

// Proves: E-023
#[tokio::test]
async fn a_late_public_address_is_waited_for_while_the_others_are_private() {
    let dns = Dns::start(|_, kind, _| match kind {
        RecordType::A => at(&["10.0.0.1"]),
        _ => Say::Late(
            Duration::from_millis(200),
            Box::new(at(&["2606:4700::1111"])),
        ),
    })
    .await;
    let proxy = Proxy::start(Setup::default(), dns);
    proxy.internet.put("2606:4700::1111", echo().await);
    let mut stream = tunnel(proxy.address, "a.example:443").await;
    assert!(is_echoed(&mut stream, "hello").await);
    assert_eq!(proxy.internet.dialled(), ["[2606:4700::1111]:443"]);
}

#[tokio::test]
async fn answers_to_questions_nobody_asked_are_passed_over() {
    let proxy = Proxy::asking(Say::Flood(500, Box::new(at(&[PUBLIC])))).await;
    proxy.internet.put(PUBLIC, echo().await);
    let mut stream = tunnel(proxy.address, "a.example:443").await;
    assert!(is_echoed(&mut stream, "hello").await);
}

#[tokio::test]
async fn rubbish_is_no_answer() {
    let dns = Dns::start(|_, _, _| Say::Rubbish).await;
    let mut setup = Setup::default();
    setup.limits.resolve = Duration::from_millis(500);
    let proxy = Proxy::start(setup, dns);
    let answer = asked(proxy.address, "a.example:443").await;
    assert!(answer.status == 502 || answer.status == 504, "{answer:?}");
    assert_eq!(proxy.internet.dialled(), [""; 0]);
}
