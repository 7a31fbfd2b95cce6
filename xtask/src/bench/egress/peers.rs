//! The proxies of others: squid and tinyproxy from Debian's packages, smokescreen from its Go module. One
//! that cannot be had is left out, and the figures say so. Does I/O.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sandgate_e2e::binaries::Smokescreen;
use sandgate_e2e::debian::{Beside, Unpacked};

use super::super::figure::Figure;
use super::proxy::Proxy;
use super::{DEBIAN, STAGE};

/// The package of each, and the program in it.
const PACKAGES: [(Proxy, &str, &str); 2] = [
    (Proxy::Squid, "squid", "usr/sbin/squid"),
    (Proxy::Tinyproxy, "tinyproxy-bin", "usr/bin/tinyproxy"),
];

/// Squid does not start without its messages.
const MESSAGES: &str = "squid-langpack";

/// Those that there are.
#[derive(Debug, Default)]
pub struct Peers {
    /// Where each is, as seen in the room.
    pub programs: BTreeMap<Proxy, PathBuf>,
    /// What stands for Debian's `/`.
    pub debian: Option<PathBuf>,
    told: Vec<Figure>,
}

impl Peers {
    /// Fetches and builds what is not there yet.
    pub fn ensure() -> Self {
        let mut peers = Self::default();
        let packages = PACKAGES.map(|(_, package, _)| package);
        let packages = [&packages[..], &[MESSAGES]].concat();
        match Unpacked::ensure(&packages, Beside::ThisMachine) {
            Ok(unpacked) => {
                for (proxy, package, program) in PACKAGES {
                    let path = Path::new(STAGE).join(DEBIAN).join(program);
                    let version = unpacked.version(package).unwrap_or("of unknown version");
                    peers.add(proxy, path, format!("Debian's {package} {version}"));
                }
                peers.debian = Some(unpacked.root);
            }
            Err(error) => {
                for (proxy, ..) in PACKAGES {
                    peers.leave_out(proxy, &error);
                }
            }
        }
        match Smokescreen::ensure() {
            Ok(built) => peers.add(Proxy::Smokescreen, built.program, built.version),
            Err(error) => peers.leave_out(Proxy::Smokescreen, &error),
        }
        peers
    }

    /// Their versions, and why some are left out.
    pub fn told(&self) -> Vec<Figure> {
        self.told.clone()
    }

    fn add(&mut self, proxy: Proxy, program: PathBuf, version: String) {
        self.programs.insert(proxy, program);
        self.tell(proxy, version);
    }

    fn leave_out(&mut self, proxy: Proxy, error: &dyn std::error::Error) {
        self.tell(proxy, format!("left out: {error}"));
    }

    fn tell(&mut self, proxy: Proxy, text: String) {
        let name = format!("egress_{}", proxy.name());
        self.told.push(Figure::text(name, text));
    }
}
