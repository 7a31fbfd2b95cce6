//! What a controller counts of its own work, and when it has none left. Reads its metrics.

use anyhow::Context;
use sandgate_e2e::service::{self, Service};

use super::histogram::Histogram;
use super::still::until_still;

/// What a controller counts of its own work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Claims looked at.
    pub reconciles: f64,
    /// Requests to the API server, those about the Lease apart.
    pub requests: f64,
    /// Whether it leads.
    pub leads: bool,
    /// How long it looked at claims.
    pub durations: Histogram,
}

const DURATIONS: &str = "sandgate_controller_reconcile_duration_seconds_bucket";

impl Counters {
    /// Reads those of a process that runs.
    pub async fn of(controller: &Service) -> anyhow::Result<Self> {
        Self::at(&controller.health_address()).await
    }

    /// The same of the process that listens here.
    pub async fn at(address: &str) -> anyhow::Result<Self> {
        let (_, text) = service::get(address, "/metrics")
            .await
            .context("failed to read the controller's metrics")?;
        Ok(Self::read(&text))
    }

    fn read(text: &str) -> Self {
        let mut counters = Self {
            durations: Histogram::read(text, DURATIONS),
            ..Self::default()
        };
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
            } else if series == "sandgate_controller_leader" {
                counters.leads = value > 0.0;
            }
        }
        counters
    }
}

/// Waits until the controller leads, and asks nothing of the API server any more, its Lease apart.
pub async fn quiet(controller: &Service) -> anyhow::Result<()> {
    let mut requests = 0.0;
    until_still(
        "the controller does not lead, or asks things of the API server",
        async || {
            let now = Counters::of(controller).await?;
            // A claim that is looked at because it is time to, and left as it is, disturbs nobody.
            let changed = now.requests > requests || !now.leads;
            requests = now.requests;
            Ok(changed)
        },
    )
    .await
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
            sandgate_controller_leader 1\n\
            # EOF\n";
        let counters = Counters::read(text);
        assert_eq!(
            counters,
            Counters {
                reconciles: 9.0,
                requests: 3.0,
                leads: true,
                durations: Histogram::default(),
            }
        );
    }
}
