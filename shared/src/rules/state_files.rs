//! The check of where a class lets browser sessions be written. Pure.

use serde_json::Value;

use super::{check::Flaw, json_path};

/// State files on a scratch volume that is not kept in memory (Q49).
pub(super) fn on_disk(spec: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    let roles = json_path::at(spec, "connections").and_then(Value::as_array);
    let mut flaws = Vec::new();
    for (index, role) in roles.into_iter().flatten().enumerate() {
        let file = json_path::at(role, "session.stateFile").and_then(Value::as_str);
        if file.is_some_and(|file| is_on_disk(spec, file)) {
            flaws.push(Flaw {
                field: format!(".connections[{index}].session.stateFile"),
                detail: None,
            });
        }
    }
    flaws
}

/// Whether the innermost volume that holds `file` is on the node's disk. A file in none is refused for
/// that.
fn is_on_disk(spec: &Value, file: &str) -> bool {
    let volumes = json_path::at(spec, "filesystem.scratch").and_then(Value::as_array);
    let path = |volume: &Value| {
        volume
            .get("mountPath")
            .and_then(Value::as_str)
            .map(str::len)
    };
    let holding = volumes.into_iter().flatten().filter(|volume| {
        let path = volume.get("mountPath").and_then(Value::as_str);
        let below = path.and_then(|path| file.strip_prefix(path));
        below.is_some_and(|below| below.starts_with('/'))
    });
    let innermost = holding.max_by_key(|volume| path(volume));
    innermost.is_some_and(|volume| volume.get("medium") != Some(&Value::from("Memory")))
}
