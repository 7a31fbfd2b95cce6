//! Mount roles: what a configuration may say, and that no two roles, and none and a reserved directory,
//! can ever become one directory or one inside the other.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing test stops where it stands"
)]

use proptest::prelude::*;
use proptest::sample::select;
use rstest::rstest;
use sandgate_shared::mounts::{
    LONGEST, MountRoles, PathFault, RESERVED, RolePath, SubPath, SubPathError, WorkspaceRole,
    WorkspaceRoles,
};
use serde_json::json;

fn path(text: &str) -> Result<RolePath, PathFault> {
    text.parse()
}

fn told(roles: &str) -> String {
    let read: Result<MountRoles, _> = roles.parse();
    read.map(|roles| format!("{roles:?} was taken"))
        .unwrap_err()
        .to_string()
}

// Proves: M-004
#[rstest]
#[case::below_a_word("projects/{id}")]
#[case::for_each_user("arena/workspaces/{id}/{user}")]
#[case::the_user_first("people/{user}/{id}")]
#[case::something_behind("projects/{id}/files")]
#[case::names_that_only_begin_as_a_reserved_one("sandboxes-of-ours/{id}")]
#[case::below_arena_at_a_free_place("arena/sourcesx/{id}")]
fn a_path_has_one_id_and_may_have_one_user(#[case] text: &str) {
    assert_eq!(path(text).unwrap().as_str(), text);
}

// Proves: M-004
#[rstest]
#[case::no_id("projects/shop", PathFault::Ids(0))]
#[case::a_user_alone("projects/{user}", PathFault::Ids(0))]
#[case::two_ids("projects/{id}/{id}", PathFault::Ids(2))]
#[case::two_users("people/{user}/{id}/{user}", PathFault::Users(2))]
#[case::a_part_of_a_segment("projects/x-{id}", PathFault::Placeholder("x-{id}".to_owned()))]
#[case::two_in_one_segment("projects/{id}{user}", PathFault::Placeholder("{id}{user}".to_owned()))]
#[case::another_name("projects/{id}/{team}", PathFault::Placeholder("{team}".to_owned()))]
#[case::another_case("projects/{ID}", PathFault::Placeholder("{ID}".to_owned()))]
#[case::a_stray_brace("projects/{id}/}", PathFault::Placeholder("}".to_owned()))]
fn a_placeholder_is_a_whole_segment(#[case] text: &str, #[case] fault: PathFault) {
    assert_eq!(path(text), Err(fault), "{text}");
}

// Proves: M-005
#[rstest]
#[case::absolute("/projects/{id}", SubPathError::Absolute)]
#[case::going_up("projects/../{id}", SubPathError::Dots)]
#[case::only_going_up("..", SubPathError::Dots)]
#[case::staying("projects/./{id}", SubPathError::Dots)]
#[case::an_empty_segment("projects//{id}", SubPathError::Dots)]
#[case::a_slash_last("projects/{id}/", SubPathError::Dots)]
#[case::nothing("", SubPathError::Empty)]
#[case::a_backslash("projects\\{id}", SubPathError::Character)]
#[case::a_null("projects/\0/{id}", SubPathError::Character)]
#[case::a_line_break("projects\n/{id}", SubPathError::Character)]
fn a_path_is_relative_and_written_in_one_way(#[case] text: &str, #[case] fault: SubPathError) {
    assert_eq!(path(text), Err(PathFault::Text(fault)), "{text:?}");
    assert_eq!(text.parse::<SubPath>(), Err(fault), "{text:?}");
}

// Proves: M-005
#[test]
fn a_path_is_no_longer_than_a_claim_can_record() {
    let segment = "a".repeat(255);
    let longest = [segment.as_str(); 4].join("/");
    assert_eq!(longest.len() + 1, LONGEST);
    assert!(format!("{longest}/").parse::<SubPath>().is_err());
    assert!(longest.parse::<SubPath>().is_ok());
    assert_eq!(
        format!("{longest}/a").parse::<SubPath>(),
        Err(SubPathError::Long)
    );
    assert_eq!(
        format!("{segment}a").parse::<SubPath>(),
        Err(SubPathError::Long)
    );
}

// Proves: M-006
#[rstest]
#[case::anything_at_the_top("{id}", "sandboxes")]
#[case::anything_below_arena("arena/{id}", "arena/sources")]
#[case::the_directory_itself("sandboxes/{id}", "sandboxes")]
#[case::deep_in_one("sessions/shop/{id}", "sessions")]
#[case::through_a_placeholder("{user}/skills/{id}", "sandboxes")]
#[case::through_a_placeholder_of_two_levels("{user}/repos/{id}", "sandboxes")]
#[case::in_an_inner_one("arena/template-indexes/{id}", "arena/template-indexes")]
#[case::an_id_in_the_middle("arena/{id}/files", "arena/sources")]
fn a_path_that_can_reach_or_contain_a_reserved_directory_is_refused(
    #[case] text: &str,
    #[case] taken: &'static str,
) {
    assert_eq!(path(text), Err(PathFault::Reserved(taken)), "{text}");
}

// Proves: M-006
#[test]
fn each_reserved_directory_is_refused_itself_and_below() {
    for taken in RESERVED {
        for text in [format!("{taken}/{{id}}"), format!("{taken}/x/{{id}}/y")] {
            assert_eq!(path(&text), Err(PathFault::Reserved(taken)), "{text}");
        }
    }
}

// Proves: M-008
#[test]
fn a_role_asks_for_a_directory_that_exists_and_for_an_editor_unless_it_says_otherwise() {
    let text = json!([
        {"name": "project", "path": "projects/{id}"},
        {"name": "notes", "path": "notes/{id}", "mustExist": false, "minRole": "viewer"},
        {"name": "vault", "path": "vault/{id}", "mustExist": true, "minRole": "owner"},
    ]);
    let roles: MountRoles = text.to_string().parse().unwrap();
    let read: Vec<_> = roles
        .iter()
        .map(|role| (role.name.as_str(), role.must_exist, role.min_role))
        .collect();
    assert_eq!(
        read,
        [
            ("project", true, WorkspaceRole::Editor),
            ("notes", false, WorkspaceRole::Viewer),
            ("vault", true, WorkspaceRole::Owner),
        ]
    );
    assert!(WorkspaceRole::Viewer < WorkspaceRole::Editor);
    assert!(WorkspaceRole::Editor < WorkspaceRole::Owner);
}

// Proves: M-003
#[rstest]
#[case::scratch("scratch", "that of a built-in role")]
#[case::session("session", "that of a built-in role")]
#[case::upper_case("Project", "no DNS label")]
#[case::nothing("", "no DNS label")]
#[case::a_dot("my.project", "no DNS label")]
#[case::too_long(
    "a123456789b123456789c123456789d123456789e123456789f123456789g123",
    "no DNS label"
)]
fn a_role_has_a_name_that_a_claim_can_use(#[case] name: &str, #[case] rule: &str) {
    let error = told(&json!([{"name": name, "path": "projects/{id}"}]).to_string());
    assert!(
        error.starts_with(&format!(
            "failed to accept mount role {name:?}: its name is {rule}"
        )),
        "{error}"
    );
}

// Proves: M-007
#[rstest]
#[case::one_path("a/{id}", "a/{id}", true)]
#[case::one_inside_the_other("a/{id}", "a/{id}/files", true)]
#[case::another_user("a/{id}/{user}", "a/shop/{id}", true)]
#[case::a_word_for_an_id("a/{id}/x", "a/b/{id}", true)]
#[case::words_that_differ_at_one_depth("a/{id}/x", "a/{id}/y", false)]
#[case::words_that_differ_at_the_top("a/{id}", "b/{id}", false)]
fn paths_of_two_roles_are_apart(#[case] ours: &str, #[case] theirs: &str, #[case] overlap: bool) {
    for (first, second) in [(ours, theirs), (theirs, ours)] {
        let roles = json!([{"name": "one", "path": first}, {"name": "two", "path": second}]);
        let read: Result<MountRoles, _> = roles.to_string().parse();
        assert_eq!(read.is_err(), overlap, "{first} {second}");
    }
}

// Proves: M-001
#[rstest]
#[case::two_of_one_name(
    json!([{"name": "one", "path": "a/{id}"}, {"name": "one", "path": "b/{id}"}]),
    r#"failed to accept mount role "one": another role has its name; give each a name of its own"#
)]
#[case::an_overlap(
    json!([{"name": "one", "path": "a/{id}"}, {"name": "two", "path": "a/b/{id}"}]),
    r#"failed to accept mount role "two": its path a/b/{id} and that of role "one", a/{id}, can become one directory or one inside the other; begin each with directories of its own"#
)]
#[case::a_reserved_directory(
    json!([{"name": "one", "path": "arena/{id}"}]),
    r#"failed to accept mount role "one": its path "arena/{id}" can reach or contain arena/sources/, which sandboxes or other components own; begin it with a directory of its own, as in arena/workspaces/{id}"#
)]
#[case::going_up(
    json!([{"name": "one", "path": "a/../{id}"}]),
    r#"failed to accept mount role "one": its path "a/../{id}" has an empty, '.' or '..' segment; write it like arena/workspaces/{id}"#
)]
#[case::an_id_for_a_part(
    json!([{"name": "one", "path": "a/x-{id}"}]),
    r#"failed to accept mount role "one": its path "a/x-{id}" has the segment "x-{id}": a placeholder is a whole segment, {id} or {user}, and nothing else has braces"#
)]
fn what_is_wrong_names_the_role_the_rule_and_the_way_out(
    #[case] roles: serde_json::Value,
    #[case] sentence: &str,
) {
    assert_eq!(told(&roles.to_string()), sentence);
}

// Proves: M-001
#[rstest]
#[case::no_json("project", "expected")]
#[case::no_list(r#"{"name":"one"}"#, "expected a sequence")]
#[case::no_path(r#"[{"name":"one"}]"#, "missing field `path`")]
#[case::a_field_that_is_none(
    r#"[{"name":"one","path":"a/{id}","must":true}]"#,
    "unknown field `must`"
)]
#[case::a_role_that_is_none(
    r#"[{"name":"one","path":"a/{id}","minRole":"admin"}]"#,
    "unknown variant `admin`"
)]
#[case::a_text_for_a_truth(
    r#"[{"name":"one","path":"a/{id}","mustExist":"no"}]"#,
    "expected a boolean"
)]
fn what_is_no_list_of_roles_is_refused(#[case] text: &str, #[case] why: &str) {
    let error = told(text);
    assert!(error.starts_with("failed to read mount roles: "), "{error}");
    assert!(error.contains(why), "{error}");
    assert!(error.contains("write a JSON list of objects"), "{error}");
}

fn installed() -> MountRoles {
    let roles = json!([
        {"name": "project", "path": "projects/{id}"},
        {"name": "notes", "path": "notes/{id}"},
    ]);
    roles.to_string().parse().unwrap()
}

fn told_in_a_workspace(roles: &WorkspaceRoles, name: &str) -> String {
    match roles.get(name) {
        None => "nobody configures it".to_owned(),
        Some(Ok(role)) => format!("{} {} {:?}", role.path, role.must_exist, role.min_role),
        Some(Err(fault)) => fault.to_string(),
    }
}

// Proves: M-002
#[test]
fn a_workspaces_role_replaces_the_installations_of_its_name_and_new_ones_are_added() {
    let own = json!([
        {"name": "project", "path": "elsewhere/{id}", "mustExist": false, "minRole": "owner", "title": "Ours"},
        {"name": "vault", "path": "projects/{id}"},
    ]);
    let roles = installed().within(own.as_array().unwrap());
    let told = |name: &str| told_in_a_workspace(&roles, name);
    assert_eq!(told("project"), "elsewhere/{id} false Owner");
    assert_eq!(told("vault"), "projects/{id} true Editor");
    assert_eq!(told("notes"), "notes/{id} true Editor");
    assert_eq!(told("others"), "nobody configures it");
    let none = installed().within(&[]);
    assert_eq!(
        told_in_a_workspace(&none, "project"),
        "projects/{id} true Editor"
    );
}

// Proves: M-002, M-007
#[rstest]
#[case::an_overlap_with_the_installations(
    json!([{"name": "own", "path": "notes/{id}/x"}]), "own",
    "its path notes/{id}/x and that of role \"notes\", notes/{id}, can become one directory"
)]
#[case::an_overlap_among_its_own(
    json!([{"name": "first", "path": "own/{id}"}, {"name": "own", "path": "own/{id}"}]), "own",
    "its path own/{id} and that of role \"first\", own/{id}, can become one directory"
)]
#[case::a_reserved_directory(
    json!([{"name": "own", "path": "sandboxes/{id}"}]), "own", "its path \"sandboxes/{id}\""
)]
#[case::a_built_in_name(json!([{"name": "session", "path": "own/{id}"}]), "session", "built-in")]
#[case::two_of_one_name(
    json!([{"name": "own", "path": "a/{id}"}, {"name": "own", "path": "b/{id}"}]), "own",
    "another role has its name"
)]
#[case::a_misspelt_least_role(
    json!([{"name": "own", "path": "own/{id}", "minRole": "ownr"}]), "own", "unknown variant `ownr`"
)]
#[case::a_number_for_the_least_role(
    json!([{"name": "own", "path": "own/{id}", "minRole": 1}]), "own", "minRole"
)]
#[case::no_path(json!([{"name": "own"}]), "own", "missing field `path`")]
#[case::in_place_of_the_installations(json!([{"name": "project"}]), "project", "missing field `path`")]
#[case::a_name_that_is_none(json!([{"name": "A b", "path": "own/{id}"}]), "A b", "no DNS label")]
fn a_wrong_role_of_a_workspace_is_at_fault_by_itself(
    #[case] own: serde_json::Value,
    #[case] name: &str,
    #[case] why: &str,
) {
    let mut own = own.as_array().unwrap().clone();
    own.extend([json!({"path": "nameless/{id}"}), json!(7)]);
    own.push(json!({"name": "last", "path": "last/{id}"}));
    let roles = installed().within(&own);
    let told = told_in_a_workspace(&roles, name);
    assert!(told.contains(why), "{told}");
    assert!(matches!(roles.get(name), Some(Err(_))), "{told}");
    for sound in ["notes", "last"] {
        assert!(matches!(roles.get(sound), Some(Ok(_))), "{sound}");
    }
}

#[test]
fn an_installation_may_have_no_role() {
    let roles: MountRoles = "[]".parse().unwrap();
    assert_eq!(roles.iter().count(), 0);
}

/// What a placeholder is tried as: all words the paths below are made of, and one that is in none.
const WORDS: [&str; 6] = ["a", "b", "arena", "sources", "sandboxes", "other"];

fn pattern() -> impl Strategy<Value = Vec<&'static str>> {
    let words = select(vec!["a", "b", "arena", "sources", "sandboxes"]);
    let around = proptest::collection::vec(words, 0..4);
    (
        around,
        any::<prop::sample::Index>(),
        any::<Option<prop::sample::Index>>(),
    )
        .prop_map(|(mut segments, id, user)| {
            segments.insert(id.index(segments.len() + 1), "{id}");
            if let Some(user) = user {
                segments.insert(user.index(segments.len() + 1), "{user}");
            }
            segments
        })
}

/// Every directory that a path can become.
fn all_directories(segments: &[&'static str]) -> Vec<String> {
    segments.iter().fold(vec![String::new()], |sofar, segment| {
        let choices = if segment.starts_with('{') {
            WORDS.to_vec()
        } else {
            vec![*segment]
        };
        let longer = sofar.iter().flat_map(|begun| {
            choices
                .iter()
                .map(move |choice| format!("{begun}/{choice}"))
        });
        longer.collect()
    })
}

fn can_meet(ours: &[String], theirs: &[String]) -> bool {
    let within = |inner: &str, outer: &str| format!("{inner}/").starts_with(&format!("{outer}/"));
    ours.iter().any(|ours| {
        let mut theirs = theirs.iter();
        theirs.any(|theirs| within(ours, theirs) || within(theirs, ours))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    // Proves: M-006
    #[test]
    fn a_path_is_refused_exactly_if_some_directory_of_it_meets_a_reserved_one(segments in pattern()) {
        let reserved: Vec<_> = RESERVED.iter().map(|taken| format!("/{taken}")).collect();
        let meets = can_meet(&all_directories(&segments), &reserved);
        let read = path(&segments.join("/"));
        prop_assert_eq!(matches!(read, Err(PathFault::Reserved(_))), meets, "{:?}", read);
        prop_assert_eq!(read.is_err(), meets);
    }

    // Proves: M-007
    #[test]
    fn paths_overlap_exactly_if_some_directories_of_theirs_meet(ours in pattern(), theirs in pattern()) {
        // Below a directory of their own, where nothing is reserved.
        let below = |segments: &[&str]| path(&format!("projects/{}", segments.join("/"))).unwrap();
        let meet = can_meet(&all_directories(&ours), &all_directories(&theirs));
        prop_assert_eq!(below(&ours).overlaps(&below(&theirs)), meet);
        prop_assert_eq!(below(&theirs).overlaps(&below(&ours)), meet);
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".*") {
        let _ = text.parse::<MountRoles>().is_ok();
        if let Ok(path) = text.parse::<SubPath>() {
            prop_assert_eq!(path.segments().collect::<Vec<_>>().join("/"), text);
        }
    }
}
