//! The trace as a whole, on sources of a few lines.

use super::*;

fn proof(name: &str, proves: &[&str]) -> Proof {
    Proof {
        binary: "crate".to_owned(),
        name: name.to_owned(),
        file: "crate/src/lib.rs".to_owned(),
        line: 3,
        proves: proves.iter().map(|id| id.parse().unwrap()).collect(),
    }
}

fn runs(cases: &[&str]) -> Runs {
    let mut runs = Runs::default();
    let cases = cases.concat();
    runs.add(&format!("<testsuite name=\"crate\">{cases}</testsuite>"))
        .unwrap();
    runs
}

#[test]
fn an_id_that_no_requirement_has_is_refused_with_its_place() {
    let requirements = requirement::parse("T-001\tcore\tFour kinds.").unwrap();
    let proofs = [proof("a", &["T-001"]), proof("b", &["T-001", "T-999"])];
    assert_eq!(
        unknown_ids(&requirements, &proofs),
        ["crate/src/lib.rs:3: b proves T-999, which is not in docs/requirements.tsv"]
    );
}

#[test]
fn a_proof_must_have_run_and_passed() {
    let proofs = [
        proof("good", &["T-001"]),
        proof("bad", &["T-002"]),
        proof("gone", &["T-003"]),
    ];
    let runs = runs(&[
        "<testcase name='good'/>",
        "<testcase name='bad'><failure/></testcase>",
    ]);
    assert_eq!(
        doubts(&runs, &proofs),
        [
            "crate/src/lib.rs:3: crate bad failed (T-002)",
            "crate/src/lib.rs:3: crate gone did not run (T-003)"
        ]
    );
}

#[test]
fn a_test_that_proves_nothing_need_not_run() {
    assert_eq!(doubts(&runs(&[]), &[proof("a", &[])]), [""; 0]);
}

#[test]
fn slow_proofs_are_judged_only_by_a_run_that_has_slow_tests() {
    let proofs = [proof("slow::slow_soak", &["T-001"])];
    assert_eq!(doubts(&runs(&["<testcase name='a'/>"]), &proofs), [""; 0]);
    let with_slow = runs(&["<testcase name='slow::slow_other'/>"]);
    assert_eq!(doubts(&with_slow, &proofs).len(), 1);
}

#[test]
fn the_newest_report_is_read_last() {
    let top = std::env::temp_dir().join(format!("sandgate-trace-{}", std::process::id()));
    for (profile, age) in [("one/a", 10), ("one/b", 30), ("two/c", 20)] {
        let report = top.join(profile);
        fs::create_dir_all(&report).unwrap();
        let file = fs::File::create(report.join("junit.xml")).unwrap();
        let then = SystemTime::now() - std::time::Duration::from_mins(age);
        file.set_modified(then).unwrap();
    }
    fs::create_dir_all(top.join("one/without-a-report")).unwrap();
    let folders = ["one", "two", "absent"].map(|folder| top.join(folder));
    let found = reports(&folders.into()).unwrap();
    fs::remove_dir_all(&top).unwrap();
    let profiles: Vec<_> = found
        .iter()
        .map(|path| {
            path.parent()
                .unwrap()
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
        })
        .collect();
    assert_eq!(profiles, ["b", "c", "a"]);
}

#[test]
fn the_tests_of_this_file_are_found_under_their_own_names() {
    let Tests {
        proofs, orphans, ..
    } = collect(&workspace::load().unwrap()).unwrap();
    let own = proofs.iter().find(|proof| {
        proof.name == "trace::tests::the_tests_of_this_file_are_found_under_their_own_names"
    });
    let own = own.expect("this test");
    assert_eq!(own.binary, "xtask::bin/xtask");
    assert_eq!(own.file, "xtask/src/trace/tests.rs");
    assert!(
        !orphans
            .iter()
            .any(|orphan| orphan.starts_with("xtask/src/trace")),
        "{orphans:?}"
    );
}

#[test]
fn the_summary_counts_requirements_and_tests() {
    let requirements = requirement::parse("T-001\tcore\tA.\nT-002\tcore\tB.").unwrap();
    let proofs = [
        proof("a", &["T-001"]),
        proof("b", &["T-001"]),
        proof("c", &[]),
    ];
    assert_eq!(
        summary(&requirements, &proofs),
        "1 of 2 requirements are proved by 2 tests; 1 more tests name no requirement"
    );
}
