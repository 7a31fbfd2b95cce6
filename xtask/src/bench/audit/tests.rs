use std::io::Write as _;

use serde_json::{Value, json};

use super::*;

const US: &str = "system:serviceaccount:sandgate-system:sandgate-controller";

fn event(verb: &str, resource: &str, name: &str) -> Value {
    json!({
        "verb": verb,
        "requestURI": format!("/apis/x/namespaces/n/{resource}/{name}"),
        "user": { "username": US },
        "objectRef": { "resource": resource, "namespace": "n", "name": name },
        "responseStatus": { "code": 200 },
    })
}

fn with(mut event: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    event.pointer_mut(parent).unwrap()[field] = value;
    event
}

fn versions(event: Value, asked: Option<&str>, answered: &str) -> Value {
    let body = |version| json!({ "metadata": { "resourceVersion": version } });
    let event = match asked {
        Some(version) => with(event, "/requestObject", body(version)),
        None => with(event, "/requestObject", json!({ "spec": {} })),
    };
    with(event, "/responseObject", body(answered))
}

fn effects(events: &[Value]) -> Vec<Effect> {
    let mut known = HashMap::new();
    events
        .iter()
        .filter_map(|event| {
            judge(
                serde_json::from_value(event.clone()).unwrap(),
                US,
                &mut known,
            )
        })
        .map(|write| write.effect)
        .collect()
}

#[test]
fn a_write_counts_when_the_version_it_was_decided_upon_is_not_the_one_it_left() {
    let put = || event("update", "services", "a-sandbox");
    assert_eq!(
        effects(&[
            versions(put(), Some("7"), "8"),
            versions(put(), Some("8"), "8")
        ]),
        [Effect::Moved, Effect::Unchanged]
    );
}

#[test]
fn a_write_that_names_no_version_is_compared_with_the_one_before() {
    let apply = || event("patch", "sandboxclaims", "a");
    assert_eq!(
        effects(&[
            versions(apply(), None, "8"),
            versions(apply(), None, "8"),
            versions(apply(), None, "9")
        ]),
        [Effect::Moved, Effect::Unchanged, Effect::Moved]
    );
}

#[test]
fn a_write_whose_answer_was_not_recorded_counts() {
    assert_eq!(
        effects(&[
            event("update", "secrets", "s"),
            event("update", "secrets", "s")
        ]),
        [Effect::Moved, Effect::Moved]
    );
}

#[test]
fn dry_runs_move_nothing_and_refusals_questions_and_other_users_are_no_writes() {
    let create = || event("create", "services", "a-sandbox");
    let uri = json!("/api/v1/namespaces/n/services?dryRun=All&fieldManager=m");
    assert_eq!(
        effects(&[
            with(create(), "/requestURI", uri),
            with(create(), "/responseStatus/code", json!(409)),
            with(create(), "/user/username", json!("jane")),
            event("get", "services", "a-sandbox"),
            with(
                event("create", "selfsubjectreviews", ""),
                "/objectRef/apiGroup",
                json!("authentication.k8s.io")
            ),
        ]),
        [Effect::DryRun]
    );
}

#[test]
fn events_leases_and_the_baseline_policy_are_no_writes_of_a_claim() {
    let write = |resource: &str, name: &str| Write {
        resource: resource.to_owned(),
        namespace: "n".to_owned(),
        name: name.to_owned(),
        effect: Effect::Moved,
    };
    let tally: Tally = [
        write("sandboxclaims", "a"),
        write("deployments", "a-sandbox"),
        write("deployments", "b-sandbox"),
        write("networkpolicies", names::BASELINE_POLICY),
        write("leases", "sandgate-controller"),
        write("events", "a.17"),
    ]
    .into_iter()
    .collect();
    assert_eq!((tally.moved.len(), tally.events, tally.baseline), (3, 1, 1));
    assert_eq!(
        tally.per_claim,
        BTreeMap::from([("a".to_owned(), 2), ("b".to_owned(), 1)])
    );
}

#[test]
fn a_half_written_line_is_read_when_it_is_whole() {
    let path = std::env::temp_dir().join(format!("sandgate-audit-{}", std::process::id()));
    let line = event("create", "services", "a-sandbox").to_string();
    let (start, end) = line.split_at(20);
    let mut file = File::create(&path).unwrap();
    write!(file, "{line}\n{start}").unwrap();
    let mut log = AuditLog::new(&path, US.to_owned());
    assert_eq!(log.writes().unwrap().len(), 1);
    assert_eq!(log.writes().unwrap().len(), 0);
    writeln!(file, "{end}").unwrap();
    assert_eq!(log.writes().unwrap().len(), 1);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_token_is_asked_for_and_a_status_is_a_part_of_its_object() {
    let token = event("create", "serviceaccounts", "probe");
    let token = with(token, "/objectRef/subresource", json!("token"));
    assert_eq!(effects(&[token]), []);

    let status = |asked, answered| {
        let patch = with(
            event("patch", "sandboxclaims", "a"),
            "/objectRef/subresource",
            json!("status"),
        );
        versions(patch, asked, answered)
    };
    let whole = versions(event("update", "sandboxclaims", "a"), Some("7"), "8");
    assert_eq!(
        effects(&[whole, status(None, "8"), status(None, "9")]),
        [Effect::Moved, Effect::Unchanged, Effect::Moved]
    );
}
