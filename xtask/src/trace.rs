//! `cargo xtask trace`: which requirement is proved by which test. Does I/O; everything that decides
//! is in the modules below.
//!
//! ```text
//! docs/requirements.tsv ─▶ requirement ─┐
//! cargo metadata ─▶ modules ─▶ source ──┴▶ page ─▶ docs/requirements.md
//! nextest/*/junit.xml ─▶ junit ─▶ a proof that failed or did not run
//! ```

mod junit;
mod modules;
mod page;
mod requirement;
mod source;
#[cfg(test)]
mod tests;
mod tokens;
mod workspace;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail, ensure};

use junit::{Doubt, Runs};
use requirement::{Id, Requirement};
use workspace::Workspace;

const LIST: &str = "docs/requirements.tsv";
const PAGE: &str = "docs/requirements.md";

/// A test and what it says it proves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Proof {
    /// The test binary, as cargo-nextest names it.
    binary: String,
    /// Module path and name in that binary.
    name: String,
    /// Source file, relative to the top folder, with `/`.
    file: String,
    /// Line of `fn`, from 1.
    line: usize,
    /// Requirement ids, possibly none.
    proves: Vec<Id>,
}

/// Writes `docs/requirements.md`, or with `check` fails when it is out of date and when a test named
/// as proof failed or was left out in the last test runs.
///
/// Both ways it refuses unknown ids and `Proves` comments that stand above no test. A source file
/// that no target compiles, whose tests would never run, is refused with `check` and told without.
pub fn run(check: bool) -> anyhow::Result<()> {
    let workspace = workspace::load()?;
    let list = fs::read_to_string(workspace.root.join(LIST))
        .with_context(|| format!("failed to read {LIST}"))?;
    let requirements = requirement::parse(&list).with_context(|| format!("{LIST} is malformed"))?;

    let Tests {
        proofs,
        mut problems,
        orphans,
    } = collect(&workspace)?;
    problems.extend(unknown_ids(&requirements, &proofs));
    if check {
        problems.extend(orphans);
    } else if !orphans.is_empty() {
        eprintln!("left out:\n  {}", orphans.join("\n  "));
    }
    refuse(
        &problems,
        "the tests and the requirements do not fit together",
    )?;

    let page = page::render(&requirements, &proofs);
    let path = workspace.root.join(PAGE);
    let standing = fs::read_to_string(&path).unwrap_or_default();
    if check {
        ensure!(
            standing == page,
            "{PAGE} is out of date; run `cargo xtask trace` and commit it"
        );
        judge_last_runs(&workspace, &proofs)?;
    } else if standing != page {
        fs::write(&path, &page).with_context(|| format!("failed to write {PAGE}"))?;
    }
    println!("{}", summary(&requirements, &proofs));
    Ok(())
}

/// What the sources hold.
struct Tests {
    /// All tests, in the order of their names.
    proofs: Vec<Proof>,
    /// Comments that cannot be understood.
    problems: Vec<String>,
    /// Files that belong to no target.
    orphans: Vec<String>,
}

fn collect(workspace: &Workspace) -> anyhow::Result<Tests> {
    let mut proofs = BTreeSet::new();
    let mut problems = Vec::new();
    let mut orphans = workspace.sources()?;
    for target in &workspace.targets {
        for found in modules::walk(&target.root, read_if_there)? {
            let file = shown(&workspace.root, &found.file);
            // A file may belong to several targets; what is wrong in it is said once.
            if orphans.remove(&found.file) {
                problems.extend(
                    found
                        .source
                        .problems
                        .iter()
                        .map(|problem| format!("{file}:{}: {}", problem.line, problem.message)),
                );
            }
            for test in found.source.tests {
                let mut name = found.module.clone();
                name.extend(test.modules);
                name.push(test.name);
                proofs.insert(Proof {
                    binary: target.binary.clone(),
                    name: name.join("::"),
                    file: file.clone(),
                    line: test.line,
                    proves: test.proves,
                });
            }
        }
    }
    let orphans = orphans.iter().map(|file| {
        let file = shown(&workspace.root, file);
        format!("{file}: no target compiles this file; declare it with `mod` or remove it")
    });
    Ok(Tests {
        proofs: proofs.into_iter().collect(),
        problems,
        orphans: orphans.collect(),
    })
}

fn read_if_there(path: &Path) -> anyhow::Result<Option<String>> {
    if !path.is_file() {
        return Ok(None);
    }
    let text = fs::read_to_string(path);
    text.map(Some)
        .with_context(|| format!("failed to read {}", path.display()))
}

fn shown(root: &Path, file: &Path) -> String {
    let parts: Vec<_> = file
        .strip_prefix(root)
        .unwrap_or(file)
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}

fn unknown_ids(requirements: &[Requirement], proofs: &[Proof]) -> Vec<String> {
    let known: BTreeSet<Id> = requirements
        .iter()
        .map(|requirement| requirement.id)
        .collect();
    let named = proofs
        .iter()
        .flat_map(|proof| proof.proves.iter().map(move |id| (proof, id)));
    named
        .filter(|(_, id)| !known.contains(id))
        .map(|(proof, id)| {
            format!(
                "{}:{}: {} proves {id}, which is not in {LIST}",
                proof.file, proof.line, proof.name
            )
        })
        .collect()
}

/// Fails when a proof failed or did not run. Without any report there is nothing to judge by.
fn judge_last_runs(workspace: &Workspace, proofs: &[Proof]) -> anyhow::Result<()> {
    let mut runs = Runs::default();
    let reports = reports(&workspace.test_reports)?;
    if reports.is_empty() {
        println!("no test run to judge proofs by; run `cargo xtask test` first");
        return Ok(());
    }
    for report in &reports {
        let text = fs::read_to_string(report)
            .with_context(|| format!("failed to read {}", report.display()))?;
        runs.add(&text)
            .with_context(|| format!("{} is no test report", report.display()))?;
    }
    let doubts = doubts(&runs, proofs);
    refuse(
        &doubts,
        "tests named as proof did not pass in the last run of `cargo xtask test`",
    )
}

fn doubts(runs: &Runs, proofs: &[Proof]) -> Vec<String> {
    let left_out = |proof: &Proof| junit::is_slow(&proof.name) && !runs.include_slow();
    let named = proofs
        .iter()
        .filter(|proof| !proof.proves.is_empty() && !left_out(proof));
    named
        .filter_map(|proof| {
            let what = match runs.doubt(proof)? {
                Doubt::Failed => "failed",
                Doubt::DidNotRun => "did not run",
            };
            let ids: Vec<_> = proof.proves.iter().map(Id::to_string).collect();
            let Proof {
                file,
                line,
                name,
                binary,
                ..
            } = proof;
            Some(format!(
                "{file}:{line}: {binary} {name} {what} ({})",
                ids.join(", ")
            ))
        })
        .collect()
}

/// The reports of all nextest profiles in the given folders, oldest first.
fn reports(folders: &BTreeSet<PathBuf>) -> anyhow::Result<Vec<PathBuf>> {
    let mut reports: Vec<(SystemTime, PathBuf)> = Vec::new();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for profile in folder
            .read_dir()
            .context("failed to list the test reports")?
        {
            let profile = profile.context("failed to list the test reports")?.path();
            let report = profile.join("junit.xml");
            if let Ok(written) = report.metadata().and_then(|metadata| metadata.modified()) {
                reports.push((written, report));
            }
        }
    }
    reports.sort();
    Ok(reports.into_iter().map(|(_, report)| report).collect())
}

fn refuse(problems: &[String], because: &str) -> anyhow::Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    bail!("{because}:\n  {}", problems.join("\n  "))
}

fn summary(requirements: &[Requirement], proofs: &[Proof]) -> String {
    let proved: BTreeSet<Id> = proofs
        .iter()
        .flat_map(|proof| proof.proves.clone())
        .collect();
    let silent = proofs
        .iter()
        .filter(|proof| proof.proves.is_empty())
        .count();
    format!(
        "{} of {} requirements are proved by {} tests; {silent} more tests name no requirement",
        proved.len(),
        requirements.len(),
        proofs.len() - silent
    )
}
