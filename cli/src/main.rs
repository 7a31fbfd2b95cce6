//! `sandgate`: flags, signals, exit codes; everything else is in the library.

use std::io::{self, Write as _};
use std::pin::pin;
use std::process::ExitCode;

use clap::Parser as _;
use futures::StreamExt as _;
use sandgate_cli::cluster;
use sandgate_cli::flags::{Command, Doctor, Flags, Isolation};
use sandgate_cli::isolation::disturb::NoPower;
use sandgate_cli::isolation::trouble::{Trouble, chain};
use sandgate_cli::output::Files;
use sandgate_cli::{doctor, isolation, output, stops};

/// What is measured or looked at is not as it should be.
const WRONG: u8 = 1;
/// It could not be measured or looked at.
const UNABLE: u8 = 2;

#[tokio::main]
async fn main() -> ExitCode {
    let command = Flags::parse().command;
    // Before anything that speaks TLS: one provider for the whole process. An error means that there
    // is one.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let sound = match &command {
        Command::Isolation(flags) => measure(flags).await,
        Command::Doctor(flags) => examine(flags).await,
    };
    match sound {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(WRONG),
        Err(error) => {
            tell(&format!("error: {}", chain(&*error)));
            ExitCode::from(UNABLE)
        }
    }
}

/// Whether all is as it should be.
async fn measure(flags: &Isolation) -> Result<bool, Box<dyn std::error::Error>> {
    let mut stops = pin!(stops::stops()?);
    // Before minutes are spent on what cannot be written.
    let files = Files::open(flags.json.as_deref(), flags.svg.as_deref())?;
    let client = tokio::select! {
        client = cluster::reach(&flags.reach) => client?,
        Some(()) = stops.next() => return Err(Trouble::Stopped.into()),
    };
    let say = |line: &str| tell(&format!("  {line}"));
    let report = isolation::run(client, &flags.order(), &NoPower, stops, &say).await?;
    // Whatever becomes of the files, the result has been seen.
    let printed = output::print(&report);
    files.write(&report)?;
    printed?;
    Ok(report.passed)
}

/// Whether the installation is sound.
async fn examine(flags: &Doctor) -> Result<bool, Box<dyn std::error::Error>> {
    let files = Files::open(flags.json.as_deref(), None)?;
    let client = cluster::reach(&flags.reach).await?;
    let report = doctor::run(&client, flags.namespace.as_deref(), &flags.accept).await?;
    let printed = output::say(|colour| doctor::terminal::render(&report, colour));
    files.write_json(&report)?;
    printed?;
    Ok(report.sound)
}

/// Tells whoever still listens: that nobody does must not end a run before it has taken everything
/// away again.
fn tell(line: &str) {
    drop(writeln!(io::stderr(), "{line}"));
}
