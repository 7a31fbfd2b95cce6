//! `/proc/self/mountinfo`: what is mounted where. Pure.

use serde::{Deserialize, Serialize};

/// Something that is mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Where.
    pub path: String,
    /// The kind of file system.
    pub fstype: String,
    /// Options of this mount: `ro`, `nosuid`, …
    pub options: Vec<String>,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// Which folder of the file system is mounted.
    pub(super) root: String,
    /// Where it is mounted.
    pub(super) path: String,
    /// Options of this mount.
    pub(super) options: Vec<&'a str>,
    /// The kind of file system.
    pub(super) fstype: &'a str,
    /// Options of the file system, wherever it is mounted.
    pub(super) of_all: Vec<&'a str>,
}

/// The mounts, in the order of the file.
pub fn parse(text: &str) -> Vec<Mount> {
    let mounts = entries(text).map(|entry| Mount {
        path: entry.path,
        fstype: entry.fstype.to_owned(),
        options: entry.options.into_iter().map(str::to_owned).collect(),
    });
    mounts.collect()
}

/// Whether nothing can be written to `/`: the last mount there is the one that is seen.
pub fn root_is_read_only(text: &str) -> Option<bool> {
    let root = entries(text).filter(|entry| entry.path == "/").last()?;
    Some(root.options.contains(&"ro") || root.of_all.contains(&"ro"))
}

/// The lines that can be understood:
/// `36 35 98:0 /root /where rw,noatime optional:1 - ext3 /dev/x rw,errors=continue`.
pub(super) fn entries(text: &str) -> impl Iterator<Item = Entry<'_>> {
    text.lines().filter_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, path, options) = (mount.next()?, mount.next()?, mount.next()?);
        let mut system = system.split(' ');
        let (fstype, _source) = (system.next()?, system.next()?);
        Some(Entry {
            root: unescape(root),
            path: unescape(path),
            options: options.split(',').collect(),
            fstype,
            of_all: system.next().unwrap_or_default().split(',').collect(),
        })
    })
}

/// The kernel writes a space as `\040`, and a few others likewise.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let octal = after
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let (Some(byte), Some(behind)) = (octal.filter(u8::is_ascii), after.get(3..)) {
            plain.push(char::from(byte));
            rest = behind;
        } else {
            plain.push('\\');
            rest = after;
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CONTAINER: &str = "\
        700 600 0:50 / / ro,relatime master:5 - overlay overlay rw,lowerdir=/a,upperdir=/b\n\
        701 700 0:53 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n\
        702 700 0:55 / /data\\040of\\134it rw - tmpfs tmpfs rw,size=64k,mode=755\n";

    #[test]
    fn each_mount_is_read_with_its_own_options() {
        let mount = |path: &str, fstype: &str, options: &[&str]| Mount {
            path: path.to_owned(),
            fstype: fstype.to_owned(),
            options: options.iter().map(|&it| it.to_owned()).collect(),
        };
        assert_eq!(
            parse(CONTAINER),
            [
                mount("/", "overlay", &["ro", "relatime"]),
                mount(
                    "/proc",
                    "proc",
                    &["rw", "nosuid", "nodev", "noexec", "relatime"]
                ),
                mount("/data of\\it", "tmpfs", &["rw"]),
            ]
        );
    }

    #[rstest::rstest]
    #[case(CONTAINER, Some(true))]
    #[case("1 0 0:1 / / rw - ext4 /dev/vda rw\n", Some(false))]
    #[case("1 0 0:1 / / rw - ext4 /dev/vda ro\n", Some(true))]
    // Only the last of two is seen.
    #[case(
        "1 0 0:1 / / ro - rootfs none rw\n2 1 0:2 / / rw - overlay overlay rw\n",
        Some(false)
    )]
    #[case("1 0 0:1 / /tmp ro - tmpfs tmpfs rw\n", None)]
    // `ro` alone counts, not what contains it.
    #[case(
        "1 0 0:1 / / rw,error - ext4 /dev/vda rw,errors=remount-ro\n",
        Some(false)
    )]
    fn the_root_is_read_only_if_its_mount_or_its_file_system_is(
        #[case] text: &str,
        #[case] read_only: Option<bool>,
    ) {
        assert_eq!(root_is_read_only(text), read_only);
    }

    #[rstest::rstest]
    #[case("")]
    #[case("\n\n - \n")]
    #[case("1 2 3 - x")]
    #[case("1 0 0:1 / / rw")]
    #[case("1 0 0:1 / / rw - ext4")]
    fn a_line_that_makes_no_sense_is_left_out(#[case] text: &str) {
        assert_eq!(parse(text), []);
    }

    #[rstest::rstest]
    #[case("plain", "plain")]
    #[case("a\\040b", "a b")]
    #[case("a\\", "a\\")]
    #[case("a\\04", "a\\04")]
    #[case("a\\999", "a\\999")]
    #[case("a\\377b", "a\\377b")]
    #[case("\\ü12", "\\ü12")]
    fn escapes_are_undone_and_others_left(#[case] text: &str, #[case] plain: &str) {
        assert_eq!(unescape(text), plain);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "([0-9:]{1,4} |/\\PC{0,8} |- |\\\\[0-9]{0,3}|\n){0,40}") {
            prop_assert!(parse(&text).len() <= text.lines().count());
        }
    }
}
