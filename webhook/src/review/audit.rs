//! What goes into the audit log beside the API server's own event. Pure.
//!
//! Ids, paths and words of a fixed list; never a value of an object. The API server puts the name of
//! the webhook before each key, wants the key to be the name part of a label, and drops any that is
//! not, without a word to us.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::Decision;
use super::changes::{self, Changes};
use super::request::{Asked, Write};
use super::text::clean;

/// Longest value, in characters.
pub(super) const LONGEST: usize = 256;
/// Longest path within one.
const LONGEST_PATH: usize = 64;

/// What kind of user wrote, as told by the user name; whether it is the operator is a rule's to say.
fn principal_kind(username: &str) -> &'static str {
    match username.strip_prefix("system:") {
        None if username.is_empty() => "nobody",
        None => "user",
        Some("anonymous") => "anonymous",
        Some(name) if name.starts_with("serviceaccount:") => "service-account",
        Some(name) if name.starts_with("node:") => "node",
        Some(_) => "component",
    }
}

/// The annotations of one answer. `enforced_since` says since when the rules have been in force here.
pub(super) fn annotations(
    decision: Decision,
    rules: &[String],
    asked: Option<&Asked<'_>>,
    enforced_since: Option<&str>,
) -> Value {
    let mut annotations = Map::new();
    let mut put = |key: &str, value: &str| {
        annotations.insert(key.to_owned(), json!(clean(value, LONGEST)));
    };
    put("decision", decision.as_str());
    if !rules.is_empty() {
        let mut told: Vec<&str> = Vec::new();
        for rule in rules {
            if !told.contains(&rule.as_str()) {
                told.push(rule);
            }
        }
        put("rules", &told.join(","));
    }
    if let Some(since) = enforced_since {
        put("enforced-since", since);
    }
    if let Some(Asked::Write(write)) = asked {
        put("principal-kind", principal_kind(write.username()));
        if let Some(paths) = changed_paths(write) {
            put("changed-paths", &paths);
        }
    }
    Value::Object(annotations)
}

/// What an update changes, as `spec.handle,metadata.labels[team]`; of a creation everything is new.
fn changed_paths(write: &Write<'_>) -> Option<String> {
    let old = write.old_object()?;
    let Changes { told, untold } = match write.subresource {
        None => changes::of_object(old, write.object()),
        Some(_) => changes::of_status(old, write.object()),
    };
    let mut paths = String::new();
    let mut named = 0;
    for (path, _) in &told {
        let path = clean(path, LONGEST_PATH);
        // Room is kept for what counts the rest.
        if paths.chars().count() + path.chars().count() > LONGEST - 32 {
            break;
        }
        if named > 0 {
            paths.push(',');
        }
        paths.push_str(&path);
        named += 1;
    }
    let rest = told.len() - named + untold;
    if rest > 0 {
        // Writing to a String cannot fail.
        let _ = write!(paths, " and {rest} more");
    }
    (named > 0).then_some(paths)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    // Proves: W-002
    #[rstest]
    #[case("alice@example.org", "user")]
    #[case("", "nobody")]
    #[case("system:anonymous", "anonymous")]
    #[case(
        "system:serviceaccount:sandgate-system:sandgate-controller",
        "service-account"
    )]
    #[case("system:node:worker-1", "node")]
    #[case("system:kube-controller-manager", "component")]
    #[case("systematic", "user")]
    fn whoever_writes_is_of_one_of_a_few_kinds(#[case] username: &str, #[case] kind: &str) {
        assert_eq!(principal_kind(username), kind);
    }

    #[test]
    fn a_reply_to_what_could_not_be_read_is_annotated_with_its_decision() {
        let annotations = annotations(Decision::Malformed, &[], None, Some("2026-01-01T00:00:00Z"));
        let wanted = json!({"decision": "malformed", "enforced-since": "2026-01-01T00:00:00Z"});
        assert_eq!(annotations, wanted);
    }
}
