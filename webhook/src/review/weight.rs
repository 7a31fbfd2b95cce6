//! What a body weighs once it is a tree of values. Pure.
//!
//! Seven bytes of text, `{"":0}` and a comma, become an object of over 600 bytes, so a limit on the
//! size of a body bounds no memory: one body of 3 MB could take hundreds. The weight is found in one
//! pass without recursion, before anything is built.

/// The most a tree may weigh. A list of 100,000 small objects is still read, to be refused by its rule.
pub(super) const MOST: usize = 96 * 1024 * 1024;

/// A node of serde_json's map, which holds up to eleven members and is made for the first.
const OBJECT: usize = 640;
/// The smallest room that a list makes for its items.
const LIST: usize = 128;
/// One more value: its place in its parent, with the room that parents keep free.
const VALUE: usize = 64;

/// Whether `body` weighs no more than [`MOST`] as a tree. Strings count by their text; a body that is
/// no JSON weighs something too.
pub(super) fn is_bearable(body: &[u8]) -> bool {
    // No byte weighs more than one that opens an object, so most bodies need not be looked at.
    if body.len().saturating_mul(OBJECT) <= MOST {
        return true;
    }
    let mut weight = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for byte in body {
        let more = match byte {
            _ if escaped => {
                escaped = false;
                1
            }
            b'\\' if in_string => {
                escaped = true;
                0
            }
            b'"' => {
                in_string = !in_string;
                0
            }
            _ if in_string => 1,
            b'{' => OBJECT,
            b'[' => LIST,
            b',' => VALUE,
            _ => 0,
        };
        weight = weight.saturating_add(more);
    }
    weight <= MOST
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::objects("{\"\":0},", 200_000)]
    #[case::objects_deep_down("{\"\":", 200_000)]
    #[case::lists("[0],", 800_000)]
    #[case::numbers("0,", 1_700_000)]
    fn a_body_that_would_swell_is_too_heavy(#[case] piece: &str, #[case] times: usize) {
        assert!(!is_bearable(piece.repeat(times).as_bytes()));
    }

    #[rstest]
    #[case::a_list_to_be_refused_by_its_rule("{\"role\":\"a\",\"connection\":\"b\"},", 100_000)]
    #[case::text("[{, ", 1_500_000)]
    fn a_body_of_a_size_that_may_be_is_bearable(#[case] piece: &str, #[case] times: usize) {
        let pieces = piece.repeat(times);
        let body = if piece.starts_with('[') {
            format!(r#"{{"annotation":"\"{pieces}"}}"#)
        } else {
            format!("[{pieces}0]")
        };
        assert!(is_bearable(body.as_bytes()));
    }
}
