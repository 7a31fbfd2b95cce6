//! `sandgate-probe`: see `--help`. Everything is in the library; the clock starts here.

use std::process::ExitCode;
use std::time::{Instant, SystemTime};

use clap::Parser as _;
use sandgate_probe::flags::Flags;
use sandgate_probe::line::Start;
use sandgate_probe::run::run;

fn main() -> ExitCode {
    let start = Start {
        instant: Instant::now(),
        time: SystemTime::now(),
    };
    match run(Flags::parse().command, start) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
