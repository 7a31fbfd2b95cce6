//! Where Connections place the same thing twice (K-016). Pure.

use super::{
    reserved::{Relation, relation},
    roles::Role,
};

/// Where a Connection places one thing twice. The schema lets no such list in.
pub(super) fn inside(role: &Role<'_>) -> Option<String> {
    let variables: Vec<_> = role.variables().collect();
    let paths: Vec<_> = role.paths().collect();
    let twice = variables.iter().enumerate().find(|(index, variable)| {
        let mut before = variables.iter().take(*index);
        before.any(|other| other.name == variable.name)
    });
    if let Some((_, variable)) = twice {
        return Some(format!(
            "{} sets variable {:?} twice; leave one out",
            role.words(),
            variable.name
        ));
    }
    let meeting = paths.iter().enumerate().find_map(|(index, path)| {
        let mut before = paths.iter().take(index);
        let other = before.find(|other| relation(other, path) != Relation::Apart);
        other.map(|other| (other, path))
    });
    meeting.map(|(other, path)| {
        format!(
            "{} places files at {other:?} and {path:?}, of which one is or holds the other; place one elsewhere",
            role.words()
        )
    })
}

/// Where two Connections place the same thing.
pub(super) fn between(one: &Role<'_>, other: &Role<'_>) -> Option<String> {
    for variable in one.variables() {
        if other.variables().any(|theirs| theirs.name == variable.name) {
            return Some(format!(
                "{} and {} both set variable {:?}; place one under another name",
                one.words(),
                other.words(),
                variable.name
            ));
        }
    }
    for path in one.paths() {
        let mut theirs = other.paths();
        if let Some(theirs) = theirs.find(|theirs| relation(path, theirs) != Relation::Apart) {
            return Some(format!(
                "{} places a file at {path:?} and {} at {theirs:?}, and one is or holds the other; place one elsewhere",
                one.words(),
                other.words()
            ));
        }
    }
    None
}
