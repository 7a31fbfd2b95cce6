//! The table of reasons.

use rstest::rstest;
use sandgate_shared::{checks::Audience, reason};
use serde_json::json;

use crate::scene::{Scene, scene, secret, session};

type Break = fn(&mut Scene);

/// Each reason, in the order of the table, with what brings it about and what the message names.
const TABLE: &[(&str, Break, &[&str])] = &[
    (
        reason::CONNECTION_ROLE_UNDECLARED,
        |scene| {
            scene.bind(
                "nobody",
                "stray",
                json!({ "hosts": ["a.test"], "credential": { "kind": "none" } }),
                None,
            );
        },
        &["\"nobody\"", "\"stray\""],
    ),
    (
        reason::CONNECTION_ROLE_UNBOUND,
        |scene| scene.declare(json!({ "role": "needed", "required": true })),
        &["\"needed\""],
    ),
    (
        reason::CONNECTION_NOT_FOUND,
        |scene| {
            scene.bind_new("absent", session(), None);
            scene.binding("absent").found = None;
        },
        &["\"absent\"", "\"absent-connection\""],
    ),
    (
        reason::CONNECTION_KIND_NOT_ACCEPTED,
        |scene| scene.bind_new("plain", session(), None),
        &["\"plain\"", "\"plain-connection\""],
    ),
    (
        reason::CONNECTION_PLACEMENT_COLLISION,
        |scene| {
            scene.bind_new(
                "twin",
                secret(json!({ "env": [{ "name": "GH_TOKEN", "key": "a" }] })),
                Some(&["a"]),
            );
        },
        &["\"vcs\"", "\"twin\"", "\"GH_TOKEN\""],
    ),
    (
        reason::CONNECTION_SECRET_NOT_FOUND,
        |scene| scene.bind_new("lost", secret(json!({})), None),
        &["\"lost\"", "\"lost-connection\"", "\"the-secret\""],
    ),
    (
        reason::CONNECTION_SECRET_KEY_MISSING,
        |scene| {
            scene.bind_new(
                "keyless",
                secret(json!({ "env": [{ "name": "KEYLESS", "key": "k" }] })),
                Some(&["a"]),
            );
        },
        &["\"keyless\"", "\"the-secret\"", "\"k\""],
    ),
    (
        reason::CONNECTION_TEMPLATE_INVALID,
        |scene| {
            let files = json!({ "files": [{ "path": "broken", "template": "x\n{{.k}}" }] });
            scene.bind_new("unwritten", secret(files), Some(&["a"]));
        },
        &[
            "\"unwritten\"",
            "\"broken\"",
            "line 2, column 3",
            "\"the-secret\"",
        ],
    ),
    (
        reason::CONNECTION_SESSION_CONFLICT,
        |scene| {
            scene.declare(json!({ "role": "another", "session": {} }));
            scene.bind("another", "portal-2", session(), None);
        },
        &["\"site\"", "\"another\"", "\"portal-2\""],
    ),
    (
        reason::CONNECTION_SIGNED_OUT_HOST_UNREACHABLE,
        |scene| scene.spec("site").hosts = vec!["portal.example.com".to_owned()],
        &["\"site\"", "\"portal\"", "urlPrefixes[1]"],
    ),
    (
        reason::CONNECTION_ENV_RESERVED,
        |scene| {
            scene.bind_new(
                "greedy",
                secret(json!({ "env": [{ "name": "GOCACHE", "key": "a" }] })),
                Some(&["a"]),
            );
        },
        &["\"greedy\"", "\"GOCACHE\"", "the class"],
    ),
    (
        reason::CONNECTION_PATH_RESERVED,
        |scene| {
            let files = json!({ "files": [{ "path": ".cache/go-build/x", "key": "a" }] });
            scene.bind_new("inside", secret(files), Some(&["a"]));
        },
        &["\"inside\"", "\".cache/go-build/x\"", "\"GOCACHE\""],
    ),
    (
        reason::CONNECTION_FILES_UNSUPPORTED,
        |scene| scene.unset("HOME"),
        &["\"vcs\"", "\"github\"", "\".git-credentials\""],
    ),
];

// Proves: K-010, K-011
#[rstest]
fn what_fits_checks_for_everybody(
    #[values(Audience::Claim, Audience::AgentRuntime, Audience::ToolRegistry)] audience: Audience,
) {
    assert!(scene().check(audience).is_ok());
}

// Proves: K-010, K-012, K-013, K-014, K-015, K-016, K-017, K-018, K-019, K-020, K-021, K-022, K-023, K-024
#[rstest]
fn each_reason_is_given_alike_to_everybody_but_an_unbound_role_to_no_tool_registry(
    #[values(Audience::Claim, Audience::AgentRuntime, Audience::ToolRegistry)] audience: Audience,
) {
    for (reason, break_it, named) in TABLE {
        let mut scene = scene();
        break_it(&mut scene);
        let checked = scene.check(audience);
        let unasked =
            audience == Audience::ToolRegistry && *reason == reason::CONNECTION_ROLE_UNBOUND;
        if unasked {
            assert!(checked.is_ok(), "{checked:?}");
            continue;
        }
        let failure = checked.unwrap_err();
        assert_eq!(failure.reason, *reason, "{}", failure.message);
        for name in *named {
            assert!(
                failure.message.contains(name),
                "{reason} does not name {name}: {}",
                failure.message
            );
        }
    }
}

// Proves: K-010
#[test]
fn of_several_failures_the_first_in_the_table_is_told() {
    for (index, (first, break_it, _)) in TABLE.iter().enumerate() {
        for (second, break_it_too, _) in TABLE.iter().skip(index + 1) {
            if *second == reason::CONNECTION_FILES_UNSUPPORTED
                && *first == reason::CONNECTION_PATH_RESERVED
            {
                // Without HOME nothing lies below it.
                continue;
            }
            let mut scene = scene();
            break_it_too(&mut scene);
            break_it(&mut scene);
            assert_eq!(scene.reason(), Some(*first), "beside {second}");
        }
    }
}

// Proves: K-010
#[test]
fn of_several_roles_the_first_in_the_class_is_told() {
    let mut scene = scene();
    scene.binding("ticket").found = None;
    scene.binding("vcs").found = None;
    scene.bindings.reverse();
    let failure = scene.check(Audience::Claim).unwrap_err();
    assert!(failure.message.contains("\"vcs\""), "{}", failure.message);
}

// Proves: K-016
#[rstest]
#[case::the_same("a/b", "a/b", true)]
#[case::above("a", "a/b", true)]
#[case::below("a/b/c", "a/b", true)]
#[case::a_longer_name("a/b", "a/bc", false)]
#[case::a_longer_name_of_a_directory("a/b", "ab/b", false)]
#[case::beside("a/b", "a/c", false)]
fn files_collide_where_one_is_or_holds_the_other(
    #[case] one: &str,
    #[case] other: &str,
    #[case] collide: bool,
) {
    let place = |path: &str| secret(json!({ "files": [{ "path": path, "key": "a" }] }));
    let mut two = scene();
    two.bind_new("one", place(one), Some(&["a"]));
    two.bind_new("other", place(other), Some(&["a"]));
    let expected = collide.then_some(reason::CONNECTION_PLACEMENT_COLLISION);
    assert_eq!(two.reason(), expected);
    let mut alone = scene();
    let files = json!({ "files": [{ "path": one, "key": "a" }, { "path": other, "key": "a" }] });
    alone.bind_new("one", secret(files), Some(&["a"]));
    assert_eq!(alone.reason(), expected);
}

// Proves: K-018
#[test]
fn a_key_that_a_file_is_may_not_be_missing_either() {
    let mut scene = scene();
    scene.forget_key("vcs", "git-credentials");
    let failure = scene.check(Audience::Claim).unwrap_err();
    assert_eq!(failure.reason, reason::CONNECTION_SECRET_KEY_MISSING);
    assert!(
        failure.message.contains("\"git-credentials\""),
        "{}",
        failure.message
    );
}

// Proves: K-019, K-007
#[rstest]
#[case::unparsable("{{.a", "line 1, column 1")]
#[case::an_absent_key("{{.nosuch}}", "line 1, column 3")]
#[case::an_absent_key_by_index("{{index . \"nosuch\"}}", "line 1, column 3")]
#[case::not_to_be_run("{{.a.b}}", "line 1, column 3")]
#[case::without_end("{{range 9223372036854775807}}{{end}}", "steps")]
#[case::too_long("{{range 9000}}{{printf \"%200d\" 1}}{{end}}", "more than it may")]
fn a_template_that_cannot_be_used_is_told_with_its_place_and_without_its_text(
    #[case] template: &str,
    #[case] told: &str,
) {
    let mut scene = scene();
    let files = json!({ "files": [{ "path": "f", "template": template }] });
    scene.bind_new("one", secret(files), Some(&["a"]));
    let failure = scene.check(Audience::Claim).unwrap_err();
    assert_eq!(failure.reason, reason::CONNECTION_TEMPLATE_INVALID);
    assert!(failure.message.contains(told), "{}", failure.message);
    assert!(!failure.message.contains("nosuch"), "{}", failure.message);
}

// Proves: K-021
#[rstest]
#[case::the_host_itself("https://portal.example.com", None)]
#[case::below_a_wildcard("https://a.b.sso.example.com/x", None)]
#[case::a_wildcard_s_own_host(
    "https://sso.example.com",
    Some(reason::CONNECTION_SIGNED_OUT_HOST_UNREACHABLE)
)]
#[case::another_host(
    "https://example.com",
    Some(reason::CONNECTION_SIGNED_OUT_HOST_UNREACHABLE)
)]
#[case::a_host_that_ends_so(
    "https://evilportal.example.com",
    Some(reason::CONNECTION_SIGNED_OUT_HOST_UNREACHABLE)
)]
fn a_signed_out_url_is_on_a_host_that_the_connection_covers(
    #[case] page: &str,
    #[case] expected: Option<&str>,
) {
    let mut scene = scene();
    let session = scene.spec("site").credential.browser_session.as_mut();
    let signed_out = session.unwrap().signed_out_when.as_mut().unwrap();
    signed_out.url_prefixes = Some(vec![page.to_owned()]);
    assert_eq!(scene.reason(), expected);
}

// Proves: K-022
#[test]
fn no_variable_that_the_operator_or_the_class_sets_is_placed() {
    let names = sandgate_shared::checks::OPERATOR_VARIABLES.iter();
    for name in names.chain(&["GOCACHE"]) {
        let mut scene = scene();
        let placement = json!({ "env": [{ "name": name, "key": "a" }] });
        scene.bind_new("one", secret(placement), Some(&["a"]));
        assert_eq!(
            scene.reason(),
            Some(reason::CONNECTION_ENV_RESERVED),
            "{name}"
        );
    }
}

// Proves: K-023
#[rstest]
#[case::at_a_cache("/home/agent/.cache/go-build", ".cache/go-build", true)]
#[case::in_a_cache("/home/agent/.cache/go-build", ".cache/go-build/a/b", true)]
#[case::where_a_directory_must_be("/home/agent/.cache/go-build", ".cache", true)]
#[case::beside_a_cache("/home/agent/.cache/go-build", ".cache/go-build2", false)]
#[case::a_file_of_a_directory("/home/agent/.tool/ca.pem", ".tool/token", true)]
#[case::a_file_of_home("/home/agent/ca.pem", "token", false)]
#[case::that_file_itself("/home/agent/ca.pem", "ca.pem", true)]
#[case::a_hidden_directory("/home/agent/.cargo", ".cargo/credentials.toml", true)]
#[case::a_hidden_file_of_home("/home/agent/.npmrc", ".netrc", false)]
#[case::home_itself("/home/agent", ".netrc", false)]
#[case::home_with_a_slash("/home/agent/", ".netrc", false)]
#[case::above_home("/home", ".netrc", false)]
#[case::elsewhere("/opt/cache", "opt/cache", false)]
#[case::a_list("/usr/bin:/home/agent/bin", "bin/tool", true)]
#[case::a_variable("$(HOME)/bin", "bin/tool", true)]
#[case::no_variable("$$(HOME)/bin", "bin/tool", false)]
#[case::by_a_detour("/home/other/../agent/./bin//x", "bin/x/y", true)]
#[case::no_path("-O2", "O2", false)]
fn no_file_is_placed_where_a_variable_of_the_class_points_to(
    #[case] value: &str,
    #[case] path: &str,
    #[case] reserved: bool,
) {
    let mut scene = scene();
    scene.set("SOME_VARIABLE", value);
    let files = json!({ "files": [{ "path": path, "key": "a" }] });
    scene.bind_new("one", secret(files), Some(&["a"]));
    let expected = reserved.then_some(reason::CONNECTION_PATH_RESERVED);
    assert_eq!(scene.reason(), expected);
}

// Proves: K-023
#[rstest]
#[case::at_a_mount("work", true)]
#[case::where_a_mount_must_be("a", true)]
#[case::in_a_mount("work/token", false)]
#[case::at_the_state_file("a/session/state.json", true)]
#[case::where_its_directory_must_be("a/session", true)]
#[case::beside_the_state_file("a/session/token", false)]
fn no_file_is_placed_where_the_class_has_something_of_its_own(
    #[case] path: &str,
    #[case] reserved: bool,
) {
    let mut scene = scene();
    let filesystem = json!({
        "workspace": { "mountPath": "/home/agent/work" },
        "scratch": [{ "name": "s", "mountPath": "/home/agent/a/session", "sizeLimit": "1Mi" }],
    });
    scene.class.filesystem = Some(serde_json::from_value(filesystem).unwrap());
    let session =
        json!({ "role": "r", "session": { "stateFile": "/home/agent/a/session/state.json" } });
    scene.declare(session);
    let files = json!({ "files": [{ "path": path, "key": "a" }] });
    scene.bind_new("one", secret(files), Some(&["a"]));
    let expected = reserved.then_some(reason::CONNECTION_PATH_RESERVED);
    assert_eq!(scene.reason(), expected);
}

// Proves: K-024
#[rstest]
#[case::set("/home/agent", None)]
#[case::empty("", Some(reason::CONNECTION_FILES_UNSUPPORTED))]
#[case::relative("home", Some(reason::CONNECTION_FILES_UNSUPPORTED))]
#[case::by_another_variable("$(GOCACHE)", None)]
#[case::by_an_unknown_variable("$(NONE)", Some(reason::CONNECTION_FILES_UNSUPPORTED))]
fn files_need_a_home(#[case] home: &str, #[case] expected: Option<&str>) {
    let mut scene = scene();
    scene.set("GOCACHE", "/cache");
    scene.set("HOME", home);
    assert_eq!(scene.reason(), expected);
    scene.spec("vcs").placement.as_mut().unwrap().files = None;
    assert_eq!(scene.reason(), None, "variables alone need none");
}

#[test]
fn files_together_are_no_larger_than_a_secret_may_be() {
    let place = |path: &str| secret(json!({ "files": [{ "path": path, "key": "a" }] }));
    let mut scene = scene();
    scene.spec("vcs").placement = None;
    for (role, size) in [("one", 1 << 19), ("two", 1 << 19)] {
        scene.bind_new(role, place(role), Some(&["a"]));
        let values = &mut scene.binding(role).secret.as_mut().unwrap().values;
        values.insert("a".to_owned(), vec![b'x'; size].into());
    }
    assert_eq!(scene.reason(), None);
    scene.bind_new("three", place("three"), Some(&["a"]));
    assert_eq!(scene.reason(), Some(reason::SANDBOX_REJECTED));
}
