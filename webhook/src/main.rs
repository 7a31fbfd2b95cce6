//! `sandgate-webhook`: reads its flags, says what it does as JSON lines, and serves.

use anyhow::Context as _;
use clap::Parser as _;
use sandgate_webhook::options::Options;
use sandgate_webhook::run;
use tracing_subscriber::EnvFilter;

fn main() -> anyhow::Result<()> {
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("a TLS provider was already installed"))?;
    let options = Options::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .json()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Rules are evaluated on these threads, and CEL goes deep into the stack.
        .thread_stack_size(8 * 1024 * 1024)
        .build()
        .context("failed to start the async runtime")?
        .block_on(run::run(options))
        .context("sandgate-webhook cannot run")
}
