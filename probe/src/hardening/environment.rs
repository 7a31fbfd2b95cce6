//! The variables of a container. Pure.

use std::ffi::OsString;

/// Their names, sorted.
pub fn names(names: impl Iterator<Item = OsString>) -> Vec<String> {
    let mut names: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Those by which a kubelet tells a pod of Services: `A_SERVICE_HOST`, `A_SERVICE_PORT`,
/// `A_SERVICE_PORT_HTTP`, `A_PORT`, `A_PORT_80_TCP`, `A_PORT_80_TCP_ADDR`, …
pub fn of_services(names: &[String]) -> Vec<String> {
    let found = names.iter().filter(|name| is_of_a_service(name));
    found.cloned().collect()
}

fn is_of_a_service(name: &str) -> bool {
    let has_stem = |stem: &str| !stem.is_empty();
    if ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT"]
        .iter()
        .any(|end| name.strip_suffix(end).is_some_and(has_stem))
    {
        return true;
    }
    if name
        .split_once("_SERVICE_PORT_")
        .is_some_and(|(stem, port)| has_stem(stem) && !port.is_empty())
    {
        return true;
    }
    name.split_once("_PORT_")
        .is_some_and(|(stem, rest)| has_stem(stem) && is_port(rest))
}

/// `80_TCP`, `80_TCP_ADDR`, …
fn is_port(text: &str) -> bool {
    let mut parts = text.split('_');
    let number = parts.next().is_some_and(|it| it.parse::<u16>().is_ok());
    let protocol = matches!(parts.next(), Some("TCP" | "UDP" | "SCTP"));
    let what = matches!(parts.next(), None | Some("PROTO" | "PORT" | "ADDR"));
    number && protocol && what && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("KUBERNETES_SERVICE_HOST")]
    #[case("WEB_SERVICE_PORT")]
    #[case("WEB_SERVICE_PORT_HTTP")]
    #[case("WEB_PORT")]
    #[case("WEB_PORT_80_TCP")]
    #[case("WEB_PORT_53_UDP_ADDR")]
    #[case("A_B_PORT_53_SCTP_PROTO")]
    fn a_variable_of_a_service_is_known(#[case] name: &str) {
        assert!(is_of_a_service(name));
    }

    #[rstest::rstest]
    #[case("PATH")]
    #[case("_PORT")]
    #[case("_SERVICE_HOST")]
    #[case("SERVICE_HOST_NAME")]
    #[case("WEB_PORT_NAME")]
    #[case("WEB_PORT_80")]
    #[case("WEB_PORT_80_QUIC")]
    #[case("WEB_PORT_80_TCP_ADDR_X")]
    #[case("WEB_PORT_99999_TCP")]
    #[case("")]
    fn another_variable_is_not(#[case] name: &str) {
        assert!(!is_of_a_service(name));
    }

    #[test]
    fn names_are_sorted_and_need_not_be_text() {
        use std::os::unix::ffi::OsStringExt;
        let given = [
            OsString::from("B"),
            OsString::from_vec(vec![0xff]),
            OsString::from("A"),
        ];
        assert_eq!(names(given.into_iter()), ["A", "B", "\u{fffd}"]);
    }
}
