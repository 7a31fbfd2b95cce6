//! `sandgate`: flags, signals, exit codes; everything else is in the library.

use std::process::ExitCode;

use clap::Parser as _;
use sandgate_cli::cluster;
use sandgate_cli::flags::{Command, Flags, Isolation};
use sandgate_cli::isolation::disturb::NoPower;
use sandgate_cli::isolation::trouble::chain;
use sandgate_cli::{isolation, output};
use tokio::signal::unix::{SignalKind, signal};

/// What is measured is not as it should be.
const WRONG: u8 = 1;
/// It could not be measured.
const UNABLE: u8 = 2;

#[tokio::main]
async fn main() -> ExitCode {
    let Command::Isolation(flags) = Flags::parse().command;
    // Before anything that speaks TLS: one provider for the whole process. An error means that there
    // is one.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    match measure(&flags).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(WRONG),
        Err(error) => {
            eprintln!("error: {}", chain(&*error));
            ExitCode::from(UNABLE)
        }
    }
}

/// Whether all is as it should be.
async fn measure(flags: &Isolation) -> Result<bool, Box<dyn std::error::Error>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let stopped = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let client = cluster::reach(&flags.reach).await?;
    let tell = |line: &str| eprintln!("  {line}");
    let report = isolation::run(client, &flags.order(), &NoPower, stopped, &tell).await?;
    if let Some(path) = &flags.json {
        output::json(&report, path)?;
    }
    if let Some(path) = &flags.svg {
        output::picture(&report, path)?;
    }
    output::print(&report)?;
    Ok(report.passed)
}
