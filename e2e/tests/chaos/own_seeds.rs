//! Three seeds that are always the same, and a fresh one.

use std::time::{SystemTime, UNIX_EPOCH};

use rstest::rstest;
use sandgate_e2e::{Outcome, chaos};

/// Another one with every run; told if something is found.
fn fresh() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::from(now.unwrap_or_default().subsec_nanos())
}

// Proves: C-008, C-009, C-011, C-012, C-016, C-019, C-025, C-028, C-034, C-035, E-001, E-003, E-004, E-011, E-012, O-001, O-037
#[rstest]
#[case::seed_1(1)]
#[case::seed_2(2)]
#[case::seed_3(3)]
#[case::fresh_seed(fresh())]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_law_holds_and_everything_settles_whatever_fails(#[case] seed: u64) -> Outcome {
    let report = Box::pin(chaos::run(seed, chaos::DEEDS)).await?;
    assert!(report.is_sound(), "{report}");
    println!("{report}");
    Ok(())
}
