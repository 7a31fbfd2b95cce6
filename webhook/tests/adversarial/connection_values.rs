//! Values of a Connection at and beyond their edges.

use sandgate_shared::rules::Subject;
use serde_json::{Value, json};

use crate::objects::{cut, set, user};
use crate::tables::{Row, tried};

// Proves: T-059
#[test]
fn hosts_are_names_of_two_labels_or_more_in_lower_case_each_once() {
    let longest = format!("{}{}.example.org", "a".repeat(49), ".b".repeat(94));
    assert_eq!(longest.len(), 249);
    let mut rows: Vec<Row> = Vec::new();
    for (host, right) in [
        ("example.com", true),
        ("*.example.com", true),
        ("xn--bcher-kva.example", true),
        ("a-b.c-d.e1", true),
        (longest.as_str(), true),
        ("*", false),
        ("a", false),
        ("localhost", false),
        ("*.com", true),
        ("**.example.com", false),
        ("a.*.example.com", false),
        ("EXAMPLE.com", false),
        ("example.com.", false),
        (".example.com", false),
        ("a..example.com", false),
        ("-a.example.com", false),
        ("a_b.example.com", false),
        ("bücher.example", false),
        ("1.2.3.4", false),
        ("::1", false),
        ("[::1]", false),
        ("fe80::1%eth0", false),
        ("example.com:443", false),
        ("https://example.com", false),
        ("user:hunter2@example.com", false),
        ("example.com/path", false),
        ("example.com?x", false),
        ("example.com\n", false),
        ("exa mple.com", false),
        ("example.com\u{0}", false),
        ("", false),
    ] {
        // Whether a whole registry may be opened is another rule's to say.
        let expected = if right && host != "*.com" {
            ""
        } else if right {
            continue;
        } else {
            "422"
        };
        rows.push((
            "a host",
            vec![set("/spec/hosts", json!([host]))],
            expected,
            expected,
        ));
    }
    let hosts = |count: usize| {
        (0..count)
            .map(|at| json!(format!("h{at}.example.com")))
            .collect::<Value>()
    };
    for (name, list, expected) in [
        ("none", json!([]), "422 schema-min-items"),
        ("32", hosts(32), ""),
        ("33", hosts(33), "422 schema-max-items"),
        (
            "one twice",
            json!(["a.example.com", "a.example.com"]),
            "422 schema-duplicate",
        ),
        (
            "254 characters",
            json!([format!("{}.example.com", "a.".repeat(121))]),
            "422 schema-max-length",
        ),
        ("a null among them", json!(["a.example.com", null]), ""),
    ] {
        rows.push((name, vec![set("/spec/hosts", list)], expected, expected));
    }
    tried(Subject::Connection, &user(), rows);
}

// Proves: T-060, T-067, T-073
#[test]
fn a_credential_is_of_a_known_kind_and_sealed() {
    let both =
        |name: &'static str, bends, expected: &'static str| (name, bends, expected, expected);
    let rows: Vec<Row> = vec![
        both(
            "no kind",
            vec![cut("/spec/credential/kind")],
            "422 schema-required",
        ),
        both(
            "an unknown kind",
            vec![set("/spec/credential/kind", json!("password"))],
            "422 schema-enum",
        ),
        both(
            "a kind in other letters",
            vec![set("/spec/credential/kind", json!("githost"))],
            "422 schema-enum",
        ),
        both(
            "an unknown provider",
            vec![set("/spec/credential/gitHost/provider", json!("svn"))],
            "422 schema-enum",
        ),
        both(
            "an unknown key service",
            vec![set(
                "/spec/credential/gitHost/encryption/kmsProvider",
                json!("rot13"),
            )],
            "422 schema-enum",
        ),
        both(
            "no encryption",
            vec![cut("/spec/credential/gitHost/encryption")],
            "422 schema-required",
        ),
        both(
            "an empty key",
            vec![set("/spec/credential/gitHost/encryption/keyID", json!(""))],
            "422 schema-min-length",
        ),
        both(
            "a key of 1,025 characters",
            vec![set(
                "/spec/credential/gitHost/encryption/keyID",
                json!("k".repeat(1025)),
            )],
            "422 schema-max-length",
        ),
        both(
            "no key in the Secret",
            vec![cut("/spec/credential/gitHost/oauth/clientSecretRef/key")],
            "",
        ),
        both(
            "no name of the Secret",
            vec![cut("/spec/credential/gitHost/oauth/clientSecretRef/name")],
            "422 schema-required",
        ),
    ];
    tried(Subject::Connection, &user(), rows);
}
