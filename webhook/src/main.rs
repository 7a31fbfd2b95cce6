//! `sandgate-webhook`: reads its flags, says what it does as JSON lines, and serves.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;
use sandgate_webhook::options::Options;
use sandgate_webhook::run;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let options = Options::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .json()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    match serve(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "the webhook stopped");
            ExitCode::FAILURE
        }
    }
}

fn serve(options: Options) -> anyhow::Result<()> {
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("another TLS provider is installed already"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Rules are evaluated on these threads, and CEL goes deep into the stack.
        .thread_stack_size(8 * 1024 * 1024)
        .build()
        .context("failed to start the async runtime")?;
    Ok(runtime.block_on(run::run(options))?)
}
