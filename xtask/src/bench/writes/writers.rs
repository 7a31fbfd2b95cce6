//! Writers that create claims one after the other, many writers at once. Does network I/O, bounded in
//! count.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use kube::api::PostParams;
use kube::{Api, Client};
use sandgate_e2e::kubeconfig;
use sandgate_shared::api::SandboxClaim;
use tokio::task::JoinSet;

use crate::bench::figure;
use crate::bench::latency::Latencies;
use crate::bench::manifests;

/// How much is written.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Writers, each with connections of its own.
    pub writers: u32,
    /// Claims each of them creates.
    pub each: u32,
}

/// What a load came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written {
    /// Milliseconds from a create to its answer, median.
    pub p50: f64,
    /// The same, of a hundred the slowest.
    pub p99: f64,
    /// Creates a second, of all writers.
    pub rate: f64,
}

/// Creates the claims of `load`, their names beginning with `prefix`.
pub async fn write(
    kubeconfig: &Path,
    namespace: &str,
    prefix: &str,
    load: Load,
) -> anyhow::Result<Written> {
    let mut ready = Vec::new();
    for writer in 0..load.writers {
        let mut config = kubeconfig::config(kubeconfig).await?;
        // A write that is made twice would be measured once.
        config.default_retry = false;
        let claims: Api<SandboxClaim> = Api::namespaced(Client::try_from(config)?, namespace);
        // The connection stands before anything is measured.
        claims.get_opt("none").await?;
        ready.push((writer, claims));
    }
    let began = Instant::now();
    let mut writing = JoinSet::new();
    for (writer, claims) in ready {
        let prefix = format!("{prefix}-{writer}");
        writing.spawn(one_writer(claims, prefix, load.each));
    }
    let mut all: Vec<Duration> = Vec::new();
    while let Some(done) = writing.join_next().await {
        all.extend(done??);
    }
    let took = began.elapsed();
    let latencies: Latencies = all.into_iter().collect();
    let millis = |percent| latencies.millis(percent).context("nothing was written");
    Ok(Written {
        p50: millis(50)?,
        p99: millis(99)?,
        rate: super::super::number(latencies.len()) / took.as_secs_f64(),
    })
}

async fn one_writer(
    claims: Api<SandboxClaim>,
    prefix: String,
    count: u32,
) -> anyhow::Result<Vec<Duration>> {
    let mut took = Vec::new();
    for index in 0..count {
        let name = format!("{prefix}-{index}");
        let claim: SandboxClaim = serde_json::from_value(manifests::claim(&name))?;
        let began = Instant::now();
        claims.create(&PostParams::default(), &claim).await?;
        took.push(began.elapsed());
    }
    Ok(took)
}

/// Of several runs each figure's median; nothing if there were none.
pub fn median(all: &[Written]) -> Option<Written> {
    let of = |figure: fn(&Written) -> f64| figure::median(all.iter().map(figure));
    Some(Written {
        p50: of(|written| written.p50)?,
        p99: of(|written| written.p99)?,
        rate: of(|written| written.rate)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_disturbed_does_not_move_the_median() {
        let run = |p50| Written {
            p50,
            p99: p50 * 2.0,
            rate: 1000.0 / p50,
        };
        let median = median(&[run(2.0), run(90.0), run(2.5)]).unwrap();
        assert!((median.p50 - 2.5).abs() < f64::EPSILON);
        assert!((median.rate - 400.0).abs() < f64::EPSILON);
    }

    #[test]
    fn without_a_run_there_is_no_median() {
        assert_eq!(super::median(&[]), None);
    }
}
