//! Echo requests and replies of ICMP, as an unprivileged ping socket takes and gives them: the kernel
//! fills in identifier and checksum. Pure.

use std::net::IpAddr;

/// Which types of message ask and answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    request: u8,
    reply: u8,
}

/// Those of ICMP for an address.
pub fn kinds(ip: IpAddr) -> Kinds {
    match ip {
        IpAddr::V4(_) => Kinds {
            request: 8,
            reply: 0,
        },
        IpAddr::V6(_) => Kinds {
            request: 128,
            reply: 129,
        },
    }
}

/// A request that carries `said` and is recognised by its `sequence`.
pub fn request(kinds: Kinds, sequence: u16, said: &[u8]) -> Vec<u8> {
    let mut packet = vec![kinds.request, 0, 0, 0, 0, 0];
    packet.extend_from_slice(&sequence.to_be_bytes());
    packet.extend_from_slice(said);
    packet
}

/// Whether this is the reply to the request of this `sequence`.
pub fn is_reply(kinds: Kinds, sequence: u16, packet: &[u8]) -> bool {
    let Some([kind, 0, _, _, _, _, high, low]) = packet.first_chunk::<8>() else {
        return false;
    };
    *kind == kinds.reply && u16::from_be_bytes([*high, *low]) == sequence
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

    #[rstest::rstest]
    #[case(V4, &[8, 0, 0, 0, 0, 0, 1, 2, b'x'])]
    #[case(V6, &[128, 0, 0, 0, 0, 0, 1, 2, b'x'])]
    fn a_request_is_packed_as_the_standard_says(#[case] ip: IpAddr, #[case] packet: &[u8]) {
        assert_eq!(request(kinds(ip), 0x0102, b"x"), packet);
    }

    #[rstest::rstest]
    #[case(V4, &[0, 0, 9, 9, 9, 9, 0, 7], true)]
    #[case(V4, &[0, 0, 9, 9, 9, 9, 0, 7, 1, 2, 3], true)]
    #[case(V6, &[129, 0, 9, 9, 9, 9, 0, 7], true)]
    // Another one's, a request, another code, the other family's, cut short, nothing.
    #[case(V4, &[0, 0, 9, 9, 9, 9, 0, 8], false)]
    #[case(V4, &[8, 0, 9, 9, 9, 9, 0, 7], false)]
    #[case(V4, &[0, 1, 9, 9, 9, 9, 0, 7], false)]
    #[case(V4, &[129, 0, 9, 9, 9, 9, 0, 7], false)]
    #[case(V4, &[0, 0, 9, 9, 9, 9, 0], false)]
    #[case(V4, &[], false)]
    fn only_the_reply_to_the_request_counts(
        #[case] ip: IpAddr,
        #[case] packet: &[u8],
        #[case] counts: bool,
    ) {
        assert_eq!(is_reply(kinds(ip), 7, packet), counts);
    }

    proptest! {
        #[test]
        fn a_request_that_comes_back_is_no_reply(sequence: u16, said in prop::collection::vec(any::<u8>(), 0..64)) {
            for ip in [V4, V6] {
                let packet = request(kinds(ip), sequence, &said);
                prop_assert!(!is_reply(kinds(ip), sequence, &packet));
            }
        }
    }
}
