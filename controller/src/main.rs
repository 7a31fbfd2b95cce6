//! `sandgate-controller`: flags, logs, signals; everything else is in the library.

use std::process::ExitCode;

use clap::Parser as _;
use sandgate_controller::{cause::Chain, flags::Flags, run::run};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    let flags = Flags::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt().json().with_env_filter(filter);
    logs.with_writer(std::io::stderr).init();
    // Before anything that speaks TLS: one provider for the whole process.
    if rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .is_err()
    {
        tracing::error!("another TLS provider is installed already");
        return ExitCode::FAILURE;
    }
    let shutdown = CancellationToken::new();
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        match signal(kind) {
            Ok(told) => drop(tokio::spawn(stop(told, shutdown.clone()))),
            Err(error) => tracing::warn!(%error, "a signal cannot be listened for"),
        }
    }
    match run(flags, shutdown).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = %Chain(&error), "the controller stopped");
            ExitCode::FAILURE
        }
    }
}

async fn stop(mut told: Signal, shutdown: CancellationToken) {
    told.recv().await;
    shutdown.cancel();
}
