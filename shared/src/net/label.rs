//! DNS labels, which names in Kubernetes are made of (RFC 1123, 2.1). Pure.

/// The longest label, in characters (RFC 1035, 2.3.4).
pub const LONGEST: usize = 63;
/// The longest name, in characters (RFC 1035, 2.3.4).
pub const LONGEST_NAME: usize = 253;

/// Whether `text` is a label as Kubernetes has it: 1 to 63 lower-case letters, digits and `-`, the
/// first and last no `-`.
pub fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Whether `text` is labels joined by dots, at most 253 characters in all.
pub fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME && text.split('.').all(is_label)
}

/// Reads the name of a namespace.
///
/// # Errors
/// How it must be written.
pub fn namespace(text: &str) -> Result<String, String> {
    is_label(text).then(|| text.to_owned()).ok_or_else(|| {
        format!(
            "must be the name of a namespace: at most {LONGEST} lower-case letters, digits and '-', no '-' first or last"
        )
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::one_letter("a")]
    #[case::digits_alone("123")]
    #[case::a_dash_within("kube-system")]
    fn a_label_is_a_name_of_one(#[case] text: &str) {
        assert!(is_label(text) && is_name(text));
    }

    #[rstest]
    #[case::nothing("")]
    #[case::upper_case("A")]
    #[case::a_dash_first("-a")]
    #[case::a_dash_last("a-")]
    #[case::an_underscore("a_b")]
    #[case::another_alphabet("ä")]
    fn what_no_label_may_hold_is_in_no_name(#[case] text: &str) {
        assert!(!is_label(text) && !is_name(text) && !is_name(&format!("a.{text}")));
    }

    #[test]
    fn a_label_ends_at_63_characters_and_a_name_at_253() {
        let label = "a".repeat(LONGEST);
        assert!(is_label(&label) && !is_label(&format!("{label}a")));
        let name = [label.as_str(); 3].join(".") + "." + &"a".repeat(61);
        assert!(is_name(&name) && !is_name(&format!("{name}a")));
        assert!(!is_label("a.b") && is_name("a.b"));
    }
}
