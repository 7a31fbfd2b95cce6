use rstest::rstest;

use super::{User, mismatch};

const OPERATOR: &str = "system:serviceaccount:sandgate-system:sandgate-controller";

fn user(name: &str, pod: Option<&str>) -> User {
    User {
        name: name.to_owned(),
        pod: pod.map(str::to_owned),
    }
}

#[rstest]
#[case::the_operator(user(OPERATOR, Some("pod-1")), true, None)]
#[case::unbound_where_that_is_allowed(user(OPERATOR, None), false, None)]
#[case::unbound(user(OPERATOR, None), true, Some("--require-pod-bound-token"))]
#[case::somebody_else(user("admin", None), false, Some("--service-account"))]
fn a_controller_that_admission_would_not_take_for_the_operator_says_so(
    #[case] user: User,
    #[case] pod_bound: bool,
    #[case] says: Option<&str>,
) {
    let mismatch = mismatch(&user, OPERATOR, pod_bound);
    match says {
        None => assert_eq!(mismatch, None),
        Some(says) => assert!(mismatch.as_ref().is_some_and(|text| text.contains(says))),
    }
}
