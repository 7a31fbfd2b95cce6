//! What lies where in an image: folders that come by themselves, files and links, sorted. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::OciError;

/// Names for the users of our images, so that tools that ask for one get an answer.
const PASSWD: &str = "root:x:0:0:root:/:/sbin/nologin\n\
    nonroot:x:65532:65532:nonroot:/:/sbin/nologin\n";
const GROUP: &str = "root:x:0:\nnonroot:x:65532:\n";

/// Something that lies at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// A folder with these permissions.
    Folder(u32),
    /// A file with this text.
    Text(&'static str),
    /// A copy of a file of this machine.
    File(PathBuf),
    /// A symbolic link to this target.
    Link(String),
}

/// All nodes by their path without the leading `/`. Sorted, a folder comes before what it holds.
#[derive(Debug)]
pub(super) struct Tree(BTreeMap<String, Node>);

impl Tree {
    /// The given files and links, and the folders and names every image has.
    pub(super) fn of(
        files: &[(PathBuf, String)],
        links: &[(String, String)],
    ) -> Result<Self, OciError> {
        let mut tree = Self(BTreeMap::new());
        for (source, at) in files {
            tree.put(at, Node::File(source.clone()))?;
        }
        for (target, at) in links {
            if target.is_empty() {
                return Err(OciError::NoTarget(at.clone()));
            }
            tree.put(at, Node::Link(target.clone()))?;
        }
        tree.folder("tmp", 0o1777)?;
        tree.folder("etc", 0o755)?;
        for (path, text) in [("etc/passwd", PASSWD), ("etc/group", GROUP)] {
            tree.0.entry(path.to_owned()).or_insert(Node::Text(text));
        }
        Ok(tree)
    }

    /// Every node, folders before what they hold.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(path, node)| (path.as_str(), node))
    }

    fn put(&mut self, at: &str, node: Node) -> Result<(), OciError> {
        let path = relative(at)?;
        for (slash, _) in path.match_indices('/') {
            let folder = path.get(..slash).unwrap_or_default();
            let mode = if folder == "tmp" { 0o1777 } else { 0o755 };
            self.folder(folder, mode)?;
        }
        match self.0.insert(path.to_owned(), node) {
            None => Ok(()),
            Some(_) => Err(OciError::Clash(at.to_owned())),
        }
    }

    fn folder(&mut self, path: &str, mode: u32) -> Result<(), OciError> {
        let node = self.0.entry(path.to_owned()).or_insert(Node::Folder(mode));
        match node {
            Node::Folder(_) => Ok(()),
            _ => Err(OciError::Clash(format!("/{path}"))),
        }
    }
}

/// The path without its leading `/`.
fn relative(at: &str) -> Result<&str, OciError> {
    at.strip_prefix('/')
        .filter(|path| {
            path.split('/')
                .all(|part| !matches!(part, "" | "." | "..") && !part.contains('\0'))
        })
        .ok_or_else(|| OciError::Path(at.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str], links: &[(&str, &str)]) -> Result<Tree, OciError> {
        let files: Vec<_> = files
            .iter()
            .map(|at| (PathBuf::from("source"), (*at).to_owned()))
            .collect();
        let links: Vec<_> = links
            .iter()
            .map(|(target, at)| ((*target).to_owned(), (*at).to_owned()))
            .collect();
        Tree::of(&files, &links)
    }

    #[test]
    fn folders_come_by_themselves_and_before_what_they_hold() {
        let tree = tree(
            &["/opt/app/run", "/tmp/seed"],
            &[("/opt/app/run", "/bin/app")],
        )
        .unwrap();
        let paths: Vec<&str> = tree.nodes().map(|(path, _)| path).collect();
        assert_eq!(
            paths,
            [
                "bin",
                "bin/app",
                "etc",
                "etc/group",
                "etc/passwd",
                "opt",
                "opt/app",
                "opt/app/run",
                "tmp",
                "tmp/seed"
            ]
        );
        assert_eq!(tree.0.get("tmp"), Some(&Node::Folder(0o1777)));
        assert_eq!(tree.0.get("opt"), Some(&Node::Folder(0o755)));
    }

    #[test]
    fn names_of_users_that_are_given_stand() {
        let tree = tree(&["/etc/passwd"], &[]).unwrap();
        assert_eq!(
            tree.0.get("etc/passwd"),
            Some(&Node::File(PathBuf::from("source")))
        );
        assert!(matches!(tree.0.get("etc/group"), Some(Node::Text(_))));
    }

    #[rstest::rstest]
    #[case("relative")]
    #[case("")]
    #[case("/")]
    #[case("/folder/")]
    #[case("/a//b")]
    #[case("/a/../b")]
    #[case("/./a")]
    #[case("/a\0b")]
    fn a_path_that_means_something_else_elsewhere_is_refused(#[case] at: &str) {
        let refused = tree(&[at], &[]).unwrap_err();
        assert!(
            matches!(&refused, OciError::Path(path) if path == at),
            "{refused}"
        );
    }

    #[rstest::rstest]
    #[case(&["/a", "/a"], &[], "/a")]
    #[case(&["/a"], &[("/b", "/a")], "/a")]
    #[case(&["/a", "/a/b"], &[], "/a")]
    #[case(&["/a/b", "/a"], &[], "/a")]
    #[case(&[], &[("/run", "/tmp")], "/tmp")]
    fn two_things_at_one_path_are_refused(
        #[case] files: &[&str],
        #[case] links: &[(&str, &str)],
        #[case] at: &str,
    ) {
        let refused = tree(files, links).unwrap_err();
        assert!(
            matches!(&refused, OciError::Clash(path) if path == at),
            "{refused}"
        );
    }

    #[test]
    fn a_link_without_a_target_is_refused() {
        let refused = tree(&[], &[("", "/bin/sh")]).unwrap_err();
        assert!(matches!(refused, OciError::NoTarget(at) if at == "/bin/sh"));
    }
}
