//! What is left of a claim that is bound.

use rstest::rstest;
use sandgate_shared::{
    checks::{self, digest, drop_gone, fitting, rendered},
    reason,
};
use serde_json::json;

use crate::scene::{Scene, keys, scene, secret, session};

fn kept(scene: &Scene) -> Vec<String> {
    let bound = scene.bound();
    let (kept, _) = drop_gone(&bound);
    kept.iter().map(|bound| bound.role.to_owned()).collect()
}

// Proves: K-030
#[rstest]
#[case::the_connection(|scene: &mut Scene| scene.binding("vcs").found = None, reason::CONNECTION_NOT_FOUND)]
#[case::the_secret(|scene: &mut Scene| scene.binding("vcs").secret = None, reason::CONNECTION_SECRET_NOT_FOUND)]
#[case::a_variable_s_key(|scene: &mut Scene| scene.forget_key("vcs", "token"), reason::CONNECTION_SECRET_KEY_MISSING)]
#[case::a_file_s_key(|scene: &mut Scene| scene.forget_key("vcs", "git-credentials"), reason::CONNECTION_SECRET_KEY_MISSING)]
#[case::a_template_s_key(|scene: &mut Scene| scene.forget_key("vcs", "user"), reason::CONNECTION_TEMPLATE_INVALID)]
fn a_binding_goes_as_a_whole_with_its_connection_secret_or_key_even_if_it_is_required(
    #[case] revoke: fn(&mut Scene),
    #[case] expected: &str,
) {
    let mut scene = scene();
    let before = digest(&scene.bound());
    assert_eq!(kept(&scene), ["vcs", "ticket", "site"]);
    revoke(&mut scene);
    let bound = scene.bound();
    let (kept, dropped) = drop_gone(&bound);
    let dropped: Vec<_> = dropped
        .iter()
        .map(|it| (it.role.as_str(), it.connection.as_str(), it.failure.reason))
        .collect();
    assert_eq!(dropped, [("vcs", "github", expected)]);
    let roles: Vec<_> = kept.iter().map(|bound| bound.role).collect();
    assert_eq!(roles, ["ticket", "site"]);
    assert_ne!(digest(&kept), before, "the pod has to be made anew");
    let (placement, _) = fitting(&scene.class, &kept).unwrap();
    assert_eq!(placement.env.len(), 1);
    assert_eq!(placement.files, []);
    assert_eq!(rendered(&kept), []);
    assert!(!placement.hosts.contains("github.com"));
}

// Proves: K-030
#[test]
fn nothing_that_a_class_says_takes_a_binding_from_a_bound_claim() {
    let mut scene = scene();
    scene.class.connections = None;
    scene.unset("HOME");
    scene.set("GH_TOKEN", "x");
    assert_eq!(kept(&scene), ["vcs", "ticket", "site"]);
    assert_eq!(
        digest(&scene.bound()),
        digest(&crate::scene::scene().bound())
    );
    assert_eq!(rendered(&scene.bound()).len(), 2, "what is mounted stays");
}

// Proves: K-030
#[test]
fn what_has_no_room_in_a_sandbox_made_anew_is_left_out_and_told() {
    let mut scene = scene();
    scene.set("GH_TOKEN", "x");
    scene.bind_new(
        "twin",
        secret(json!({ "env": [{ "name": "JIRA_TOKEN", "key": "a" }] })),
        Some(&["a"]),
    );
    scene.declare(json!({ "role": "another", "session": {} }));
    scene.bind("another", "portal-2", session(), None);
    let bound = scene.bound();
    let (placement, dropped) = fitting(&scene.class, &bound).unwrap();
    let dropped: Vec<_> = dropped
        .iter()
        .map(|it| (it.role.as_str(), it.failure.reason))
        .collect();
    assert_eq!(
        dropped,
        [
            ("vcs", reason::CONNECTION_ENV_RESERVED),
            ("twin", reason::CONNECTION_PLACEMENT_COLLISION),
            ("another", reason::CONNECTION_SESSION_CONFLICT),
        ]
    );
    let names: Vec<_> = placement.env.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["JIRA_TOKEN"]);
    assert_eq!(placement.files, []);
    assert_eq!(placement.digest, digest(&bound));
}

// Proves: K-030
#[test]
fn a_bound_claim_that_lacks_nothing_gets_what_it_was_bound_with() {
    let scene = scene();
    let bound = scene.bound();
    let (placement, dropped) = fitting(&scene.class, &bound).unwrap();
    assert_eq!(placement, scene.placement());
    assert_eq!(dropped, []);
    let mut files = placement.files.clone();
    files.sort_by(|one, other| one.key.cmp(&other.key));
    assert_eq!(rendered(&bound), files);
}

// Proves: K-031
#[test]
fn the_digest_knows_names_and_no_value_and_no_order() {
    let mut other = scene();
    let before = digest(&other.bound());
    assert_eq!(scene().placement().digest, before);
    other.bindings.reverse();
    for binding in &mut other.bindings {
        for value in binding
            .secret
            .iter_mut()
            .flat_map(|secret| secret.values.values_mut())
        {
            *value = b"another value".to_vec().into();
        }
    }
    let placement = other.spec("vcs").placement.as_mut().unwrap();
    placement.files.as_mut().unwrap().reverse();
    other.spec("vcs").hosts.push("other.test".to_owned());
    assert_eq!(digest(&other.bound()), before);
    let changes: [fn(&mut Scene); 6] = [
        |scene| scene.binding("vcs").connection = "other".to_owned(),
        |scene| scene.binding("vcs").role = "other".to_owned(),
        |scene| scene.binding("vcs").secret.as_mut().unwrap().name = "other".to_owned(),
        |scene| scene.spec("vcs").placement.as_mut().unwrap().env = None,
        |scene| scene.spec("vcs").placement.as_mut().unwrap().files = None,
        |scene| scene.bindings.truncate(2),
    ];
    for (index, make) in changes.into_iter().enumerate() {
        let mut scene = scene();
        make(&mut scene);
        assert_ne!(digest(&scene.bound()), before, "change {index}");
    }
}

// Proves: K-005
#[test]
fn the_rendered_secret_holds_one_file_a_path_and_no_more_than_a_secret_may() {
    let mut scene = scene();
    let files = json!({ "files": [{ "path": ".git-credentials", "key": "a" }, { "path": "large", "key": "b" }] });
    scene.bind_new("one", secret(files), Some(&["a", "b"]));
    let values = &mut scene.binding("one").secret.as_mut().unwrap().values;
    values.insert("b".to_owned(), vec![b'x'; 1 << 20].into());
    let files = rendered(&scene.bound());
    let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths.len(), 2, "{paths:?}");
    let first = files.iter().find(|file| file.path == ".git-credentials");
    let expected = keys(&["git-credentials"]).values["git-credentials"].clone();
    assert_eq!(first.unwrap().bytes, expected);
}

#[test]
fn home_is_what_the_class_sets_it_to() {
    assert_eq!(checks::home(&scene().class).as_deref(), Some("/home/agent"));
}
