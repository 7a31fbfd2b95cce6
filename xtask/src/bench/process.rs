//! What a running process has used, as the kernel counts it. Reads `/proc`.

use std::fs;
use std::time::Duration;

use anyhow::Context;

use super::machine::kibibytes;

/// Length of the ticks that `/proc/<pid>/stat` counts in: `USER_HZ` is 100 on every architecture that
/// Linux has today.
const TICK: Duration = Duration::from_millis(10);

/// CPU time of all threads so far, user and system.
pub fn cpu_time(id: u32) -> anyhow::Result<Duration> {
    let stat = read(id, "stat")?;
    cpu_time_in(&stat).context("the kernel does not say what CPU time a process has used")
}

/// Resident memory now, in KiB.
pub fn resident(id: u32) -> anyhow::Result<f64> {
    kibibytes(&read(id, "status")?, "VmRSS")
        .context("the kernel does not say how much memory a process has")
}

/// Resident memory of a process that leads a group, and of all others in the group, in KiB.
pub fn resident_of_group(leader: u32) -> anyhow::Result<f64> {
    let processes = fs::read_dir("/proc").context("failed to list processes")?;
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut all = 0.0;
    for id in ids {
        // Others come and go.
        let group = read(id, "stat").ok().as_deref().and_then(group_in);
        if id != leader && group == Some(leader) {
            all += resident(id).unwrap_or_default();
        }
    }
    Ok(all + resident(leader)?)
}

/// The most resident memory it ever had, in KiB.
pub fn resident_peak(id: u32) -> anyhow::Result<f64> {
    kibibytes(&read(id, "status")?, "VmHWM")
        .context("the kernel does not say how much memory a process had")
}

fn read(id: u32, file: &str) -> anyhow::Result<String> {
    let path = format!("/proc/{id}/{file}");
    fs::read_to_string(&path).with_context(|| format!("failed to read {path}"))
}

/// The fields after the name of the program, which stands in parentheses and may hold anything, also
/// parentheses.
fn fields(stat: &str) -> Option<impl Iterator<Item = &str>> {
    let (_, after_name) = stat.rsplit_once(')')?;
    Some(after_name.split_whitespace())
}

fn group_in(stat: &str) -> Option<u32> {
    fields(stat)?.nth(2)?.parse().ok()
}

fn cpu_time_in(stat: &str) -> Option<Duration> {
    let mut fields = fields(stat)?.skip(11);
    let (user, system): (u32, u32) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(TICK * user.checked_add(system)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_user_and_system_whatever_the_program_is_called() {
        let stat = "42 (a) (b) S 1 42 42 0 -1 4194560 500 0 0 0 123 77 0 0 20 0 3 0 900 1 2 3";
        assert_eq!(cpu_time_in(stat), Some(Duration::from_secs(2)));
        assert_eq!(cpu_time_in("42 (a) S 1"), None);
    }

    #[test]
    fn the_group_of_a_process_is_read_whatever_the_program_is_called() {
        assert_eq!(group_in("42 (a) (b) S 1 41 40 0 -1"), Some(41));
        assert_eq!(group_in("42 (a) S"), None);
    }

    #[test]
    fn our_own_process_has_memory_and_a_peak_at_least_as_high() {
        let us = std::process::id();
        let now = resident(us).unwrap();
        assert!(now > 0.0 && resident_peak(us).unwrap() >= now);
        cpu_time(us).unwrap();
    }
}
