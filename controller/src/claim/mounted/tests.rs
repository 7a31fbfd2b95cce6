use rstest::rstest;

use super::*;

fn claim(name: &str, path: &str, created: i64) -> Neighbour {
    Neighbour {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        created: Timestamp::from_second(created).unwrap(),
        path: path.parse().unwrap(),
        bound: false,
    }
}

fn take(mounted: &Mounted, claim: &Neighbour, all: &[Neighbour]) -> Option<String> {
    mounted.take("ns", claim, || all.to_vec())
}

// Proves: M-022, M-023
#[rstest]
#[case::inside("a/b/c", Some("old"))]
#[case::around("a", Some("old"))]
#[case::the_same("a/b", None)]
#[case::beside("a/bc", None)]
fn a_directory_inside_or_around_a_bound_claims_is_refused(
    #[case] path: &str,
    #[case] refused_for: Option<&str>,
) {
    let old = Neighbour {
        bound: true,
        ..claim("old", "a/b", 20)
    };
    // Also to one that was made earlier, and waited.
    let new = claim("new", path, 10);
    let told = take(&Mounted::default(), &new, &[old, new.clone()]);
    assert_eq!(told.as_deref(), refused_for);
}

#[rstest]
#[case::the_older_first(&[0, 1])]
#[case::the_younger_first(&[1, 0])]
fn exactly_one_of_two_that_are_on_record_may_mount(#[case] order: &[usize]) {
    let all = [claim("older", "a/b", 10), claim("younger", "a", 20)];
    let mounted = Mounted::default();
    let told = |index: usize| take(&mounted, &all[index], &all);
    let answers: Vec<_> = order.iter().map(|index| (*index, told(*index))).collect();
    for (index, answer) in answers {
        let wanted = (index == 1).then(|| "older".to_owned());
        assert_eq!(answer, wanted, "claim {index}");
    }
}

#[test]
fn who_was_first_keeps_it_though_an_older_claim_is_recorded_later() {
    let younger = claim("younger", "a/b", 20);
    let mounted = Mounted::default();
    assert_eq!(
        take(&mounted, &younger, std::slice::from_ref(&younger)),
        None
    );
    let older = claim("older", "a", 10);
    let all = [older.clone(), younger.clone()];
    assert_eq!(take(&mounted, &older, &all), Some("younger".to_owned()));
    assert_eq!(take(&mounted, &younger, &all), None);
    // Once that one is gone the directory is free.
    assert_eq!(take(&mounted, &older, std::slice::from_ref(&older)), None);
}

#[test]
fn two_workers_never_admit_both() {
    let all = [claim("one", "a/b", 10), claim("two", "a", 10)];
    for _ in 0..200 {
        let mounted = Mounted::default();
        let answers = std::thread::scope(|threads| {
            let started = all
                .each_ref()
                .map(|claim| threads.spawn(|| take(&mounted, claim, &all)));
            started.map(|thread| thread.join().unwrap())
        });
        assert_eq!(answers.iter().flatten().count(), 1, "{answers:?}");
    }
}
