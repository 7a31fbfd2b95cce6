//! Paths into an object as people write them: `spec.mounts[0].role`, `metadata.labels[app]`. Pure.

use std::cmp::Ordering;

use serde_json::Value;

/// The value at `path`, if it is there. Null counts as absent, as it does for the API server.
pub(super) fn value_at<'a>(root: &'a Value, path: &str) -> Option<&'a Value> {
    let mut rest = path;
    let mut here = root;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (key, after) = inside.split_once(']')?;
            here = match here {
                Value::Array(items) => items.get(key.parse::<usize>().ok()?)?,
                other => other.get(key)?,
            };
            rest = after;
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            here = here.get(name)?;
            rest = after;
        }
    }
    Some(here).filter(|value| !value.is_null())
}

/// Orders paths as the fields stand in a manifest: `[2]` before `[10]`.
pub(super) fn in_order(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left, right);
    loop {
        let (number_left, after_left) = leading_number(left);
        let (number_right, after_right) = leading_number(right);
        if let (Some(one), Some(other)) = (number_left, number_right) {
            match one.cmp(&other) {
                Ordering::Equal => (left, right) = (after_left, after_right),
                different => return different,
            }
            continue;
        }
        let (mut rest_left, mut rest_right) = (left.chars(), right.chars());
        match (rest_left.next(), rest_right.next()) {
            (Some(one), Some(other)) if one == other => {
                (left, right) = (rest_left.as_str(), rest_right.as_str());
            }
            (one, other) => return one.cmp(&other),
        }
    }
}

/// The number that `text` begins with, and what follows; one of more than 19 digits is text.
fn leading_number(text: &str) -> (Option<u64>, &str) {
    let end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    match digits.parse() {
        Ok(number) => (Some(number), rest),
        Err(_) => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("spec.mounts[1].role", Some(json!("session")))]
    #[case("spec.limits[cpu]", Some(json!("1")))]
    #[case("spec.limits[a.b/c]", Some(json!(2)))]
    #[case("spec", Some(json!({"mounts": [{}, {"role": "session"}], "limits": {"cpu": "1", "a.b/c": 2}, "none": null})))]
    #[case("spec.none", None)]
    #[case("spec.mounts[2]", None)]
    #[case("spec.mounts[x]", None)]
    #[case("spec.mounts[1", None)]
    #[case("spec.limits.cpu.deeper", None)]
    #[case("status", None)]
    fn a_path_leads_to_its_value(#[case] path: &str, #[case] value: Option<Value>) {
        let object = json!({"spec": {
            "mounts": [{}, {"role": "session"}],
            "limits": {"cpu": "1", "a.b/c": 2},
            "none": null,
        }});
        assert_eq!(value_at(&object, path), value.as_ref());
    }

    #[test]
    fn items_are_ordered_by_number_and_fields_by_name() {
        let mut paths = [
            "spec.mounts[10]",
            "spec.mounts[2].role",
            "spec",
            "spec.mounts[2].id",
            "metadata.name",
            "spec.mounts[99999999999999999999]",
        ];
        paths.sort_by(|left, right| in_order(left, right));
        let sorted = [
            "metadata.name",
            "spec",
            "spec.mounts[2].id",
            "spec.mounts[2].role",
            "spec.mounts[10]",
            "spec.mounts[99999999999999999999]",
        ];
        assert_eq!(paths, sorted);
    }
}
