//! The corpus with every layer on, as an installation has it. Does I/O.

use sandgate_e2e::{Cluster, Outcome};
use sandgate_shared::rules::{Moment, Row};

use crate::corpus::{Desk, broken, every_case, named};
use crate::writers::Writers;

/// Whether the mutating call, which reports everything at once, judges by this rule: it sees no
/// status.
fn told_first(row: &Row) -> bool {
    row.moment != Moment::StatusChange
}

// Proves: W-001, W-003, W-009, W-010, W-011, W-012, W-013, W-014, W-015, W-016, W-017, W-018, W-020, W-021, W-022, W-024, W-025, P-031
#[tokio::test]
async fn all_layers_together_refuse_what_any_of_them_refuses_and_admit_the_rest() -> Outcome {
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("parity").await?;
    let writers = Writers::of(&namespace).await?;
    let desk = Desk::new(&namespace, &writers);
    every_case(&desk, |case, answer| {
        let expected = broken(case, |_| true);
        let named = named(answer)?;
        let missed = broken(case, told_first)
            .iter()
            .any(|rule| !named.contains(rule));
        let silent = named.is_empty() == expected.is_empty() || case.breaks_the_schema();
        let right = silent && named.is_subset(&expected);
        if right && !missed && answer.is_some() != case.refused.is_empty() {
            Ok(())
        } else {
            Err(format!("should name {expected:?}"))
        }
    })
    .await
}
