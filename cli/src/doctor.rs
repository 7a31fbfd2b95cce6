//! `sandgate doctor`: who could forge a claim or switch off its proof, and does the installation stand?
//! Does I/O.
//!
//! ```text
//!   gather ──▶ Facts ──┬─ holders (RBAC × powers) ─┬─▶ Report ──▶ terminal, json
//!   (reads)            └─ standing (checks) ───────┘
//!                          └────────────────── pure ─────────────────────────┘
//! ```
//!
//! Nothing is written to the cluster, and the content of no Secret is read.

pub mod facts;
pub mod gather;
pub mod held;
pub mod holders;
pub mod powers;
pub mod rbac;
pub mod report;
pub mod same;
pub mod site;
pub mod standing;
pub mod terminal;
pub mod trouble;

use kube::Client;

use rbac::Subject;
use report::{Report, judge};
use trouble::Trouble;

/// Reads and judges. `namespace` chooses one of several installations, `accepted` are holders of rights
/// whom whoever asks expects.
pub async fn run(
    client: &Client,
    namespace: Option<&str>,
    accepted: &[Subject],
) -> Result<Report, Trouble> {
    let facts = Box::pin(gather::gather(client, namespace)).await?;
    Ok(judge(&facts, accepted))
}
