//! What the API server's refusals do to a claim.

use rstest::rstest;
use sandgate_shared::api::ClaimPhase;

use super::super::{Refusal, RefusalClass, Settings, refusal_pause};
use super::world::{World, at, start};
use crate::claim::observed::ObjectKind;

pub(super) fn answer(code: u16, message: &str) -> Refusal {
    Refusal {
        code,
        message: message.to_owned(),
        ..Refusal::default()
    }
}

fn rbac() -> Refusal {
    answer(
        403,
        "deployments.apps is forbidden: User \"system:serviceaccount:sandgate-system:sandgate-controller\" cannot create resource \"deployments\" in API group \"apps\" in the namespace \"my-agents\"",
    )
}

fn terminating() -> Refusal {
    Refusal {
        causes: vec!["NamespaceTerminating".to_owned()],
        ..answer(
            403,
            "services \"x\" is forbidden: unable to create new content in namespace my-agents because it is being terminated",
        )
    }
}

// Proves: C-032
#[rstest]
#[case::bad_request(answer(400, "cannot be handled"), RefusalClass::Rejected)]
#[case::invalid(
    answer(422, "Deployment.apps \"x\" is invalid"),
    RefusalClass::Rejected
)]
#[case::admission(
    answer(403, "admission webhook \"image.example\" denied the request: no"),
    RefusalClass::Rejected
)]
#[case::policy(
    answer(
        403,
        "deployments.apps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no"
    ),
    RefusalClass::Rejected
)]
#[case::somebody_elses_rbac(
    answer(
        403,
        "admission webhook \"x\" denied the request: User \"jane\" cannot create resource"
    ),
    RefusalClass::Rejected
)]
#[case::our_rbac(rbac(), RefusalClass::OperatorForbidden)]
#[case::quota(
    answer(403, "services \"x\" is forbidden: exceeded quota: small"),
    RefusalClass::Retry
)]
#[case::quota_nobody_counted(
    answer(
        403,
        "services \"x\" is forbidden: status unknown for quota: small, resources: count/services"
    ),
    RefusalClass::Retry
)]
#[case::no_quota_at_all(
    answer(
        403,
        "services \"x\" is forbidden: insufficient quota to consume: count/services"
    ),
    RefusalClass::Retry
)]
#[case::terminating(terminating(), RefusalClass::NamespaceTerminating)]
#[case::namespace_gone(
    answer(404, "namespaces \"my-agents\" not found"),
    RefusalClass::NamespaceTerminating
)]
#[case::conflict(answer(409, "the object has been modified"), RefusalClass::Retry)]
#[case::too_many(answer(429, "too many requests"), RefusalClass::Retry)]
#[case::webhook_down(answer(500, "failed calling webhook \"x\""), RefusalClass::Retry)]
#[case::unavailable(answer(503, "unavailable"), RefusalClass::Retry)]
#[case::unauthorized(answer(401, "Unauthorized"), RefusalClass::Retry)]
#[case::no_answer(answer(0, "timed out"), RefusalClass::Retry)]
fn a_refusal_is_told_by_its_code_and_words(#[case] refusal: Refusal, #[case] class: RefusalClass) {
    assert_eq!(refusal.class(&Settings::default().operator_username), class);
}

// Proves: C-007, C-032, C-035
#[rstest]
#[case(
    422,
    "Deployment.apps \"x\" is invalid: spec.template.spec.tolerations[0].operator: bad"
)]
#[case(400, "json: cannot unmarshal")]
#[case(
    403,
    "admission webhook \"image.example\" denied the request: not from our registry"
)]
fn a_rejected_object_fails_a_claim_that_never_bound_with_the_servers_words(
    #[case] code: u16,
    #[case] message: &str,
) {
    let mut world = World::codegen();
    world.refuses = Some((ObjectKind::Deployment, answer(code, message)));
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Failed));
    assert_eq!(world.ready().0, "SandboxRejected");
    assert!(world.ready().1.contains(message), "{}", world.ready().1);
    let left: Vec<_> = world.store.keys().collect();
    assert_eq!(left, [&ObjectKind::Baseline], "no half-built claim");
}

// Proves: C-032
#[rstest]
fn a_rejected_write_of_a_bound_claim_is_a_condition_and_is_retried() {
    let mut world = World::bound();
    world.refuses = Some((ObjectKind::NetworkPolicy, answer(422, "is invalid")));
    world.class_mut().egress = None;
    let (_, decision) = world.reconcile(at(60));
    assert_eq!(world.phase(), Some(ClaimPhase::Bound));
    assert_eq!(world.ready().0, "SandboxReady");
    let (status, reason, message) = world.condition("ObjectsCurrent").unwrap();
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "SandboxRejected")
    );
    assert!(message.contains("is invalid"));
    assert_eq!(decision.requeue.unwrap().as_secs(), 1);

    world.refuses = None;
    world.settle(at(61));
    assert_eq!(world.condition("ObjectsCurrent").unwrap().0, "True");
}

// Proves: C-032
#[rstest]
#[case::rbac(rbac(), "OperatorForbidden")]
#[case::quota(
    answer(403, "services \"x\" is forbidden: exceeded quota: small"),
    "WriteRetried"
)]
#[case::conflict(answer(409, "the object has been modified"), "WriteRetried")]
#[case::overload(answer(429, "too many requests"), "WriteRetried")]
#[case::down(answer(503, "etcd is unavailable"), "WriteRetried")]
#[case::silence(answer(0, "no answer within 10 s"), "WriteRetried")]
fn a_write_that_may_succeed_later_leaves_the_claim_pending_with_the_servers_words(
    #[case] refusal: Refusal,
    #[case] reason: &str,
) {
    let mut world = World::codegen();
    world.refuses = Some((ObjectKind::Service, refusal.clone()));
    world.settle(start());
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.ready().0, reason);
    assert!(
        world.ready().1.contains(&refusal.message),
        "{}",
        world.ready().1
    );
    assert!(
        !world.store.contains_key(&ObjectKind::Deployment),
        "no pod without its Service"
    );

    world.refuses = None;
    world.settle(at(1));
    assert_eq!(world.ready().0, "SandboxStarting");
}

// Proves: C-032
#[rstest]
fn a_refused_write_holds_back_the_first_bind_even_when_the_pod_is_ready() {
    let mut world = World::codegen();
    world.settle(start());
    world.pod_is(|pod| pod.ready = true);
    world.refuses = Some((ObjectKind::NetworkPolicy, answer(503, "unavailable")));
    world.class_mut().egress = None;
    world.settle(at(1));
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
    assert_eq!(world.ready().0, "WriteRetried");
    assert_eq!(world.condition("ObjectsCurrent"), None);
}

// Proves: C-032
#[rstest]
fn a_refusal_is_forgotten_once_the_write_is_not_wanted_any_more() {
    let mut world = World::codegen();
    world.settle(start());
    let class = world.observed.class.clone();
    world.refuses = Some((ObjectKind::NetworkPolicy, answer(503, "unavailable")));
    world.class_mut().egress = None;
    world.settle(at(1));
    assert_eq!(world.ready().0, "WriteRetried");
    world.observed.class = class;
    world.settle(at(2));
    assert_eq!(world.ready().0, "SandboxStarting");
}

// Proves: C-032
#[rstest]
fn a_namespace_that_is_going_leaves_the_claim_as_it_is() {
    let mut world = World::admitted();
    world.refuses = Some((ObjectKind::Baseline, terminating()));
    let (_, decision) = world.reconcile(start());
    assert_eq!(decision.status, None);
    assert_eq!(decision.events, []);
    assert_eq!(world.phase(), Some(ClaimPhase::Pending));
}

// Proves: C-032
#[rstest]
fn a_refused_write_is_retried_ever_later_and_not_in_between() {
    let mut world = World::admitted();
    world.refuses = Some((ObjectKind::Service, answer(503, "unavailable")));
    let mut second = 0;
    for pause in [1, 2, 4, 8] {
        let (plan, decision) = world.reconcile(at(second));
        assert!(World::kinds(&plan).contains(&ObjectKind::Service));
        assert_eq!(decision.requeue.unwrap().as_secs(), pause);
        let (plan, decision) = world.reconcile(at(second));
        assert_eq!(plan.ensure, [], "nothing is tried before its time");
        assert_eq!(decision.status, None);
        assert_eq!(decision.requeue.unwrap().as_secs(), pause);
        second += i64::try_from(pause).unwrap();
    }
}

// Proves: C-032
#[rstest]
fn a_success_between_two_refusals_starts_the_pauses_anew() {
    let mut world = World::admitted();
    let down = Some((ObjectKind::Service, answer(503, "unavailable")));
    world.refuses.clone_from(&down);
    world.reconcile(at(0));
    world.reconcile(at(1));
    world.refuses = None;
    world.settle(at(3));
    world.store.remove(&ObjectKind::Service);
    world.look();
    world.refuses = down;
    let (_, decision) = world.reconcile(at(4));
    assert_eq!(decision.requeue.unwrap().as_secs(), 1);
}

// Proves: C-032
#[rstest]
fn a_changed_intent_is_tried_at_once() {
    let mut world = World::admitted();
    world.refuses = Some((ObjectKind::NetworkPolicy, answer(503, "unavailable")));
    world.reconcile(start());
    assert_eq!(world.plan(start()).ensure, []);
    world.class_mut().egress = None;
    let kinds = World::kinds(&world.plan(start()));
    assert_eq!(kinds.first(), Some(&ObjectKind::NetworkPolicy));
}

// Proves: C-032
#[rstest]
#[case(0, 1)]
#[case(1, 1)]
#[case(2, 2)]
#[case(9, 256)]
#[case(10, 300)]
#[case(u32::MAX, 300)]
fn pauses_double_up_to_five_minutes(#[case] attempts: u32, #[case] seconds: i64) {
    assert_eq!(refusal_pause(attempts), seconds);
}
