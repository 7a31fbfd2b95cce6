//! Variables and paths that a Connection may not place, as somebody else uses them. Pure.

use super::environment;
use crate::api::SandboxClassSpec;

/// The variables that the operator sets in a sandbox, or that are nobody's to set (K-022, T-074).
pub const OPERATOR_VARIABLES: &[&str] = &[
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
    "no_proxy",
    "OMNIA_INSECURE_TEST_FIXTURES",
    "OMNIA_INSECURE_TEST_SPKI",
];

/// How two paths stand to one another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// They are one.
    Same,
    /// The first is inside the second.
    Inside,
    /// The second is inside the first.
    Around,
    /// Neither.
    Apart,
}

/// How `path` stands to `other`, segment by segment: `a/bc` is not inside `a/b`.
pub(super) fn relation(path: &str, other: &str) -> Relation {
    let (path, other) = (segments(path), segments(other));
    let shared = path.iter().zip(&other).take_while(|(a, b)| a == b).count();
    match (shared == path.len(), shared == other.len()) {
        (true, true) => Relation::Same,
        (false, true) => Relation::Inside,
        (true, false) => Relation::Around,
        (false, false) => Relation::Apart,
    }
}

/// The segments of a path, without those that change nothing.
fn segments(path: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            other => segments.push(other),
        }
    }
    segments
}

/// Who else uses a path of the sandbox.
pub(super) enum User {
    /// A variable of the class that points there.
    Variable(String),
    /// The workspace or a scratch volume of the class, mounted at this path.
    Mount(String),
    /// A session, which is written to this file.
    StateFile(String),
}

/// Who else uses the absolute path `file`, so that no file may be placed there.
pub(super) fn user_of(class: &SandboxClassSpec, home: &str, file: &str) -> Option<User> {
    let pointing = directories(class, home).into_iter();
    let mut pointing = pointing.filter(|(_, path)| relation(file, path) != Relation::Apart);
    if let Some((variable, _)) = pointing.next() {
        return Some(User::Variable(variable));
    }
    let hides = |path: &&str| matches!(relation(file, path), Relation::Same | Relation::Around);
    if let Some(path) = mounts(class).find(hides) {
        return Some(User::Mount(path.to_owned()));
    }
    let meets = |path: &&str| relation(file, path) != Relation::Apart;
    let path = state_files(class).find(meets)?;
    Some(User::StateFile(path.to_owned()))
}

/// The places below `home` that variables of the class point to, each with its variable: what the value
/// names and, where that looks like a file, the directory it is in. HOME itself is nobody's (K-023, Q40).
fn directories(class: &SandboxClassSpec, home: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, value) in environment::variables(class) {
        if name == "HOME" {
            continue;
        }
        for path in value.split(':').filter(|path| path.starts_with('/')) {
            let segments = segments(path);
            let own = format!("/{}", segments.join("/"));
            let looks_like_a_file = segments
                .split_last()
                .filter(|(last, _)| last.trim_start_matches('.').contains('.'));
            let parent = looks_like_a_file.map(|(_, above)| format!("/{}", above.join("/")));
            let below_home = |path: &String| relation(path, home) == Relation::Inside;
            let places = [Some(own), parent].into_iter().flatten().filter(below_home);
            found.extend(places.map(|place| (name.to_owned(), place)));
        }
    }
    found
}

fn mounts(class: &SandboxClassSpec) -> impl Iterator<Item = &str> {
    let files = class.filesystem.iter();
    files.flat_map(|files| {
        let workspace = files.workspace.iter().map(|it| it.mount_path.as_str());
        let scratch = files.scratch.iter().flatten();
        workspace.chain(scratch.map(|volume| volume.mount_path.as_str()))
    })
}

fn state_files(class: &SandboxClassSpec) -> impl Iterator<Item = &str> {
    let roles = class.connections.iter().flatten();
    let sessions = roles.filter_map(|role| role.session.as_ref());
    sessions.filter_map(|session| session.state_file.as_deref())
}
