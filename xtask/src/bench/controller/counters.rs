//! What the controller counts of its own work, and when it has none left. Reads its metrics.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use sandgate_e2e::installation::Controller;
use sandgate_e2e::service;

use super::{LOOK_EVERY, PATIENCE};

/// As long as the controller asks nothing of the API server but its Lease, it has nothing to do.
const QUIET: Duration = Duration::from_secs(3);

/// Waits until the controller has asked nothing of the API server for [`QUIET`], its Lease apart.
pub async fn quiet(controller: &Controller) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let mut last = counters(controller).await?;
    let mut since = Instant::now();
    let mut turn = tokio::time::interval(LOOK_EVERY);
    while since.elapsed() < QUIET {
        turn.tick().await;
        let now = counters(controller).await?;
        if now != last {
            last = now;
            since = Instant::now();
        }
        if Instant::now() >= deadline {
            bail!(
                "the controller still asks things of the API server after {} s without a change",
                PATIENCE.as_secs()
            );
        }
    }
    Ok(())
}

/// What the controller counts of its own work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Claims looked at.
    pub reconciles: f64,
    /// Requests to the API server, those about the Lease apart.
    pub requests: f64,
}

/// Reads them.
pub async fn counters(controller: &Controller) -> anyhow::Result<Counters> {
    let address = controller.service.health_address();
    let (_, text) = service::get(&address, "/metrics")
        .await
        .context("failed to read the controller's metrics")?;
    Ok(Counters::read(&text))
}

impl Counters {
    fn read(text: &str) -> Self {
        let mut counters = Self::default();
        for line in text.lines() {
            let Some((series, value)) = line.rsplit_once(' ') else {
                continue;
            };
            let value: f64 = value.parse().unwrap_or_default();
            if series.starts_with("sandgate_controller_reconciles_total") {
                counters.reconciles += value;
            } else if series.starts_with("sandgate_controller_api_requests_total")
                && !series.contains("\"Lease\"")
            {
                counters.requests += value;
            }
        }
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_add_up_over_labels_and_leave_the_lease_out() {
        let text = "# TYPE sandgate_controller_reconciles counter\n\
            sandgate_controller_reconciles_total{outcome=\"done\"} 7\n\
            sandgate_controller_reconciles_total{outcome=\"retried\"} 2\n\
            sandgate_controller_api_requests_total{verb=\"get\",kind=\"Lease\",outcome=\"done\"} 90\n\
            sandgate_controller_api_requests_total{verb=\"create\",kind=\"Service\",outcome=\"done\"} 3\n\
            # EOF\n";
        let counters = Counters::read(text);
        assert_eq!(
            counters,
            Counters {
                reconciles: 9.0,
                requests: 3.0
            }
        );
    }
}
