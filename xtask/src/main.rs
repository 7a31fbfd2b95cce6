//! What a developer runs: `cargo xtask up | test | generate | trace | image | isolation | chaos |
//! bench`.

mod bench;
mod chaos;
mod generate;
mod image;
mod isolation;
mod test;
mod tools;
mod trace;
mod up;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

/// Developer commands of Sandgate.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a cluster with Sandgate on this machine and show what it does; Ctrl-C ends it.
    Up {
        /// Tell the story, check it, and end.
        #[arg(long)]
        once: bool,
        /// Port of the API server on 127.0.0.1; a free one is picked without it.
        #[arg(long, value_parser = port)]
        port: Option<u16>,
        /// Let a fake node play the kubelet, also where a real one could run.
        #[arg(long)]
        fake_node: bool,
    },
    /// Run all tests: quick ones, those on a real API server, and those on a real node where one can run.
    Test {
        /// Also what takes long: many seeds, every rule switched off by itself, the image built twice,
        /// the benchmarks.
        #[arg(long)]
        long: bool,
    },
    /// Write what comes out of the types and the rule table: manifests and docs.
    Generate {
        /// Write nothing; fail if something on disk differs.
        #[arg(long)]
        check: bool,
    },
    /// Write which requirement is proved by which test.
    Trace {
        /// Write nothing; fail if the page on disk differs, or a proof did not pass.
        #[arg(long)]
        check: bool,
    },
    /// Build the image: static binaries in an OCI archive from scratch.
    Image {
        /// Where to write the archive, instead of target/image/sandgate.tar.
        #[arg(long, value_parser = from_where_we_are_called)]
        output: Option<PathBuf>,
        /// What pods will call it.
        #[arg(long, default_value_t = image::default_name())]
        name: String,
        /// Build it again from a copy of the sources elsewhere; fail if other bytes come out.
        #[arg(long)]
        twice: bool,
    },
    /// Measure on a real node who reaches whom, from each sandbox's first millisecond.
    Isolation(isolation::Flags),
    /// Play seeds of faults, blows and edits against two controllers, and judge what became of it.
    Chaos(chaos::Flags),
    /// Measure against the budgets, with release binaries.
    Bench(bench::Flags),
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    std::env::set_current_dir(tools::root()?).context("failed to enter the repository")?;
    match &arguments.command {
        Command::Up {
            once,
            port,
            fake_node,
        } => wait_for(up::run(*once, *port, *fake_node)),
        Command::Test { long: false } => wait_for(test::run(false)),
        Command::Test { long: true } => {
            wait_for(test::run(true))?;
            wait_for(chaos::run(chaos::Flags::many()))?;
            wait_for(image::run(None, &image::default_name(), true))?;
            bench::run(&bench::Flags::everything())
        }
        Command::Generate { check } => generate::run(*check),
        Command::Trace { check } => trace::run(*check),
        Command::Image {
            output,
            name,
            twice,
        } => wait_for(image::run(output.as_deref(), name, *twice)),
        Command::Isolation(flags) => wait_for(isolation::run(flags)),
        Command::Chaos(flags) => wait_for(chaos::run(*flags)),
        Command::Bench(flags) => bench::run(flags),
    }
}

fn port(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(port @ 1..) => Ok(port),
        _ => Err("must be the number of a port, 1 to 65535, such as 6443".to_owned()),
    }
}

/// Commands run in the top folder of the repository, people anywhere in it.
fn from_where_we_are_called(path: &str) -> std::io::Result<PathBuf> {
    std::path::absolute(path)
}

fn wait_for(task: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new().context("failed to start the async runtime")?;
    let done = runtime.block_on(task);
    // A build under way in the background ends with us; waiting for it would ignore Ctrl-C.
    runtime.shutdown_background();
    done
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::a_word("x")]
    #[case::none("0")]
    #[case::too_large("65536")]
    fn a_port_that_is_none_is_refused_with_the_flag_the_rule_and_an_example(#[case] port: &str) {
        let parsed = Arguments::try_parse_from(["cargo xtask", "up", "--port", port]);
        let told = parsed.map(|_| ()).unwrap_err().to_string();
        let wanted = "'--port <PORT>': must be the number of a port, 1 to 65535, such as 6443";
        assert!(told.contains(wanted), "{told}");
    }

    #[test]
    fn a_port_that_is_one_is_taken() {
        let parsed = Arguments::try_parse_from(["cargo xtask", "up", "--port", "6443"]);
        let Command::Up { port, .. } = parsed.map_err(|error| error.to_string()).unwrap().command
        else {
            panic!("another command");
        };
        assert_eq!(port, Some(6443));
    }
}
