//! What the API server counts of its calls to webhooks. Does I/O.

use kube::Client;
use sandgate_e2e::Outcome;

/// Since the API server started, or between two moments of one API server.
#[derive(Debug, Default)]
pub struct Calls {
    /// Calls of webhooks of ours that were answered, whatever with.
    pub answered: usize,
    /// Writes refused because a webhook of ours did not answer, or not as it should.
    pub failed: usize,
    /// Writes admitted though a webhook did not answer.
    pub failed_open: usize,
}

impl Calls {
    /// What came after `earlier`, of the same API server.
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            answered: self.answered - earlier.answered,
            failed: self.failed - earlier.failed,
            failed_open: self.failed_open - earlier.failed_open,
        }
    }

    /// Reads the counts of the API server that answers this client.
    pub async fn counted(client: &Client) -> Outcome<Self> {
        let request = http::Request::get("/metrics").body(Vec::new())?;
        let page = client.request_text(request).await?;
        Ok(Self {
            answered: sum(&page, "apiserver_admission_webhook_request_total{", ""),
            failed: sum(
                &page,
                "apiserver_admission_webhook_rejection_count{",
                "error_type=\"calling_webhook_error\"",
            ),
            failed_open: sum(&page, "apiserver_admission_webhook_fail_open_count{", ""),
        })
    }
}

/// The sum of a metric's series with this label that are about a webhook of ours.
fn sum(page: &str, metric: &str, label: &str) -> usize {
    let series = page.lines().filter(|line| line.starts_with(metric));
    let ours = series.filter(|line| line.contains(".sandgate.") && line.contains(label));
    ours.filter_map(|line| line.rsplit_once(' ')?.1.parse::<usize>().ok())
        .sum()
}
