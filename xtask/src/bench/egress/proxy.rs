//! The proxies: how each is configured, started, and known to serve. Does I/O: runs them.
//!
//! All have the same allowlist, port 443 alone, room for the tunnels that are opened, and log each
//! request to a file. Whatever else is as they ship.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use sandgate_e2e::process::{Process, Program};
use sandgate_e2e::room::Room;

use super::super::process;
use super::tunnel::{self, HOSTS, PORT, Way};
use super::{DEBIAN, LOGS, STAGE};

/// Tunnels that each has room for.
const TUNNELS: u32 = 4096;

/// How long one may take to serve.
const START: Duration = Duration::from_secs(20);

/// How often it is asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Those that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proxy {
    Sandgate,
    Squid,
    Tinyproxy,
    Smokescreen,
}

impl Proxy {
    pub const ALL: [Self; 4] = [
        Self::Sandgate,
        Self::Squid,
        Self::Tinyproxy,
        Self::Smokescreen,
    ];

    /// Its name in figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sandgate => "sandgate",
            Self::Squid => "squid",
            Self::Tinyproxy => "tinyproxy",
            Self::Smokescreen => "smokescreen",
        }
    }

    /// Its own, so that none meets what another left.
    fn address(self) -> SocketAddr {
        let port = match self {
            Self::Sandgate => 3128,
            Self::Squid => 3129,
            Self::Tinyproxy => 3130,
            Self::Smokescreen => 3131,
        };
        (Ipv4Addr::LOCALHOST, port).into()
    }

    /// What it is told, and with which arguments it finds that.
    fn configuration(self, at: &Path, dns: SocketAddr) -> (String, Vec<String>) {
        let hosts: Vec<String> = (0..HOSTS).map(tunnel::host).collect();
        let (address, port) = (self.address(), self.address().port());
        let at = at.display();
        match self {
            Self::Sandgate => (
                serde_json::json!({ "hosts": hosts }).to_string(),
                vec![
                    format!("--listen={address}"),
                    "--admin-listen=127.0.0.1:8083".to_owned(),
                    format!("--dns-server={dns}"),
                    format!("--max-tunnels={TUNNELS}"),
                    format!("--allowlist={at}"),
                ],
            ),
            Self::Squid => (
                squid(&hosts, address),
                vec!["-N".to_owned(), "-f".to_owned(), at.to_string()],
            ),
            Self::Tinyproxy => {
                let words = [
                    format!("Listen {}\nPort {port}", address.ip()),
                    format!("ConnectPort {PORT}\nMaxClients {TUNNELS}\nTimeout 600"),
                    "LogLevel Connect".to_owned(),
                    format!("LogFile \"{LOGS}/tinyproxy-requests.log\""),
                    format!("Filter \"{STAGE}/tinyproxy.filter\""),
                    "FilterDefaultDeny Yes\nFilterExtended On".to_owned(),
                ];
                let arguments = ["-d", "-c", &at.to_string()].map(str::to_owned);
                (words.join("\n") + "\n", arguments.into())
            }
            Self::Smokescreen => (
                format!(
                    "ip: {}\nport: {port}\nallow_missing_role: true\nacl_file: {STAGE}/smokescreen.acl\n",
                    address.ip()
                ),
                vec!["--config-file".to_owned(), at.to_string()],
            ),
        }
    }
}

fn squid(hosts: &[String], address: SocketAddr) -> String {
    let share = format!("{STAGE}/{DEBIAN}/usr/share/squid");
    let words = [
        format!("http_port {address}"),
        format!("acl hosts dstdomain -n {}", hosts.join(" ")),
        format!("acl port port {PORT}\nacl tunnels method CONNECT"),
        "http_access allow tunnels port hosts\nhttp_access deny all".to_owned(),
        format!("access_log stdio:{LOGS}/squid-requests.log"),
        format!("cache_log {LOGS}/squid.log"),
        "cache deny all\ncache_mem 0\npinger_enable off\nnetdb_filename none".to_owned(),
        format!("pid_filename none\ncoredump_dir {LOGS}\nunlinkd_program /bin/true"),
        format!("mime_table {share}/mime.conf\nicon_directory {share}/icons"),
        format!("error_directory {share}-langpack/en"),
        "visible_hostname proxy\nshutdown_lifetime 0".to_owned(),
    ];
    words.join("\n") + "\n"
}

/// What the files beside the configurations say.
fn lists() -> [(&'static str, String); 2] {
    let hosts = || (0..HOSTS).map(tunnel::host);
    let patterns = hosts().map(|host| format!("^{}$\n", host.replace('.', "\\.")));
    let domains = hosts().map(|host| format!("    - {host}\n"));
    let acl = format!(
        "version: v1\nservices: []\ndefault:\n  project: bench\n  action: enforce\n  allowed_domains:\n{}",
        domains.collect::<String>()
    );
    [
        ("tinyproxy.filter", patterns.collect()),
        ("smokescreen.acl", acl),
    ]
}

/// Where proxies are started from.
#[derive(Debug)]
pub struct Stage {
    /// Where they are born.
    pub room: Room,
    /// Those that there are.
    pub programs: BTreeMap<Proxy, PathBuf>,
    /// The DNS that ours asks.
    pub dns: SocketAddr,
}

/// One that serves. Dropped, it is gone.
#[derive(Debug)]
pub struct Running {
    process: Process,
    /// Through it.
    pub way: Way,
}

impl Running {
    /// Resident memory, in KiB.
    pub fn resident(&self) -> anyhow::Result<f64> {
        process::resident_of_group(self.process.id())
    }
}

impl Stage {
    /// Starts one and waits until it serves.
    pub fn start(&self, proxy: Proxy) -> anyhow::Result<Running> {
        let name = proxy.name();
        let program = self.programs.get(&proxy);
        let program = program.with_context(|| format!("{name} is not there"))?;
        let stage = Path::new(STAGE);
        let at = stage.join(format!("{name}.conf"));
        let (text, arguments) = proxy.configuration(&at, self.dns);
        let lists = lists().map(|(list, text)| (stage.join(list), text));
        for (path, text) in [(at, text)].iter().chain(&lists) {
            fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))?;
        }
        // What Debian links to lies beside what links to it.
        let libraries = stage.join(DEBIAN).join("usr/lib");
        let libraries = format!(
            "LD_LIBRARY_PATH={0}:{0}/{1}-linux-gnu",
            libraries.display(),
            std::env::consts::ARCH
        );
        let words = [libraries, program.display().to_string()];
        let program = Program::new(Path::new("env"), words.into_iter().chain(arguments));
        let log = Path::new(LOGS).join(format!("{name}.log"));
        let mut process = Process::start_in(&self.room, name, &program, &log)?;
        let end = Instant::now() + START;
        while TcpStream::connect(proxy.address()).is_err() {
            process.check()?;
            if Instant::now() > end {
                bail!("{name} did not serve within {} s", START.as_secs());
            }
            thread::sleep(ASK_EVERY);
        }
        Ok(Running {
            process,
            way: Way::Through(proxy.address()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lets_through_every_name_of_the_origin_and_logs() {
        let dns = SocketAddr::from(([127, 0, 0, 1], 53));
        let lists = lists().map(|(_, text)| text.replace('\\', "")).concat();
        for proxy in Proxy::ALL {
            let (text, arguments) = proxy.configuration(Path::new("/conf"), dns);
            assert!(arguments.iter().any(|word| word.contains("/conf")));
            for turn in 0..HOSTS {
                let host = tunnel::host(turn);
                assert!(text.contains(&host) || lists.contains(&host), "{proxy:?}");
            }
        }
    }
}
