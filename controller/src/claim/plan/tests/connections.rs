//! What Connections put into a sandbox, and how it is taken out again.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use rstest::rstest;
use sandgate_shared::{
    api::{ClaimPhase, SandboxClaim},
    checks::SecretKeys,
};
use serde_json::{Value, json};

use super::super::{Applied, FilesOutcome, Plan, Urgent, Verdict, status};
use super::world::{World, at, proven};
use crate::admission_queue::{Admission, Limit};
use crate::claim::observed::{Binding, Lookup, ObjectKind};

const CANARY: &str = "canary-of-a-secret";

/// A claim that the operator wrote and that binds two Connections, which have been looked at.
pub(super) fn world() -> World {
    let mut world = World::codegen();
    world.settings.sandbox_fs_group = Some(65_532);
    let mut claim = serde_json::to_value(&world.observed.claim).unwrap();
    claim["spec"]["connections"] = json!([
        {"role": "ticket", "connection": "jira"},
        {"role": "vcs", "connection": "github"},
    ]);
    world.observed.claim = serde_json::from_value::<SandboxClaim>(claim).unwrap();
    world.observed.claim.metadata.creation_timestamp = Some(Time(at(61)));
    world.observed.trust = proven();
    let roles = json!([{"role": "vcs", "required": true}, {"role": "ticket"}]);
    world.class_mut().connections = serde_json::from_value(roles).unwrap();
    let github = json!({
        "env": [{"name": "GH_TOKEN", "key": "token"}],
        "files": [{"path": ".config/gh/hosts.yml", "template": "oauth_token: {{.token}}"}],
    });
    let jira = json!({"env": [{"name": "JIRA_TOKEN", "key": "token"}]});
    world.observed.bindings = Some(vec![
        binding("ticket", "jira", &jira),
        binding("vcs", "github", &github),
    ]);
    world
}

fn binding(role: &str, connection: &str, placement: &Value) -> Binding {
    let secret = format!("{connection}-secret");
    let spec = json!({
        "hosts": ["example.com"],
        "credential": {"kind": "secret", "secretRef": {"name": secret}},
        "placement": placement,
    });
    let value = format!("{CANARY}-{connection}").into_bytes();
    Binding {
        role: role.to_owned(),
        connection: connection.to_owned(),
        found: Some(serde_json::from_value(spec).unwrap()),
        secret: Some(SecretKeys {
            name: secret,
            values: [("token".to_owned(), value.into())].into(),
        }),
    }
}

/// The binding of role `vcs`.
pub(super) fn vcs(world: &mut World) -> &mut Binding {
    let bindings = world.observed.bindings.as_mut().unwrap();
    bindings.last_mut().unwrap()
}

pub(super) fn bound() -> World {
    let mut world = world();
    world.settle(at(62));
    world.pod_is(|pod| pod.ready = true);
    world.settle(at(62));
    assert_eq!(
        world.phase(),
        Some(ClaimPhase::Bound),
        "{:?}",
        world.ready()
    );
    world
}

fn pod(world: &World) -> &Value {
    &world.store[&ObjectKind::Deployment]["spec"]["template"]["spec"]
}

/// Names of the variables that are references.
fn placed(world: &World) -> Vec<&str> {
    let env = pod(world)["containers"][0]["env"].as_array().unwrap();
    let placed = env.iter().filter(|it| it.get("valueFrom").is_some());
    placed.map(|it| it["name"].as_str().unwrap()).collect()
}

fn files(plan: &Plan) -> Vec<(&str, &[u8])> {
    let intent = plan.files.as_ref().unwrap();
    let files = intent.files.iter();
    files
        .map(|file| (file.path.as_str(), file.bytes.reveal()))
        .collect()
}

// Proves: K-011
#[test]
fn nothing_is_decided_before_the_connections_are_looked_at() {
    let mut world = world();
    world.observed.bindings = None;
    let plan = world.plan(at(62));
    assert_eq!(plan.verdict, Verdict::Look);
    assert!(plan.ensure.is_empty() && plan.delete.is_empty());
    let mut bound = bound();
    bound.observed.bindings = None;
    assert_eq!(bound.plan(at(63)).verdict, Verdict::Look);
}

// Proves: C-008
#[test]
fn while_a_claim_waits_for_its_turn_nobody_looks_at_its_connections() {
    let mut world = world();
    world.observed.bindings = None;
    world.observed.admission = Admission::Held {
        limit: Limit::Runtime,
        of: Some(1),
    };
    let verdict = world.plan(at(62)).verdict;
    assert!(matches!(verdict, Verdict::Queue(_)), "{verdict:?}");
    let mut bound = bound();
    bound.observed.bindings = None;
    bound.observed.admission = world.observed.admission;
    assert_eq!(bound.plan(at(63)).verdict, Verdict::Look);
}

// Proves: K-005, K-032, O-031, O-032
#[test]
fn variables_are_references_and_files_are_mounted_one_by_one_and_read_only_for_the_group() {
    let mut world = world();
    world.settle(at(62));
    let pod = pod(&world);
    let container = &pod["containers"][0];
    let reference = |name: &str, secret: &str| json!({"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": "token", "optional": false}}});
    let env = container["env"].as_array().unwrap();
    let (before, of_proxy) = env.split_at(4);
    assert_eq!(of_proxy.len(), 6);
    assert_eq!(
        before,
        json!([
            {"name": "HOME", "value": "/sandbox-cache"},
            {"name": "GOCACHE", "value": "/sandbox-cache/go-build"},
            reference("GH_TOKEN", "github-secret"),
            reference("JIRA_TOKEN", "jira-secret"),
        ])
        .as_array()
        .unwrap()
    );
    let plan = world.plan(at(62));
    let file = &plan.files.as_ref().unwrap().files[0];
    let mounts = container["volumeMounts"].as_array().unwrap();
    assert_eq!(
        mounts.last().unwrap(),
        &json!({
            "name": "sandgate-connections",
            "mountPath": "/sandbox-cache/.config/gh/hosts.yml",
            "subPath": file.key,
            "readOnly": true,
        })
    );
    let volumes = pod["volumes"].as_array().unwrap();
    assert_eq!(
        volumes.last().unwrap(),
        &json!({
            "name": "sandgate-connections",
            "secret": {"secretName": "my-agent-sbx-7k2qp-sandbox-connections", "defaultMode": 0o440},
        })
    );
    assert_eq!(pod["securityContext"]["fsGroup"], 65532);
    assert_eq!(
        pod["securityContext"]["fsGroupChangePolicy"],
        "OnRootMismatch"
    );
    let expected = format!("oauth_token: {CANARY}-github");
    assert_eq!(
        files(&plan),
        [(".config/gh/hosts.yml", expected.as_bytes())]
    );
    let intent = plan.files.as_ref().unwrap();
    assert_eq!(
        intent.metadata["ownerReferences"][0]["uid"],
        world.observed.claim.metadata.uid.as_deref().unwrap()
    );
    let told = format!(
        "{plan:?} {:?} {:?} {:?}",
        world.observed,
        world.store,
        world.status()
    );
    assert!(!told.contains(CANARY), "{told}");
}

// Proves: O-032
#[test]
fn a_pod_has_a_group_only_where_files_are_placed_and_the_installation_gives_one() {
    let mut without_files = world();
    let spec = vcs(&mut without_files).found.as_mut().unwrap();
    spec.placement.as_mut().unwrap().files = None;
    without_files.settle(at(62));
    assert_eq!(pod(&without_files)["securityContext"].get("fsGroup"), None);
    assert!(files(&without_files.plan(at(62))).is_empty());
    let mut without_group = world();
    without_group.settings.sandbox_fs_group = None;
    without_group.settle(at(62));
    let context = &pod(&without_group)["securityContext"];
    assert_eq!(context.get("fsGroup"), None);
    assert_eq!(context.get("fsGroupChangePolicy"), None);
}

// Proves: K-011, C-030, C-031
#[rstest]
#[case::unbound(|world: &mut World| {
    world.observed.bindings.as_mut().unwrap().pop();
}, "ConnectionRoleUnbound")]
#[case::no_connection(|world: &mut World| vcs(world).found = None, "ConnectionNotFound")]
#[case::no_secret(|world: &mut World| vcs(world).secret = None, "ConnectionSecretNotFound")]
#[case::no_key(|world: &mut World| {
    vcs(world).secret.as_mut().unwrap().values.clear();
}, "ConnectionSecretKeyMissing")]
#[case::no_home(|world: &mut World| {
    world.class_mut().env = None;
}, "ConnectionFilesUnsupported")]
fn a_check_that_fails_before_the_first_bind_ends_the_claim_without_a_pod(
    #[case] fault: fn(&mut World),
    #[case] reason: &'static str,
) {
    let mut faulty = world();
    fault(&mut faulty);
    faulty.settle(at(62));
    assert_eq!(faulty.phase(), Some(ClaimPhase::Failed));
    assert_eq!(faulty.ready().0, reason);
    assert!(faulty.store.is_empty());
    assert_eq!(faulty.events, [reason]);
    let mut starting = world();
    starting.settle(at(62));
    fault(&mut starting);
    starting.settle(at(63));
    assert_eq!(starting.phase(), Some(ClaimPhase::Failed), "not bound yet");
    assert!(
        starting
            .store
            .keys()
            .all(|kind| *kind == ObjectKind::Baseline)
    );
}

// Proves: C-030
#[rstest]
#[case::variable_of_another(json!({"placement": {"env": [{"name": "JIRA_TOKEN", "key": "token"}]}}))]
#[case::variable_of_the_operator(json!({"placement": {"env": [{"name": "HTTPS_PROXY", "key": "token"}]}}))]
#[case::broken_template(json!({"placement": {"files": [{"path": "a", "template": "{{"}]}}))]
#[case::browser_session(json!({"placement": null, "credential": {"kind": "browserSession", "browserSession": {"encryption": {"kmsProvider": "local", "keyID": "k"}}}}))]
fn a_bound_claim_outlives_an_edit_that_no_new_claim_would_pass(#[case] edit: Value) {
    let edit = |world: &mut World| {
        let mut edited = serde_json::to_value(&vcs(world).found).unwrap();
        for (field, value) in edit.as_object().unwrap() {
            edited[field] = value.clone();
        }
        vcs(world).found = serde_json::from_value(edited).unwrap();
    };
    let mut new = world();
    edit(&mut new);
    new.settle(at(62));
    assert_eq!(new.phase(), Some(ClaimPhase::Failed), "{:?}", new.ready());
    let mut bound = bound();
    edit(&mut bound);
    bound.settle(at(70));
    assert_eq!(
        bound.phase(),
        Some(ClaimPhase::Bound),
        "{:?}",
        bound.ready()
    );
}

// Proves: C-036
#[test]
fn a_session_that_would_have_to_be_fetched_is_waited_for_without_any_object() {
    let mut world = world();
    let session = json!([{"role": "vcs", "session": {"stateFile": "/sandbox-cache/state"}}]);
    world.class_mut().connections = serde_json::from_value(session).unwrap();
    world.observed.bindings = None;
    world.settle(at(62));
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.ready().0, "SessionFetchUnavailable");
    assert!(world.store.is_empty());
}

// Proves: O-021
#[test]
fn a_session_s_arguments_follow_those_of_the_class() {
    let mut world = world();
    let roles = json!([{"role": "vcs", "session": {"args": ["-as={{.Connection}}", "{{.StateFile}}"]}}, {"role": "ticket"}]);
    world.class_mut().connections = serde_json::from_value(roles).unwrap();
    let session = json!({
        "hosts": ["example.com"],
        "credential": {"kind": "browserSession", "browserSession": {"encryption": {"kmsProvider": "local", "keyID": "k"}}},
    });
    *vcs(&mut world) = Binding {
        role: "vcs".to_owned(),
        connection: "portal".to_owned(),
        found: Some(serde_json::from_value(session).unwrap()),
        secret: None,
    };
    world.settle(at(62));
    assert_eq!(
        pod(&world)["containers"][0]["args"],
        json!(["-addr=:8080", "-workspace=/workspace", "-as=portal"])
    );
}

type Revoke = fn(&mut World);

const REVOCATIONS: [(Revoke, &str); 3] = [
    (|world| vcs(world).found = None, "ConnectionNotFound"),
    (|world| vcs(world).secret = None, "ConnectionSecretNotFound"),
    (
        |world| vcs(world).secret.as_mut().unwrap().values.clear(),
        "ConnectionSecretKeyMissing",
    ),
];

// Proves: K-030, K-031
#[test]
fn a_bound_sandbox_is_made_anew_without_a_credential_that_is_gone_even_of_a_required_role() {
    for (revoke, reason) in REVOCATIONS {
        let mut world = bound();
        assert_eq!(placed(&world), ["GH_TOKEN", "JIRA_TOKEN"]);
        revoke(&mut world);
        let plan = world.plan(at(70));
        assert_eq!(plan.urgent, Urgent::Revoke);
        assert_eq!(
            World::kinds(&plan),
            [ObjectKind::Deployment],
            "the host of the other Connection is the same"
        );
        assert!(files(&plan).is_empty());
        world.events.clear();
        world.settle(at(70));
        assert_eq!(placed(&world), ["JIRA_TOKEN"]);
        assert!(!pod(&world).to_string().contains("sandgate-connections"));
        assert_eq!(world.phase(), Some(ClaimPhase::Bound), "the claim stays");
        let (holds, told, message) = world.condition("ConnectionsCurrent").unwrap();
        assert_eq!((holds.as_str(), told.as_str()), ("False", reason));
        assert!(
            message.contains("\"vcs\"") && message.contains("\"github\""),
            "{message}"
        );
        assert_eq!(world.events, [reason]);
        assert_eq!(world.settle(at(71)), 0, "and then nothing more is done");
    }
}

// Proves: K-030
#[test]
fn what_comes_back_is_placed_again() {
    let mut world = bound();
    let before = vcs(&mut world).clone();
    vcs(&mut world).secret = None;
    world.settle(at(70));
    *vcs(&mut world) = before;
    let plan = world.plan(at(80));
    assert_eq!(plan.urgent, Urgent::No, "nothing has to be taken away");
    world.settle(at(80));
    assert_eq!(placed(&world), ["GH_TOKEN", "JIRA_TOKEN"]);
    let (holds, reason, _) = world.condition("ConnectionsCurrent").unwrap();
    assert_eq!(
        (holds.as_str(), reason.as_str()),
        ("True", "ConnectionsPlaced")
    );
}

// Proves: O-033, K-006
#[test]
fn another_value_of_a_key_restarts_nothing_and_is_rendered_anew() {
    let mut world = bound();
    let secret = vcs(&mut world).secret.as_mut().unwrap();
    secret
        .values
        .insert("token".to_owned(), b"rotated".to_vec().into());
    let plan = world.plan(at(70));
    assert!(plan.ensure.is_empty());
    assert_eq!(
        files(&plan),
        [(".config/gh/hosts.yml", b"oauth_token: rotated".as_slice())]
    );
}

// Proves: C-034
#[test]
fn an_edit_of_the_class_takes_no_credential_from_a_bound_sandbox() {
    let mut world = bound();
    let variable =
        json!([{"name": "HOME", "value": "/elsewhere"}, {"name": "GH_TOKEN", "value": "x"}]);
    world.class_mut().env = serde_json::from_value(variable).unwrap();
    world.class_mut().connections = None;
    let plan = world.plan(at(70));
    assert!(plan.ensure.is_empty());
    assert_eq!(files(&plan).len(), 1, "what is mounted stays");
    vcs(&mut world).secret = None;
    world.settle(at(71));
    assert_eq!(placed(&world), ["JIRA_TOKEN"]);
}

// Proves: K-031, C-034
#[test]
fn a_credential_goes_with_the_claim_where_its_class_is_gone_and_stays_where_it_stays() {
    let mut world = bound();
    world.observed.class = Lookup::Missing;
    world.settle(at(70));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    assert_eq!(files(&world.plan(at(70))).len(), 1);
    vcs(&mut world).secret = None;
    world.settle(at(71));
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    assert_eq!(world.ready().0, "ClassNotFound");
    assert!(!world.store.contains_key(&ObjectKind::Deployment));
}

// Proves: C-035
#[test]
fn the_files_of_a_failed_claim_go() {
    let mut world = world();
    vcs(&mut world).found = None;
    world.settle(at(62));
    assert!(files(&world.plan(at(63))).is_empty());
    let plain = World::bound().plan(at(63));
    assert_eq!(
        plain.files, None,
        "a claim that binds nothing has none to look at"
    );
}

// Proves: K-032
#[rstest]
#[case::refused(FilesOutcome::Refused(422), "WriteRetried", ClaimPhase::Pending)]
#[case::unanswered(FilesOutcome::Refused(0), "WriteRetried", ClaimPhase::Pending)]
#[case::left_over(FilesOutcome::LeftOver, "PreviousObjectsRemain", ClaimPhase::Pending)]
#[case::foreign(FilesOutcome::Conflict, "NameConflict", ClaimPhase::Failed)]
fn files_that_cannot_be_written_are_told_in_our_own_words(
    #[case] outcome: FilesOutcome,
    #[case] reason: &str,
    #[case] phase: ClaimPhase,
) {
    let mut world = world();
    world.reconcile(at(62));
    let plan = world.plan(at(62));
    let mut applied = world.apply(&plan);
    applied.files = Some(outcome.clone());
    applied.outcomes.pop();
    let decision = status(&world.observed, &plan, &applied, &world.settings, at(62));
    let told = decision.status.unwrap();
    assert_eq!(told.phase, Some(phase));
    let conditions = told.conditions.unwrap();
    let ready = conditions.iter().find(|it| it.type_ == "Ready").unwrap();
    assert_eq!(ready.reason, reason, "{}", ready.message);
    let mut bound = bound();
    let plan = bound.plan(at(70));
    let applied = Applied {
        files: Some(outcome),
        ..bound.apply(&plan)
    };
    let decision = status(&bound.observed, &plan, &applied, &bound.settings, at(70));
    let told = decision.status.unwrap();
    assert_eq!(told.phase, Some(ClaimPhase::Bound), "a bound claim goes on");
}
