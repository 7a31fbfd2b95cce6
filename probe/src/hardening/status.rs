//! `/proc/self/status`: who a process is and what it may do. Pure.

use serde::{Deserialize, Serialize};

/// Who a process is and what it may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The effective user.
    pub uid: Option<u32>,
    /// The effective group.
    pub gid: Option<u32>,
    /// The supplementary groups.
    pub groups: Vec<u32>,
    /// What it may do that only root may.
    pub capabilities: Capabilities,
    /// Whether no program it starts can have more rights than itself.
    pub no_new_privs: Option<bool>,
    /// 0: every system call is allowed; 1: almost none; 2: those a filter lets through.
    pub seccomp: Option<u32>,
}

/// Sets of capabilities, as the kernel writes them: hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Those in force.
    pub effective: Option<String>,
    /// Those it may put in force.
    pub permitted: Option<String>,
    /// Those it may hand on.
    pub inheritable: Option<String>,
    /// Those that can ever be had.
    pub bounding: Option<String>,
    /// Those programs it starts have without asking.
    pub ambient: Option<String>,
}

/// Reads what is there; what is not, or makes no sense, stays unknown.
pub fn parse(text: &str) -> Status {
    let field = |name: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.trim())
    };
    // Real, effective, saved, of the file system.
    let effective = |name| field(name)?.split_whitespace().nth(1)?.parse().ok();
    let number = |name| field(name)?.parse::<u32>().ok();
    let set = |name| {
        let digits = field(name)?;
        let is_hex = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit());
        is_hex.then(|| digits.to_owned())
    };
    let groups = field("Groups").unwrap_or_default().split_whitespace();
    Status {
        uid: effective("Uid"),
        gid: effective("Gid"),
        groups: groups.filter_map(|group| group.parse().ok()).collect(),
        capabilities: Capabilities {
            effective: set("CapEff"),
            permitted: set("CapPrm"),
            inheritable: set("CapInh"),
            bounding: set("CapBnd"),
            ambient: set("CapAmb"),
        },
        no_new_privs: number("NoNewPrivs").map(|it| it != 0),
        seccomp: number("Seccomp"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RESTRICTED: &str = "Name:\tsandgate-probe\nUmask:\t0022\nState:\tR (running)\nPid:\t1\n\
        Uid:\t0\t65532\t65532\t65532\nGid:\t0\t65533\t65533\t65533\nGroups:\t3000 65532 \n\
        CapInh:\t0000000000000000\nCapPrm:\t0000000000000001\nCapEff:\t0000000000000002\n\
        CapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000004\nNoNewPrivs:\t1\nSeccomp:\t2\n\
        Seccomp_filters:\t1\n";

    #[test]
    fn the_effective_identity_and_each_set_are_read() {
        let set = |digits: &str| Some(digits.to_owned());
        let read = Status {
            uid: Some(65532),
            gid: Some(65533),
            groups: vec![3000, 65532],
            capabilities: Capabilities {
                effective: set("0000000000000002"),
                permitted: set("0000000000000001"),
                inheritable: set("0000000000000000"),
                bounding: set("000001ffffffffff"),
                ambient: set("0000000000000004"),
            },
            no_new_privs: Some(true),
            seccomp: Some(2),
        };
        assert_eq!(parse(RESTRICTED), read);
    }

    #[rstest::rstest]
    #[case("")]
    #[case("Uid:\nGid:\t\nGroups:\nCapEff:\nNoNewPrivs:\nSeccomp:\n")]
    #[case("Uid: a b c\nGid: -1 -1\nGroups: x\nCapEff: rm -rf\nNoNewPrivs: yes\nSeccomp: 2.5")]
    #[case("Uid 0 0 0 0\nCapEff 00\n:::\n")]
    fn what_makes_no_sense_stays_unknown(#[case] text: &str) {
        assert_eq!(parse(text), Status::default());
    }

    #[test]
    fn our_own_status_is_understood() {
        let status = parse(&std::fs::read_to_string("/proc/self/status").unwrap());
        assert!(status.uid.is_some() && status.gid.is_some());
        assert!(status.capabilities.bounding.is_some());
        assert!(status.no_new_privs.is_some());
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "((Uid|Gid|Groups|CapEff|Seccomp|NoNewPrivs)?:?[\t 0-9a-f]{0,20}\n|\\PC{0,20})*") {
            parse(&text);
        }
    }
}
