//! No value of a Secret is ever told.

use proptest::prelude::*;
use sandgate_shared::checks::{Audience, check, digest, drop_gone, fitting, rendered};
use serde_json::{Value, json};

use crate::scene::{CANARY, Scene, scene};

fn word(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words)
}

fn credential() -> impl Strategy<Value = Value> {
    let encryption = json!({ "kmsProvider": "local", "keyID": "k" });
    prop_oneof![
        4 => Just(json!({ "kind": "secret", "secretRef": { "name": "the-secret" } })),
        1 => Just(json!({ "kind": "none" })),
        1 => Just(json!({ "kind": "browserSession", "browserSession": { "encryption": encryption } })),
    ]
}

fn file() -> impl Strategy<Value = Value> {
    let path = word(&["a", "a/b", "b", "cache/x", "c/d/e"]);
    let source = prop_oneof![
        word(&["a", "b", "nosuch"]).prop_map(|key| json!({ "key": key })),
        word(&[
            "{{.a}}",
            "{{.nosuch}}",
            "{{index . .a}}",
            "{{.",
            "{{printf .a}}",
            "{{printf \"%d\" .b}}",
            "{{len .a | index .b}}",
            "{{range .a}}{{end}}",
            "{{eq .a 1}}",
            "{{.a.b}}",
        ])
        .prop_map(|template| json!({ "template": template })),
    ];
    (path, source).prop_map(|(path, mut file)| {
        file["path"] = path.into();
        file
    })
}

fn connection() -> impl Strategy<Value = Value> {
    let variable = (
        word(&["A", "B", "HOME", "CACHE"]),
        word(&["a", "b", "nosuch"]),
    );
    let variable = variable.prop_map(|(name, key)| json!({ "name": name, "key": key }));
    let env = prop::collection::vec(variable, 0..3);
    let files = prop::collection::vec(file(), 0..3);
    (credential(), env, files).prop_map(|(credential, env, files)| {
        json!({
            "hosts": ["a.test"], "credential": credential, "placement": { "env": env, "files": files },
        })
    })
}

fn any_scene() -> impl Strategy<Value = Scene> {
    let binding = (
        word(&["vcs", "ticket", "site", "stray"]),
        prop::option::weighted(0.9, connection()),
        any::<bool>(),
    );
    prop::collection::vec(binding, 0..5).prop_map(|bindings| {
        let mut scene = scene();
        scene.set("CACHE", "/home/agent/cache");
        scene.bindings.clear();
        for (role, spec, secret) in bindings {
            let found = spec.is_some();
            let keys: &[&str] = &["a", "b"];
            scene.bind(
                role,
                "one",
                spec.unwrap_or_else(|| json!({ "hosts": [], "credential": { "kind": "none" } })),
                secret.then_some(keys),
            );
            if !found {
                scene.bindings.last_mut().unwrap().found = None;
            }
        }
        scene
    })
}

proptest! {
    // Proves: K-032
    #[test]
    fn no_value_is_in_a_message_a_digest_or_what_debug_prints(scene in any_scene()) {
        let bound = scene.bound();
        let checked = [Audience::Claim, Audience::AgentRuntime, Audience::ToolRegistry]
            .map(|audience| check(&scene.class, &bound, audience));
        let (kept, dropped) = drop_gone(&bound);
        let placed = (fitting(&scene.class, &kept), rendered(&kept));
        let told = format!("{bound:?} {} {checked:?} {kept:?} {dropped:?} {placed:?}", digest(&bound));
        prop_assert!(!told.contains(CANARY), "{}", told);
        // As `Debug` prints the bytes of a list.
        let numbers = format!("{:?}", CANARY.as_bytes());
        prop_assert!(!told.contains(numbers.trim_matches(['[', ']'])), "{}", told);
    }

    // Proves: K-009, K-030
    #[test]
    fn what_checks_places_and_loses_nothing_once_it_is_bound(scene in any_scene()) {
        let bound = scene.bound();
        if let Ok(placement) = check(&scene.class, &bound, Audience::Claim) {
            let (kept, dropped) = drop_gone(&bound);
            prop_assert!(dropped.is_empty(), "{:?}", dropped);
            let again = fitting(&scene.class, &kept);
            prop_assert_eq!(again, Ok((placement, Vec::new())));
        }
    }
}
