//! Which fields an update changes. Pure.
//!
//! Paths only, never values: they go into the audit log. Strict, as the policy compares: a list that
//! was reordered has changed, and so has an empty one that was left out.

use std::fmt::Write as _;

use serde_json::Value;

/// The most that is told; the rest is counted.
pub(super) const MOST: usize = 8;

/// How a field differs from what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Added,
    Removed,
    Changed,
}

/// Fields that differ, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// The first [`MOST`].
    pub told: Vec<(String, How)>,
    /// How many more there are.
    pub untold: usize,
}

/// What an update of an object changes: its metadata and all but its status, which a write of the
/// object leaves as it is. What the API server keeps itself is no change of the writer's.
pub(super) fn of_object(old: &Value, new: &Value) -> Changes {
    let mut walk = Walk::default();
    for name in names(old, new) {
        match name {
            "status" => {}
            "metadata" => walk.metadata(old.get(name), new.get(name)),
            _ => walk.field(name, old.get(name), new.get(name)),
        }
    }
    walk.found
}

/// What a write of the status changes.
pub(super) fn of_status(old: &Value, new: &Value) -> Changes {
    let mut walk = Walk::default();
    walk.field("status", old.get("status"), new.get("status"));
    walk.found
}

/// What differs between two values that stand at `path`.
pub(super) fn below(path: &str, old: Option<&Value>, new: Option<&Value>) -> Changes {
    let mut walk = Walk::default();
    walk.field(path, old, new);
    walk.found
}

/// One step of a path.
#[derive(Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

#[derive(Default)]
struct Walk<'a> {
    path: Vec<Step<'a>>,
    found: Changes,
}

impl<'a> Walk<'a> {
    fn metadata(&mut self, old: Option<&'a Value>, new: Option<&'a Value>) {
        let kept = ["managedFields", "resourceVersion", "generation"];
        self.path.push(Step::Name("metadata"));
        for name in names_of(old, new).filter(|name| !kept.contains(name)) {
            self.field(name, member(old, name), member(new, name));
        }
        self.path.pop();
    }

    fn field(&mut self, name: &'a str, old: Option<&'a Value>, new: Option<&'a Value>) {
        self.path.push(Step::Name(name));
        self.value(present(old), present(new));
        self.path.pop();
    }

    /// Descends into what both have; recursion ends where the parser's does.
    fn value(&mut self, old: Option<&'a Value>, new: Option<&'a Value>) {
        match (old, new) {
            (None, None) => {}
            (None, Some(_)) => self.tell(How::Added),
            (Some(_), None) => self.tell(How::Removed),
            (Some(old), Some(new)) if old == new => {}
            (Some(old @ Value::Object(_)), Some(new @ Value::Object(_))) => {
                for name in names(old, new) {
                    self.field(name, old.get(name), new.get(name));
                }
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
                for (index, (old, new)) in old.iter().zip(new).enumerate() {
                    self.path.push(Step::Index(index));
                    self.value(Some(old), Some(new));
                    self.path.pop();
                }
            }
            _ => self.tell(How::Changed),
        }
    }

    fn tell(&mut self, how: How) {
        if self.found.told.len() < MOST {
            self.found.told.push((written(&self.path), how));
        } else {
            self.found.untold += 1;
        }
    }
}

/// Null counts as absent, as it does for the API server.
fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

fn member<'a>(parent: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    parent.and_then(|parent| parent.get(name))
}

fn names<'a>(old: &'a Value, new: &'a Value) -> impl Iterator<Item = &'a str> {
    names_of(Some(old), Some(new))
}

/// The fields of either: of what is stored first, then those that are new.
fn names_of<'a>(old: Option<&'a Value>, new: Option<&'a Value>) -> impl Iterator<Item = &'a str> {
    let fields = |value: Option<&'a Value>| value.and_then(Value::as_object);
    let stored = fields(old);
    let added = fields(new)
        .into_iter()
        .flatten()
        .filter(move |(name, _)| stored.is_none_or(|stored| !stored.contains_key(*name)));
    let all = stored.into_iter().flatten().chain(added);
    all.map(|(name, _)| name.as_str())
}

/// A path as a person writes it: names that hold more than letters and digits stand in brackets.
fn written(path: &[Step<'_>]) -> String {
    let mut text = String::new();
    for (position, step) in path.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = match step {
            Step::Index(index) => write!(text, "[{index}]"),
            Step::Name(name) if position == 0 => write!(text, "{name}"),
            Step::Name(name)
                if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
            {
                write!(text, ".{name}")
            }
            Step::Name(name) => write!(text, "[{name}]"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn paths(changes: &Changes) -> Vec<(&str, How)> {
        changes
            .told
            .iter()
            .map(|(path, how)| (path.as_str(), *how))
            .collect()
    }

    // Proves: W-002
    #[rstest]
    #[case::changed(json!({"spec": {"a": 1}}), json!({"spec": {"a": 2}}), vec![("spec.a", How::Changed)])]
    #[case::added(json!({"spec": {}}), json!({"spec": {"a": 0}}), vec![("spec.a", How::Added)])]
    #[case::removed(json!({"spec": {"a": 1}}), json!({"spec": {}}), vec![("spec.a", How::Removed)])]
    #[case::set_to_null(json!({"spec": {"a": 1}}), json!({"spec": {"a": null}}), vec![("spec.a", How::Removed)])]
    #[case::null_and_absent(json!({"spec": {"a": null}}), json!({"spec": {}}), vec![])]
    #[case::an_item(json!({"spec": {"l": [1, {"b": 2}]}}), json!({"spec": {"l": [1, {"b": 3}]}}), vec![("spec.l[1].b", How::Changed)])]
    #[case::a_longer_list(json!({"spec": {"l": [1]}}), json!({"spec": {"l": [1, 2]}}), vec![("spec.l", How::Changed)])]
    #[case::another_type(json!({"spec": {"a": {"b": 1}}}), json!({"spec": {"a": [1]}}), vec![("spec.a", How::Changed)])]
    #[case::a_number_written_otherwise(json!({"spec": {"a": 1}}), json!({"spec": {"a": 1.0}}), vec![("spec.a", How::Changed)])]
    #[case::a_label(
        json!({"metadata": {"labels": {"a.b/c": "1"}, "resourceVersion": "1", "managedFields": [1]}}),
        json!({"metadata": {"labels": {"a.b/c": "2"}, "resourceVersion": "2"}}),
        vec![("metadata.labels[a.b/c]", How::Changed)],
    )]
    #[case::the_status_of_a_write_that_cannot_touch_it(json!({"status": 1}), json!({"status": 2}), vec![])]
    #[case::the_whole_spec(json!({"spec": {"a": 1}}), json!({}), vec![("spec", How::Removed)])]
    fn a_change_is_told_by_its_path(
        #[case] old: Value,
        #[case] new: Value,
        #[case] told: Vec<(&str, How)>,
    ) {
        assert_eq!(paths(&of_object(&old, &new)), told);
    }

    #[test]
    fn of_a_status_write_the_status_alone_is_told() {
        let old = json!({"spec": 1, "status": {"phase": "Pending"}});
        let new = json!({"spec": 2, "status": {"phase": "Bound"}});
        let changes = of_status(&old, &new);
        assert_eq!(paths(&changes), [("status.phase", How::Changed)]);
    }

    #[test]
    fn the_first_are_told_and_the_rest_counted() {
        let of = |value: u32| {
            let fields = (0..30).map(|at| (format!("f{at:02}"), json!(value)));
            json!({"spec": Value::Object(fields.collect())})
        };
        let changes = of_object(&of(1), &of(2));
        assert_eq!((changes.told.len(), changes.untold), (MOST, 30 - MOST));
        assert_eq!(changes.told[0].0, "spec.f00");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3).prop_map(Value::from),
            "[a-c.\\[]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c./\\[]{0,2}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// Without nulls, which count as absent.
    fn bare(value: &Value) -> Value {
        match value {
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .filter(|(_, value)| !value.is_null())
                    .map(|(name, value)| (name.clone(), bare(value)))
                    .collect(),
            ),
            Value::Array(items) => items.iter().map(bare).collect(),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn something_is_told_exactly_when_something_differs_and_the_same_from_both_sides(
            old in any_json(), new in any_json(),
        ) {
            let there = below("spec", Some(&old), Some(&new));
            let back = below("spec", Some(&new), Some(&old));
            prop_assert_eq!(there.told.is_empty(), bare(&old) == bare(&new));
            let count = |changes: &Changes| changes.told.len() + changes.untold;
            prop_assert_eq!(count(&there), count(&back));
        }
    }
}
