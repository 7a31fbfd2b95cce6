//! Writes what comes out of the types, the rule table and the chart's schema: manifests and values
//! under `deploy/`, and `docs/denials.md`. With `--check` nothing is written and a difference is an
//! error. Does I/O.

mod chart;
mod values;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use sandgate_shared::{
    corpus::{self, Tried},
    render::{self, Shown},
};

/// Where the chart is.
const CHART: &str = "deploy/chart";

/// Writes every generated file, or with `check` fails on those that differ from what is on disk.
///
/// # Errors
/// A file that cannot be read or written, and with `check` a list of those that are stale.
pub fn run(check: bool) -> anyhow::Result<()> {
    let mut stale = Vec::new();
    let files = files()?;
    for left in left_over(&files)? {
        if check {
            stale.push(left.display().to_string());
            continue;
        }
        fs::remove_file(&left).with_context(|| format!("failed to remove {}", left.display()))?;
        println!("removed {}", left.display());
    }
    for (path, text) in files {
        let on_disk = fs::read_to_string(&path).unwrap_or_default();
        if on_disk == text {
            continue;
        }
        if check {
            stale.push(path.display().to_string());
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("failed to make {}", folder.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    if !stale.is_empty() {
        bail!(
            "generated files are stale: {}; run cargo xtask generate",
            stale.join(", ")
        );
    }
    Ok(())
}

fn files() -> anyhow::Result<Vec<(PathBuf, String)>> {
    let chart = Path::new(CHART);
    let mut files: Vec<(PathBuf, String)> = chart::manifests()?
        .into_iter()
        .map(|(name, text)| (chart.join(chart::FOLDER).join(name), text))
        .collect();
    let schema = read(&chart.join("values.schema.json"))?;
    let schema = serde_json::from_str(&schema).context("values.schema.json is no JSON")?;
    let readme = chart.join("README.md");
    files.push((chart.join("values.yaml"), values::yaml(&schema)?));
    files.push((
        readme.clone(),
        values::with_table(&read(&readme)?, &schema)?,
    ));
    files.push((PathBuf::from("docs/denials.md"), denials()?));
    for (command, schema) in [
        ("isolation", sandgate_cli::isolation::report::schema()),
        ("doctor", sandgate_cli::doctor::report::schema()),
    ] {
        let schema = serde_json::to_string_pretty(&schema);
        let schema = schema.with_context(|| format!("failed to write the schema of {command}"))?;
        let path = PathBuf::from(format!("docs/{command}-report.schema.json"));
        files.push((path, schema + "\n"));
    }
    Ok(files)
}

/// The page of denials, with what the corpus of writes shows of each rule.
fn denials() -> anyhow::Result<String> {
    let cases = corpus::cases().map_err(anyhow::Error::msg)?;
    Ok(render::denials(|row| {
        let shows = |wanted| cases.iter().any(|case| case.tries(row) == Some(wanted));
        Shown {
            kept: shows(Tried::Kept),
            broken: shows(Tried::Broken),
        }
    }))
}

/// What lies among the chart's generated files and is none of them: Helm would take it for one.
fn left_over(files: &[(PathBuf, String)]) -> anyhow::Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![Path::new(CHART).join(chart::FOLDER)];
    while let Some(folder) = folders.pop() {
        if !folder.is_dir() {
            continue;
        }
        let entries = fs::read_dir(&folder)
            .with_context(|| format!("failed to list {}", folder.display()))?;
        for entry in entries {
            let path = entry.context("failed to list a folder")?.path();
            if path.is_dir() {
                folders.push(path);
            } else if files.iter().all(|(file, _)| *file != path) {
                found.insert(path);
            }
        }
    }
    Ok(found)
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))
}
