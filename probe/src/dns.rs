//! Just enough DNS to see whether a server answers: one question, and the head of the reply. Pure.

/// A reply without any record is this long.
const HEADER: usize = 12;
/// Of the third byte: this is a reply.
const IS_REPLY: u8 = 0x80;

/// A question for the IPv4 address of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The name, each label behind its length, ended by an empty one.
    name: Vec<u8>,
}

impl Query {
    /// A question for `name`, unless it is none.
    pub fn new(name: &str) -> Option<Self> {
        if !is_name(name) {
            return None;
        }
        let mut packed = Vec::with_capacity(name.len().saturating_add(2));
        for label in name.trim_end_matches('.').split('.') {
            packed.push(u8::try_from(label.len()).ok()?);
            packed.extend_from_slice(label.as_bytes());
        }
        packed.push(0);
        Some(Self { name: packed })
    }

    /// The datagram that asks, recognised by its `id`.
    pub fn packet(&self, id: u16) -> Vec<u8> {
        let mut packet = Vec::with_capacity(self.name.len().saturating_add(16));
        packet.extend_from_slice(&id.to_be_bytes());
        // Recursion wished; one question; no records.
        packet.extend_from_slice(&[1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        packet.extend_from_slice(&self.name);
        // The IPv4 address (A) of the internet (IN).
        packet.extend_from_slice(&[0, 1, 0, 1]);
        packet
    }
}

/// Whether this is a reply to the question `id`: also "no such name" is an answer.
pub fn is_reply(packet: &[u8], id: u16) -> bool {
    let Some([first, second, flags, ..]) = packet.first_chunk::<HEADER>() else {
        return false;
    };
    u16::from_be_bytes([*first, *second]) == id && flags & IS_REPLY != 0
}

/// Whether this can be looked up: labels of letters, digits, `-` and `_`, each at most 63 long.
pub fn is_name(name: &str) -> bool {
    let bare = name.strip_suffix('.').unwrap_or(name);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    bare.len() <= 253
        && bare
            .split('.')
            .all(|label| (1..=63).contains(&label.len()) && label.bytes().all(fits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_question_is_packed_as_the_standard_says() {
        let packet = Query::new("a.bc.").unwrap().packet(0x1234);
        let head = [0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let question = [1, b'a', 2, b'b', b'c', 0, 0, 1, 0, 1];
        assert_eq!(packet, [head.as_slice(), question.as_slice()].concat());
    }

    #[rstest::rstest]
    #[case("")]
    #[case(".")]
    #[case("a..b")]
    #[case("a b")]
    #[case("a/b")]
    #[case("ä.b")]
    fn what_is_no_name_cannot_be_asked_for(#[case] name: &str) {
        assert_eq!(Query::new(name), None);
    }

    #[test]
    fn labels_and_names_have_a_longest() {
        let label = "a".repeat(63);
        assert!(is_name(&label));
        assert!(!is_name(&format!("{label}a")));
        let name = [label.as_str(); 4].join(".");
        assert!(is_name(&name[..253]));
        assert!(!is_name(&name));
    }

    #[rstest::rstest]
    #[case(&[0, 7, 0x81, 0x80, 0, 1, 0, 2, 0, 0, 0, 0], true)]
    #[case(&[0, 7, 0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0, 9], true)]
    // Another question's, a question, cut short, nothing.
    #[case(&[0, 8, 0x81, 0x80, 0, 1, 0, 2, 0, 0, 0, 0], false)]
    #[case(&[0, 7, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0], false)]
    #[case(&[0, 7, 0x81, 0x80, 0, 1, 0, 2, 0, 0, 0], false)]
    #[case(&[], false)]
    fn only_a_reply_to_the_question_counts(#[case] packet: &[u8], #[case] counts: bool) {
        assert_eq!(is_reply(packet, 7), counts);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_reply_or_none(packet in prop::collection::vec(any::<u8>(), 0..64), id: u16) {
            if is_reply(&packet, id) {
                prop_assert!(packet.starts_with(&id.to_be_bytes()));
            }
        }

        #[test]
        fn a_question_that_comes_back_is_no_reply(id: u16) {
            prop_assert!(!is_reply(&Query::new("a.b").unwrap().packet(id), id));
        }
    }
}
