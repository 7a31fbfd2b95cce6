//! The machine figures are measured on, and who runs on which of its cores. Reads `/proc`, and runs
//! `taskset` and `prlimit`.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use k8s_openapi::jiff::Timestamp;

/// Files that may be open at once in a bench: both ends of two thousand connections and of what carries
/// them.
const FILES: u64 = 16_384;

/// Date, cores, CPU, memory, kernel and how busy the machine is with other things, in one line.
pub fn describe() -> anyhow::Result<String> {
    let read =
        |path: &str| fs::read_to_string(path).with_context(|| format!("failed to read {path}"));
    let cpus = read("/proc/cpuinfo")?;
    let memory = read("/proc/meminfo")?;
    let kernel = read("/proc/sys/kernel/osrelease")?;
    let load = read("/proc/loadavg")?;
    Ok(format!(
        "{}, {} cores of {}, {:.1} GiB, Linux {}, load {} before",
        Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        cores()?.len(),
        value_of(&cpus, "model name").unwrap_or("an unnamed CPU"),
        kibibytes(&memory, "MemTotal").unwrap_or_default() / 1024.0 / 1024.0,
        kernel.trim(),
        load.split(' ').next().unwrap_or_default(),
    ))
}

/// The cores we may run on.
pub fn cores() -> anyhow::Result<Vec<usize>> {
    let status =
        fs::read_to_string("/proc/self/status").context("failed to read our own status")?;
    value_of(&status, "Cpus_allowed_list")
        .and_then(core_list)
        .context("the kernel does not say on which cores we may run")
}

/// Keeps all our threads on these cores from now on, and those that they start.
pub fn stay_on(cores: &[usize]) -> anyhow::Result<()> {
    let list: Vec<String> = cores.iter().map(ToString::to_string).collect();
    quietly(
        "taskset",
        &[
            "--all-tasks",
            "--cpu-list",
            "--pid",
            &list.join(","),
            &std::process::id().to_string(),
        ],
    )
}

/// Lets us, and what we start from now on, open enough files.
pub fn allow_open_files() -> anyhow::Result<()> {
    let limits = fs::read_to_string("/proc/self/limits").context("failed to read our limits")?;
    if open_files(&limits).is_none_or(|limit| limit >= FILES) {
        return Ok(());
    }
    let process = format!("--pid={}", std::process::id());
    quietly("prlimit", &[&process, &format!("--nofile={FILES}:")])
}

fn quietly(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("failed to run {program}, which util-linux has"))?;
    if !status.success() {
        bail!("{program} {} failed", arguments.join(" "));
    }
    Ok(())
}

/// What a file of `/proc` with one `name: value` a line says of `name`.
pub fn value_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// The same for a value such as `123 kB`, which is in KiB.
pub fn kibibytes(text: &str, name: &str) -> Option<f64> {
    let value = value_of(text, name)?;
    value.strip_suffix("kB")?.trim().parse().ok()
}

/// `0-2,5` as numbers.
fn core_list(text: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        cores.extend(first..=last);
    }
    Some(cores)
}

/// The soft limit of open files; nothing if there is none.
fn open_files(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cores_is_read() {
        assert_eq!(core_list("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(core_list("3"), Some(vec![3]));
        assert_eq!(core_list("all"), None);
    }

    #[test]
    fn sizes_are_read_in_kibibytes() {
        let text = "Name:\twebhook\nVmHWM:\t   9300 kB\nVmRSS:\t   9212 kB\n";
        assert_eq!(kibibytes(text, "VmRSS"), Some(9212.0));
        assert_eq!(kibibytes(text, "VmSwap"), None);
    }

    #[test]
    fn the_limit_of_open_files_is_the_soft_one_and_may_be_missing() {
        let line = "Max open files            1024                 524288               files\n";
        assert_eq!(open_files(line), Some(1024));
        assert_eq!(
            open_files("Max open files   unlimited  unlimited  files"),
            None
        );
    }
}
