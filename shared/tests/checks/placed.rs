//! What is placed.

use proptest::prelude::*;
use rstest::rstest;
use sandgate_shared::{
    checks::{Audience, PlacedEnv},
    reason,
};
use serde_json::{Value, json};

use crate::scene::{CANARY, files, scene, secret};

// Proves: K-008, O-031
#[test]
fn variables_refer_to_the_connection_s_secret_and_files_hold_its_bytes() {
    let mut scene = scene();
    let values = &mut scene.binding("vcs").secret.as_mut().unwrap().values;
    let bytes = vec![0, 0xff, 0xfe, b'\n', 0xe2, 0x82];
    values.insert("git-credentials".to_owned(), bytes.clone().into());
    let placement = scene.placement();
    let variable = |name: &str| PlacedEnv {
        name: name.to_owned(),
        secret: "the-secret".to_owned(),
        key: "token".to_owned(),
    };
    assert_eq!(
        placement.env,
        [variable("GH_TOKEN"), variable("JIRA_TOKEN")]
    );
    let hosts = format!("github.com: {CANARY}-user:{CANARY}-token");
    let files = files(&placement);
    assert_eq!(files[".git-credentials"], bytes);
    assert_eq!(files[".config/gh/hosts.yml"], hosts.as_bytes());
    let hosts: Vec<_> = placement.hosts.iter().map(String::as_str).collect();
    assert_eq!(
        hosts,
        [
            "*.sso.example.com",
            "github.com",
            "jira.example.com",
            "portal.example.com"
        ]
    );
}

// Proves: K-004
#[rstest]
#[case::none(json!({ "kind": "none" }))]
#[case::git_host(json!({ "kind": "gitHost", "gitHost": { "provider": "token", "encryption": { "kmsProvider": "local", "keyID": "k" } } }))]
#[case::a_session(json!({ "kind": "browserSession", "browserSession": { "encryption": { "kmsProvider": "local", "keyID": "k" } } }))]
fn only_a_secret_is_placed(#[case] credential: Value) {
    let mut scene = scene();
    scene.bindings.pop();
    let mut spec = secret(json!({
        "env": [{ "name": "OTHER", "key": "a" }], "files": [{ "path": "other", "key": "a" }],
    }));
    spec["credential"] = credential;
    scene.declare(json!({ "role": "one", "session": {} }));
    let before = scene.placement();
    scene.bind("one", "other", spec, Some(&["a"]));
    let placement = scene.placement();
    assert_eq!(placement.env, before.env);
    assert_eq!(placement.files, before.files);
    assert_eq!(placement.args, before.args);
}

// Proves: K-005
#[test]
fn a_file_s_key_is_a_legal_one_and_depends_on_its_path_alone() {
    let key_of = |scene: &crate::scene::Scene, path: &str| {
        let files = scene.placement().files;
        let file = files.into_iter().find(|file| file.path == path);
        file.unwrap().key
    };
    let mut scene = scene();
    let key = key_of(&scene, ".git-credentials");
    assert_ne!(key, key_of(&scene, ".config/gh/hosts.yml"));
    let legal = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    assert!(key.len() <= 253 && key.chars().all(legal), "{key}");
    let files = scene.spec("vcs").placement.as_mut().unwrap();
    files.files.as_mut().unwrap().truncate(1);
    assert_eq!(key_of(&scene, ".git-credentials"), key);
}

// Proves: O-021, B-009
#[test]
fn a_bound_session_adds_its_role_s_arguments_and_the_empty_ones_are_left_out() {
    assert_eq!(
        scene().placement().args,
        [
            "-connection=portal",
            "-signed-out=https://portal.example.com/login,https://a.sso.example.com"
        ]
    );
    let mut unbound = scene();
    unbound.bindings.pop();
    assert_eq!(unbound.placement().args, Vec::<String>::new());
}

// Proves: O-021, B-009
#[test]
fn no_variable_is_put_in_place_of_what_a_url_holds() {
    let mut scene = scene();
    let session = scene.spec("site").credential.browser_session.as_mut();
    let signed_out = session.unwrap().signed_out_when.as_mut().unwrap();
    signed_out.url_prefixes = Some(vec!["https://portal.example.com/$(GH_TOKEN)".to_owned()]);
    let args = scene.placement().args;
    // The kubelet makes `$(GH_TOKEN)` of it, and not the token.
    assert_eq!(
        args[1],
        "-signed-out=https://portal.example.com/$$(GH_TOKEN)"
    );
}

// Proves: C-006
#[rstest]
#[case::what_is_not_given("{{.Token}}")]
#[case::what_does_not_parse("{{.Connection")]
#[case::what_does_not_run("{{len 3}}")]
#[case::what_is_no_text("{{printf \"%c\" 0}}")]
fn arguments_that_do_not_render_make_the_class_invalid(#[case] argument: &str) {
    let mut scene = scene();
    let roles = scene.class.connections.as_mut().unwrap();
    let delivery = roles[2].session.as_mut().unwrap();
    delivery.args = Some(vec!["fine".to_owned(), argument.to_owned()]);
    let failure = scene.check(Audience::Claim).unwrap_err();
    assert_eq!(failure.reason, reason::INVALID_CLASS);
    assert!(
        failure.message.contains("session.args[1]"),
        "{}",
        failure.message
    );
    scene.bindings.pop();
    assert_eq!(
        scene.reason(),
        None,
        "of a role that nothing is bound to none is rendered"
    );
}

proptest! {
    // Proves: K-003
    #[test]
    fn nothing_depends_on_what_roles_and_connections_are_called(
        names in prop::collection::hash_set("[a-z][a-z0-9_-]{0,20}", 3),
        connections in prop::collection::hash_set("[a-z][a-z0-9-]{0,20}", 3),
    ) {
        let plain = scene().placement();
        let mut renamed = scene();
        let names = names.into_iter().zip(connections);
        for (index, (role, connection)) in names.enumerate() {
            renamed.class.connections.as_mut().unwrap()[index].role.clone_from(&role);
            renamed.bindings[index].role = role;
            renamed.bindings[index].connection = connection;
        }
        let placement = renamed.placement();
        prop_assert_eq!(&placement.env, &plain.env);
        prop_assert_eq!(&placement.files, &plain.files);
        prop_assert_eq!(&placement.hosts, &plain.hosts);
        prop_assert_eq!(placement.args.len(), plain.args.len());
    }
}
