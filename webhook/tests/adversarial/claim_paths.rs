//! Paths and mounts of a claim, written by the operator, whom no rule about the writer stops.

use sandgate_shared::rules::Subject;
use serde_json::{Value, json};

use crate::objects::{cut, operator, set};
use crate::tables::{Row, tried};

const CLAIM: Subject = Subject::SandboxClaim;

/// Paths that may not be, whatever field they stand in, and some that may.
fn paths() -> Vec<(&'static str, String, bool)> {
    [
        ("plain", "projects/a-b_c.d/e", true),
        ("dots within names", "a..b/...c/.d", true),
        (
            "percent signs are characters like others",
            "a%2e%2e/b",
            true,
        ),
        ("other scripts", "größe/大きさ", true),
        ("a space", "a b", true),
        ("absolute", "/etc", false),
        ("up", "..", false),
        ("up within", "a/../b", false),
        ("up at the end", "a/..", false),
        ("here", ".", false),
        ("here before", "./a", false),
        ("here within", "a/./b", false),
        ("an empty segment", "a//b", false),
        ("a slash at the end", "a/", false),
        ("a backslash", "a\\..\\b", false),
        ("a newline", "a\nb", false),
        ("NUL", "a\u{0}b", false),
        ("an escape", "a\u{1b}[2Jb", false),
        ("delete", "a\u{7f}b", false),
    ]
    .map(|(name, path, right)| (name, path.to_owned(), right))
    .to_vec()
}

// Proves: T-012, W-011
#[test]
fn a_target_path_stays_below_the_workspace() {
    let mut rows: Vec<Row> = paths()
        .into_iter()
        .map(|(name, path, right)| {
            let (create, update) = if right {
                ("", "claim-target-path-immutable")
            } else {
                (
                    "422 claim-target-path",
                    "422 claim-target-path claim-target-path-immutable",
                )
            };
            (
                name,
                vec![set("/spec/targetPath", json!(path))],
                create,
                update,
            )
        })
        .collect();
    for (name, length, create) in [
        ("512 bytes", 512, ""),
        ("513 bytes", 513, "422 schema-max-length"),
        ("a mebibyte", 1024 * 1024, "422 schema-max-length"),
    ] {
        let update = if create.is_empty() {
            "claim-target-path-immutable"
        } else {
            create
        };
        rows.push((
            name,
            vec![set("/spec/targetPath", json!("p".repeat(length)))],
            create,
            update,
        ));
    }
    tried(CLAIM, &operator(), rows);
}

// Proves: T-013, T-014, T-015, T-016, T-017, T-020, W-011
#[test]
fn a_mount_holds_what_its_role_takes_in_either_form() {
    let mut rows: Vec<Row> = Vec::new();
    for (form, list) in [("/spec/mounts", true), ("/spec/mount", false)] {
        let frozen = if list {
            "claim-mounts-immutable"
        } else {
            "claim-mount-immutable"
        };
        let mut row = |name: &'static str, mount: Value, create: &'static str| {
            let value = if list { json!([mount]) } else { mount };
            let update = if create.contains("schema") {
                create
            } else {
                frozen
            };
            rows.push((name, vec![set(form, value)], create, update));
        };
        for (name, path, right) in paths() {
            let create = if right { "" } else { "422 claim-mount-path" };
            row(
                name,
                json!({"role": "project", "id": "p", "path": path}),
                create,
            );
        }
        row("no role is scratch", json!({}), "");
        row(
            "an empty role is scratch",
            json!({"role": "", "id": "", "path": ""}),
            "",
        );
        row(
            "a session with an id",
            json!({"role": "session", "id": "x"}),
            "422 claim-mount-id-refused",
        );
        row(
            "scratch with an id",
            json!({"role": "scratch", "id": "x"}),
            "422 claim-mount-id-refused",
        );
        row(
            "no role with an id",
            json!({"id": "x"}),
            "422 claim-mount-id-refused",
        );
        row(
            "a session with a path",
            json!({"role": "session", "path": "x"}),
            "422 claim-mount-path-refused",
        );
        row(
            "scratch that must exist",
            json!({"role": "scratch", "mustExist": true}),
            "422 claim-mount-must-exist",
        );
        row(
            "a session that must exist",
            json!({"role": "session", "mustExist": true}),
            "422 claim-mount-must-exist",
        );
        row(
            "scratch that need not exist",
            json!({"role": "scratch", "mustExist": false}),
            "",
        );
        row(
            "a role without id and path",
            json!({"role": "project"}),
            "422 claim-mount-id-required claim-mount-path-required",
        );
        row(
            "a role with an empty id",
            json!({"role": "project", "id": "", "path": "p"}),
            "422 claim-mount-id-required",
        );
        row(
            "a role in capitals",
            json!({"role": "Project", "id": "p", "path": "p"}),
            "422 claim-mount-role",
        );
        row(
            "a role that steers",
            json!({"role": "a\u{1b}[2J", "id": "p", "path": "p"}),
            "422 claim-mount-role",
        );
        row(
            "1,024 bytes of path",
            json!({"role": "project", "id": "p", "path": "p".repeat(1024)}),
            "",
        );
        row(
            "1,025 bytes of path",
            json!({"role": "project", "id": "p", "path": "p".repeat(1025)}),
            "422 schema-max-length",
        );
    }
    rows.push((
        "two mounts",
        vec![set("/spec/mounts", json!([{}, {}]))],
        "422 schema-max-items",
        "422 schema-max-items",
    ));
    rows.push((
        "a session mount without a handle",
        vec![
            cut("/spec/handle"),
            set("/spec/mounts", json!([{"role": "session"}])),
        ],
        "422 claim-session-mount-handle",
        "claim-session-mount-handle claim-handle-immutable",
    ));
    rows.push((
        "the old form of a session mount without a handle",
        vec![
            cut("/spec/handle"),
            set("/spec/mount", json!({"role": "session"})),
        ],
        "422 claim-session-mount-handle",
        "claim-session-mount-handle claim-handle-immutable",
    ));
    tried(CLAIM, &operator(), rows);
}
