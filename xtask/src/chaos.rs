//! `cargo xtask chaos`: two controllers under faults and blows drawn from a seed, judged by laws. Does
//! I/O.

use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use futures::{StreamExt as _, stream};
use sandgate_e2e::chaos::{self, Report};

use crate::tools;

/// How many seeds are played at once: most of the time each waits for something.
const AT_ONCE: usize = 2;

/// Flags of `cargo xtask chaos`.
#[derive(Clone, Copy, Debug, Args)]
pub struct Flags {
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds, counted on from the first.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    /// Deeds of each seed; a deed follows the one before after a fifth of a second.
    #[arg(long, default_value_t = chaos::DEEDS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    deeds: u32,
}

impl Flags {
    /// As many seeds as are played before a version is called done.
    pub fn many() -> Self {
        Self {
            seed: 1,
            seeds: 200,
            deeds: chaos::DEEDS,
        }
    }

    fn seeds(self) -> Range<u64> {
        self.seed..self.seed.saturating_add(self.seeds)
    }
}

/// Where the logs of controllers of broken seeds are kept. `RUST_LOG` says how much is logged.
const KEPT_LOGS: &str = "target/chaos";

fn keep_logs(report: &Report) -> anyhow::Result<()> {
    for (name, log) in &report.logs {
        let file = Path::new(KEPT_LOGS).join(format!("seed-{}-{name}.log", report.seed));
        fs::create_dir_all(KEPT_LOGS).with_context(|| format!("failed to make {KEPT_LOGS}"))?;
        fs::write(&file, log).with_context(|| format!("failed to keep {}", file.display()))?;
        println!("  its log: {}", file.display());
    }
    Ok(())
}

/// Plays every seed and prints a line for each; all that happened for one that breaks a law.
///
/// # Errors
/// A law was broken, or a seed could not be played to its end.
pub async fn run(flags: Flags) -> anyhow::Result<()> {
    tools::run_cargo(&[
        "build",
        "--quiet",
        "-p",
        "sandgate-webhook",
        "-p",
        "sandgate-controller",
    ])
    .await?;
    let played = stream::iter(flags.seeds()).map(|seed| async move {
        let report = Box::pin(chaos::run(seed, flags.deeds)).await;
        (seed, report.map_err(|why| anyhow!("seed {seed}: {why}")))
    });
    let mut played = std::pin::pin!(played.buffer_unordered(AT_ONCE));
    let mut broken = Vec::new();
    while let Some((seed, report)) = played.next().await {
        match &report {
            Ok(report) => println!("{report}"),
            Err(why) => println!("{why}"),
        }
        if let Ok(report) = &report {
            keep_logs(report)?;
        }
        if !report.is_ok_and(|report: Report| report.is_sound()) {
            broken.push(seed);
        }
    }
    if !broken.is_empty() {
        bail!(
            "{} of {} seeds found something: {broken:?}",
            broken.len(),
            flags.seeds
        );
    }
    println!("{} seeds, every law held", flags.seeds);
    Ok(())
}
