//! Walking raw JSON by the paths of the table. Pure.

use serde_json::Value;

/// The value at `path` (field names joined by dots), if every step is there. Null counts as absent,
/// as it does for the API server.
pub(super) fn at<'a>(root: &'a Value, path: &str) -> Option<&'a Value> {
    let found = if path.is_empty() {
        Some(root)
    } else {
        path.split('.').try_fold(root, |node, name| node.get(name))
    };
    found.filter(|value| !value.is_null())
}

/// Joins a node's path and the field below it: `spec` and `.handle`.
pub(super) fn join(node: &str, field: &str) -> String {
    match (node, field) {
        ("", field) => field.trim_start_matches('.').to_owned(),
        (node, field) => format!("{node}{field}"),
    }
}
