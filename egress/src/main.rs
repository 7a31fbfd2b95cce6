//! `sandgate-egress`: reads its flags, says what it does as JSON lines, and serves.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;
use sandgate_egress::log;
use sandgate_egress::options::{Options, normalised};
use sandgate_egress::run;
use tracing_appender::non_blocking::ErrorCounter;

/// A proxy is for one claim, and there are many on a node: it does not take all of its cores.
const MOST_THREADS: usize = 4;

fn main() -> ExitCode {
    let options = Options::parse_from(normalised(std::env::args_os()));
    let log = log::set_up();
    match serve(options, log.dropped.clone()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "the proxy stopped");
            ExitCode::FAILURE
        }
    }
}

fn serve(options: Options, dropped: ErrorCounter) -> anyhow::Result<()> {
    // As many as the cores that the container may use.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.min(MOST_THREADS))
        .enable_all()
        .build()
        .context("failed to start the async runtime")?;
    runtime.block_on(run::run(options, dropped))?;
    Ok(())
}
