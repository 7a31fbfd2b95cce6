use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn class(address: &str) -> Option<Class> {
    not_public(address.parse().unwrap())
}

/// The registries of special-purpose addresses of IANA, row by row, with what is made of each.
const REGISTRY: [(&str, Option<Class>); 52] = [
    // IPv4.
    ("0.0.0.0/8", Some(Class::ThisNetwork)),
    ("0.0.0.0/32", Some(Class::ThisNetwork)),
    ("10.0.0.0/8", Some(Class::Private)),
    ("100.64.0.0/10", Some(Class::Shared)),
    ("127.0.0.0/8", Some(Class::Loopback)),
    ("169.254.0.0/16", Some(Class::LinkLocal)),
    ("172.16.0.0/12", Some(Class::Private)),
    ("192.0.0.0/24", Some(Class::Protocol)),
    ("192.0.0.0/29", Some(Class::Protocol)),
    ("192.0.0.8/32", Some(Class::Protocol)),
    ("192.0.0.9/32", Some(Class::Protocol)),
    ("192.0.0.10/32", Some(Class::Protocol)),
    ("192.0.0.170/32", Some(Class::Protocol)),
    ("192.0.0.171/32", Some(Class::Protocol)),
    ("192.0.2.0/24", Some(Class::Documentation)),
    ("192.31.196.0/24", None),
    ("192.52.193.0/24", None),
    ("192.88.99.0/24", Some(Class::Tunnelled)),
    ("192.88.99.2/32", Some(Class::Tunnelled)),
    ("192.168.0.0/16", Some(Class::Private)),
    ("192.175.48.0/24", None),
    ("198.18.0.0/15", Some(Class::Benchmarking)),
    ("198.51.100.0/24", Some(Class::Documentation)),
    ("203.0.113.0/24", Some(Class::Documentation)),
    ("240.0.0.0/4", Some(Class::Reserved)),
    ("255.255.255.255/32", Some(Class::Reserved)),
    // IPv6.
    ("::1/128", Some(Class::Loopback)),
    ("::/128", Some(Class::ThisNetwork)),
    ("::ffff:0:0/96", Some(Class::Translated)),
    ("64:ff9b::/96", Some(Class::Translated)),
    ("64:ff9b:1::/48", Some(Class::Translated)),
    ("100::/64", Some(Class::Reserved)),
    ("100:0:0:1::/64", Some(Class::Reserved)),
    ("2001::/32", Some(Class::Tunnelled)),
    ("2001:1::1/128", Some(Class::Protocol)),
    ("2001:1::2/128", Some(Class::Protocol)),
    ("2001:1::3/128", Some(Class::Protocol)),
    ("2001:2::/48", Some(Class::Benchmarking)),
    ("2001:3::/32", Some(Class::Protocol)),
    ("2001:4:112::/48", Some(Class::Protocol)),
    ("2001:10::/28", Some(Class::Protocol)),
    ("2001:20::/28", Some(Class::Protocol)),
    ("2001:30::/28", Some(Class::Protocol)),
    ("2001:db8::/32", Some(Class::Documentation)),
    ("2002::/16", Some(Class::Tunnelled)),
    ("2620:4f:8000::/48", None),
    ("3fff::/20", Some(Class::Documentation)),
    ("5f00::/16", Some(Class::Protocol)),
    ("fc00::/7", Some(Class::Private)),
    ("fe80::/10", Some(Class::LinkLocal)),
    // Of other registries: multicast of both families.
    ("224.0.0.0/4", Some(Class::Multicast)),
    ("ff00::/8", Some(Class::Multicast)),
];

// Proves: E-022, E-025
#[test]
fn every_row_of_the_registries_is_judged_as_it_says_from_its_first_address_to_its_last() {
    let wrong: Vec<String> = REGISTRY
        .iter()
        .flat_map(|&(row, wanted)| {
            let network: IpNet = row.parse().unwrap();
            [network.network(), network.broadcast()].map(|address| (row, address, wanted))
        })
        .filter(|&(_, address, wanted)| not_public(address) != wanted)
        .map(|(row, address, wanted)| format!("{address} of {row}: not {wanted:?}"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

// Proves: E-022, E-025
#[rstest]
#[case("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0")]
#[case("100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0")]
#[case("126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0")]
#[case("168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17")]
#[case("169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0")]
#[case("172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0")]
#[case("191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0")]
#[case("192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0")]
#[case("192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0")]
#[case("192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0")]
#[case("198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0")]
#[case("198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0")]
#[case("203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0")]
#[case("2000:ffff::", "2001::", "2001:1ff:ffff::", "2001:200::")]
#[case("2001:db7::", "2001:db8::", "2001:db8:ffff::", "2001:db9::")]
#[case("2001:ffff::", "2002::", "2002:ffff::", "2003::")]
#[case("3ffe:ffff::", "3fff::", "3fff:fff:ffff::", "3fff:1000::")]
fn a_block_begins_and_ends_where_it_does(
    #[case] before: &str,
    #[case] first: &str,
    #[case] last: &str,
    #[case] after: &str,
) {
    let seen = [before, first, last, after].map(|address| class(address).is_none());
    assert_eq!(seen, [true, false, false, true]);
}

// Proves: E-022, E-025
#[rstest]
#[case::all_clouds("169.254.169.254", Class::LinkLocal)]
#[case::ecs("169.254.170.2", Class::LinkLocal)]
#[case::eks("169.254.170.23", Class::LinkLocal)]
#[case::eks_by_ipv6("fd00:ec2::23", Class::Private)]
#[case::aws_by_ipv6("fd00:ec2::254", Class::Private)]
#[case::aws_dns("169.254.169.253", Class::LinkLocal)]
#[case::gcp_by_ipv6("fd20:ce::254", Class::Private)]
#[case::alibaba("100.100.100.200", Class::Shared)]
#[case::oci_classic("192.0.0.192", Class::Protocol)]
#[case::tencent("169.254.0.23", Class::LinkLocal)]
#[case::scaleway("fd00:42::42", Class::Private)]
#[case::openstack_by_ipv6("fe80::a9fe:a9fe", Class::LinkLocal)]
#[case::azure("168.63.129.16", Class::Platform)]
fn no_metadata_service_is_public(#[case] address: &str, #[case] wanted: Class) {
    assert_eq!(class(address), Some(wanted));
}

// Proves: E-025
#[rstest]
#[case::mapped("::ffff:8.8.8.8", Class::Translated)]
#[case::compatible("::8.8.8.8", Class::Translated)]
#[case::translated("::ffff:0:8.8.8.8", Class::Translated)]
#[case::nat64("64:ff9b::8.8.8.8", Class::Translated)]
#[case::nat64_of_the_site("64:ff9b:1::8.8.8.8", Class::Translated)]
#[case::sixtofour("2002:808:808::1", Class::Tunnelled)]
#[case::teredo("2001:0:808:808::1", Class::Tunnelled)]
#[case::isatap("2a00:1450::5efe:8.8.8.8", Class::Tunnelled)]
#[case::isatap_of_a_global_address("2a00:1450::200:5efe:8.8.8.8", Class::Tunnelled)]
#[case::site_local("fec0::1", Class::Private)]
#[case::of_nsap("200::1", Class::Reserved)]
#[case::beyond_what_is_given_out("4000::1", Class::Reserved)]
fn an_address_in_other_clothes_or_of_nobody_is_not_public(
    #[case] address: &str,
    #[case] wanted: Class,
) {
    assert_eq!(class(address), Some(wanted));
}

#[rstest]
#[case("1.1.1.1")]
#[case("140.82.121.6")]
#[case("223.255.255.255")]
#[case("2606:4700:4700::1111")]
#[case("2a00:1450:4001:82a::200e")]
fn an_address_anybody_can_reach_is_public(#[case] address: &str) {
    assert_eq!(class(address), None);
}

#[test]
fn a_policy_excepts_only_what_lies_in_its_network_and_nothing_twice() {
    for public in public_networks() {
        for (index, except) in public.except.iter().enumerate() {
            assert!(public.network.contains(except), "{except}");
            assert_eq!(except.trunc(), *except);
            let others = public.except.iter().skip(index + 1);
            for other in others {
                assert!(
                    !except.contains(other) && !other.contains(except),
                    "{except}, {other}"
                );
            }
        }
    }
}

fn by_policy(address: IpAddr) -> bool {
    public_networks().iter().any(|public| {
        public.network.contains(&address)
            && !public.except.iter().any(|except| except.contains(&address))
    })
}

/// Addresses of which a good part lies in or near a row.
fn address() -> impl Strategy<Value = IpAddr> {
    let near = (0..REGISTRY.len(), any::<u128>(), 0..=128_u32).prop_map(|(row, noise, shift)| {
        let network: IpNet = REGISTRY[row].0.parse().unwrap();
        let noise = noise.checked_shr(shift).unwrap_or(0);
        match network.network() {
            IpAddr::V4(base) => Ipv4Addr::from(u32::from(base) ^ (noise >> 96) as u32).into(),
            IpAddr::V6(base) => Ipv6Addr::from(u128::from(base) ^ noise).into(),
        }
    });
    prop_oneof![
        near,
        any::<u32>().prop_map(|bits| IpAddr::V4(bits.into())),
        any::<u128>().prop_map(|bits| IpAddr::V6(bits.into())),
    ]
}

proptest! {
    // Proves: E-022
    // The table's half of E-009.
    #[test]
    fn a_policy_opens_just_what_the_proxy_takes_for_public(address in address()) {
        let isatap = matches!(address, IpAddr::V6(address) if is_isatap(address));
        if !isatap {
            prop_assert_eq!(by_policy(address), not_public(address).is_none());
        }
    }

    // Proves: E-025
    #[test]
    fn no_form_that_holds_an_ipv4_address_is_public(bits in any::<u32>()) {
        let [a, b] = [(bits >> 16) as u16, (bits & 0xffff) as u16];
        for form in [
            [0, 0, 0, 0, 0, 0, a, b],
            [0, 0, 0, 0, 0, 0xffff, a, b],
            [0, 0, 0, 0, 0xffff, 0, a, b],
            [0x64, 0xff9b, 0, 0, 0, 0, a, b],
            [0x64, 0xff9b, 1, 0, 0, 0, a, b],
            [0x2002, a, b, 0, 0, 0, 0, 1],
            [0x2001, 0, a, b, 0, 0, !a, !b],
            [0x2a00, 0, 0, 0, 0, 0x5efe, a, b],
        ] {
            let address = Ipv6Addr::from(form);
            prop_assert!(not_public(address.into()).is_some(), "{}", address);
        }
    }
}
