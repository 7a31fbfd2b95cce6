//! One tier of tests: a profile of `.config/nextest.toml`, run, counted and timed. Does I/O.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use sandgate_e2e::progress::seconds;

use crate::tools;

/// A tier and the profile that selects its tests.
#[derive(Clone, Copy, Debug)]
pub struct Tier {
    name: &'static str,
    profile: &'static str,
    may_be_empty: bool,
}

/// No API server.
pub const QUICK: Tier = Tier {
    name: "quick",
    profile: "quick",
    may_be_empty: false,
};
/// On a real API server.
pub const CONTROL_PLANE: Tier = Tier {
    name: "control plane",
    profile: "control-plane",
    may_be_empty: false,
};
/// On a real node.
pub const NODE: Tier = Tier {
    name: "node",
    profile: "node",
    may_be_empty: false,
};
/// What takes long on one.
pub const SLOW_NODE: Tier = Tier {
    name: "slow node",
    profile: "slow-node",
    may_be_empty: true,
};
/// What takes long.
pub const SLOW: Tier = Tier {
    name: "slow",
    profile: "slow",
    may_be_empty: true,
};

/// What came of a tier.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    name: &'static str,
    passed: bool,
    tests: usize,
    failed: usize,
    took: Duration,
    /// Why none of them ran, if none could.
    skipped: Option<String>,
}

impl Outcome {
    /// Whether every test passed.
    pub fn passed(&self) -> bool {
        self.passed
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            passed,
            tests,
            failed,
            took,
            skipped,
        } = self;
        if let Some(why) = skipped {
            return write!(formatter, "– {name}: {tests} tests skipped, because {why}");
        }
        let mark = if *passed { "✓" } else { "✗" };
        write!(formatter, "{mark} {name}: {tests} tests")?;
        if *failed > 0 {
            write!(formatter, ", {failed} failed")?;
        }
        write!(formatter, ", {}", seconds(*took))
    }
}

impl Tier {
    /// Runs it with these environment variables; failed tests are an outcome, not an error.
    pub async fn run(self, variables: &[(&str, &OsStr)]) -> anyhow::Result<Outcome> {
        println!("── {} tests", self.name);
        let began = Instant::now();
        let mut arguments = vec!["nextest", "run", "--workspace", "--profile", self.profile];
        if self.may_be_empty {
            arguments.push("--no-tests=pass");
        }
        let status = tools::cargo(&arguments)
            .envs(variables.iter().copied())
            .status()
            .await
            .context("failed to run cargo nextest")?;
        let (tests, failed) = match fs::read_to_string(self.report()) {
            Ok(report) => counts(&report).context("the test report is malformed")?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => (0, 0),
            Err(error) => return Err(error).context("failed to read the test report"),
        };
        let took = began.elapsed();
        Ok(Outcome {
            name: self.name,
            passed: status.success(),
            tests,
            failed,
            took,
            skipped: None,
        })
    }

    /// Lists its tests as skipped, because of `why`: what was not tried is never green in silence.
    pub async fn skip(self, why: String) -> anyhow::Result<Outcome> {
        let arguments = ["nextest", "list", "--workspace", "--profile", self.profile];
        let listed = tools::cargo(&arguments)
            .args(["--message-format", "oneline"])
            .output()
            .await
            .context("failed to run cargo nextest")?;
        anyhow::ensure!(listed.status.success(), "cargo nextest list failed");
        let listed = String::from_utf8_lossy(&listed.stdout);
        println!("── {} tests are skipped: {why}", self.name);
        for test in listed.lines() {
            println!("    SKIP {test}");
        }
        Ok(Outcome {
            name: self.name,
            passed: true,
            tests: listed.lines().count(),
            failed: 0,
            took: Duration::ZERO,
            skipped: Some(why),
        })
    }

    fn report(self) -> PathBuf {
        PathBuf::from("target/nextest")
            .join(self.profile)
            .join("junit.xml")
    }
}

/// Removes the reports of earlier runs, so that what is there tells of this one.
pub fn forget_reports() -> anyhow::Result<()> {
    for tier in [QUICK, CONTROL_PLANE, NODE, SLOW_NODE, SLOW] {
        match fs::remove_file(tier.report()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).context("failed to remove an old test report");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Tests and failed ones of a `JUnit` report.
fn counts(report: &str) -> anyhow::Result<(usize, usize)> {
    let document = roxmltree::Document::parse(report)?;
    let all = document.root_element();
    let number =
        |name: &str| -> anyhow::Result<usize> { Ok(all.attribute(name).unwrap_or("0").parse()?) };
    Ok((number("tests")?, number("failures")? + number("errors")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_counted_and_told_in_one_line() {
        let report = r#"<testsuites name="nextest-run" tests="12" failures="2" errors="1"/>"#;
        let (tests, failed) = counts(report).unwrap();
        let outcome = Outcome {
            name: "quick",
            passed: false,
            tests,
            failed,
            took: Duration::from_millis(1500),
            skipped: None,
        };
        assert_eq!(outcome.to_string(), "✗ quick: 12 tests, 3 failed, 1.5 s");
    }
}
