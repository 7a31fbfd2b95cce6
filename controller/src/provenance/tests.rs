//! Reading policy, binding and record, against an API server in memory.

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::names;
use sandgate_shared::render::admission_policy;
use sandgate_shared::trust::{Distrust, Stood};
use serde_json::{Value, json};

use super::*;
use crate::api_server::fake::{Fake, Fault};
use crate::kind::Kind;
use crate::watch::Watches;

const CREATED: &str = "2026-11-20T10:00:00Z";

fn moment(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// What an API server stores of a policy, filled in, or of a binding.
fn as_stored(mut object: Value, uid: &str) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.insert("uid".into(), json!(uid));
    metadata.insert("generation".into(), json!(1));
    metadata.insert("creationTimestamp".into(), json!(CREATED));
    if let Some(constraints) = object.pointer_mut("/spec/matchConstraints") {
        constraints["matchPolicy"] = json!("Equivalent");
        constraints["namespaceSelector"] = json!({});
        constraints["objectSelector"] = json!({});
        constraints["resourceRules"][0]["scope"] = json!("*");
    }
    object
}

fn put_pair(server: &Fake, installation: &Installation) {
    let [policy, binding] = admission_policy(installation);
    let kind = Kind::ValidatingAdmissionPolicy;
    server.put(kind, as_stored(policy, "policy"));
    let kind = Kind::ValidatingAdmissionPolicyBinding;
    server.put(kind, as_stored(binding, "binding"));
}

fn other_version() -> Installation {
    Installation {
        require_pod_bound_token: false,
        ..Installation::default()
    }
}

fn stood() -> Stood {
    Stood {
        policy: "policy".to_owned(),
        binding: "binding".to_owned(),
        policy_created: moment(CREATED),
        since: moment(CREATED),
    }
}

async fn read(server: &Fake) -> Result<Stood, Trust> {
    let expected = Expected::of(&Installation::default());
    pair::read(&server.connect().0, &expected).await
}

// Proves: P-006, P-030
#[tokio::test]
async fn a_pair_that_is_absent_is_broken_unless_that_of_another_version_stands() {
    let server = Fake::default();
    let read_of_nothing = read(&server).await;
    assert!(
        matches!(
            read_of_nothing,
            Err(Trust::Broken(Distrust::Missing { .. }))
        ),
        "{read_of_nothing:?}"
    );
    put_pair(&server, &other_version());
    let sibling = Expected::of(&other_version()).name().to_owned();
    assert_eq!(read(&server).await, Err(Trust::Held { sibling }));
    put_pair(&server, &Installation::default());
    assert_eq!(read(&server).await, Ok(stood()));

    // Helm deletes the binding apart from the policy.
    let name = Expected::of(&Installation::default()).name().to_owned();
    server.take_cluster(Kind::ValidatingAdmissionPolicyBinding, &name);
    let held = read(&server).await;
    assert!(matches!(held, Err(Trust::Held { .. })), "{held:?}");
}

// Proves: P-012, P-030
#[tokio::test]
async fn a_pair_that_is_wrong_is_broken_whatever_else_stands() {
    let server = Fake::default();
    put_pair(&server, &other_version());
    put_pair(&server, &Installation::default());
    let [policy, _] = admission_policy(&Installation::default());
    let mut edited = as_stored(policy, "policy");
    edited["metadata"]["generation"] = json!(3);
    server.put(Kind::ValidatingAdmissionPolicy, edited);
    let broken = read(&server).await;
    assert!(
        matches!(broken, Err(Trust::Broken(Distrust::Edited { .. }))),
        "{broken:?}"
    );
}

#[tokio::test]
async fn an_api_server_that_does_not_answer_decides_nothing() {
    let server = Fake::default();
    for nth in [1, 2, 3] {
        server.fail(nth, Fault::Before);
        let unread = read(&server).await;
        assert!(matches!(unread, Err(Trust::Unread(_))), "{nth}: {unread:?}");
    }
}

// Proves: P-006, P-029
#[tokio::test]
async fn a_verdict_is_given_on_what_stands_now() {
    let server = Fake::default();
    put_pair(&server, &Installation::default());
    let (api, _) = server.connect();
    let provenance = Provenance::new(&Installation::default());
    let proven = Trust::Proven {
        stood: stood(),
        proof: moment(CREATED),
    };
    assert!(provenance.tell(proven.clone()));
    assert!(!provenance.tell(proven.clone()), "no news");
    assert_eq!(provenance.confirmed(&api).await, proven);

    let name = Expected::of(&Installation::default()).name().to_owned();
    server.take_cluster(Kind::ValidatingAdmissionPolicy, &name);
    let confirmed = provenance.confirmed(&api).await;
    assert!(matches!(confirmed, Trust::Broken(_)), "{confirmed:?}");
}

fn prover(server: &Fake) -> Prover {
    let (api, metrics) = server.connect();
    let reach = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let provenance = Provenance::new(&Installation::default());
    let watches = Arc::new(Watches::default());
    let place = ("sandgate", "sandgate-system");
    Prover::new(&api, &metrics, &provenance, &watches, &reach, place)
}

fn put_record(server: &Fake, change: impl FnOnce(&mut Value)) {
    let object = record::object("sandgate", "sandgate-system", "the-policy", &stood());
    let mut object = serde_json::to_value(object).unwrap();
    object["metadata"]["creationTimestamp"] = json!(CREATED);
    change(&mut object);
    server.put(Kind::ConfigMap, object);
}

// Proves: P-029
#[tokio::test]
async fn of_two_leaders_that_make_the_record_the_first_ones_counts() {
    let server = Fake::default();
    let prover = prover(&server);
    assert_eq!(prover.recorded(&stood()).await.unwrap(), None);
    put_record(&server, |_| {});
    let first = moment(CREATED);
    assert_eq!(prover.recorded(&stood()).await.unwrap(), Some(first));
    server.log();
    assert_eq!(prover.record(&stood()).await.unwrap(), first);
    let asked = server.log();
    let verbs: Vec<&str> = asked.iter().filter_map(|it| it.split(' ').next()).collect();
    assert_eq!(verbs, ["POST", "GET"], "never updated: {asked:?}");
}

// Proves: P-029
#[tokio::test]
async fn a_record_that_anybody_could_still_change_or_of_another_pair_is_none() {
    for change in [
        |object: &mut Value| object["immutable"] = json!(false),
        |object: &mut Value| object["data"]["policyUID"] = json!("another"),
        |object: &mut Value| object["data"]["more"] = json!("x"),
    ] {
        let server = Fake::default();
        put_record(&server, change);
        let error = prover(&server).recorded(&stood()).await.unwrap_err();
        assert!(error.to_string().contains("delete it"), "{error}");
    }
}

// Proves: P-029
#[test]
fn the_record_is_named_after_both_uids_and_goes_with_the_policy() {
    let other = Stood {
        binding: "another".to_owned(),
        ..stood()
    };
    let name = stood().record_name("sandgate");
    assert_ne!(name, other.record_name("sandgate"));
    assert_eq!(
        name,
        names::proof("sandgate", &names::short_hash("policy/binding"))
    );
    let object = record::object("sandgate", "sandgate-system", "the-policy", &stood());
    let owner = &object.metadata.owner_references.unwrap()[0];
    assert_eq!(
        (owner.name.as_str(), owner.uid.as_str()),
        ("the-policy", "policy")
    );
    assert_eq!(
        owner.block_owner_deletion, None,
        "needs no right on the policy"
    );
}
