//! Names of probes and labels of targets: what one side sends and the other writes down. Pure.

/// Longer ones would be cut off where they are written down.
const LONGEST: usize = 80;

/// Why a name cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name is 1 to {LONGEST} visible ASCII characters without `>`")]
pub struct NoName;

/// The name, if receivers can write it down unchanged: `a-sandbox`.
pub fn check(name: &str) -> Result<String, NoName> {
    let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'>';
    if name.is_empty() || name.len() > LONGEST || !name.bytes().all(fits) {
        return Err(NoName);
    }
    Ok(name.to_owned())
}

/// What a dialler says to whom it reaches: `NAME>LABEL` and a line feed.
pub fn greeting(name: &str, label: &str) -> String {
    format!("{name}>{label}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("alice")]
    #[case("node/10.0.0.1:80=x")]
    fn a_visible_name_is_taken_as_it_is(#[case] name: &str) {
        assert_eq!(check(name), Ok(name.to_owned()));
    }

    #[rstest::rstest]
    #[case("")]
    #[case("two words")]
    #[case("a>b")]
    #[case("line\nfeed")]
    #[case("ü")]
    fn a_name_that_would_not_arrive_unchanged_is_refused(#[case] name: &str) {
        assert_eq!(check(name), Err(NoName));
    }

    #[test]
    fn the_longest_greeting_is_written_down_whole() {
        let name = "n".repeat(LONGEST);
        let greeting = greeting(&check(&name).unwrap(), &name);
        assert_eq!(
            crate::said::first_line(greeting.as_bytes()),
            greeting.trim_end()
        );
        assert_eq!(check(&format!("{name}n")), Err(NoName));
    }
}
