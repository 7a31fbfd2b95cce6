//! Builds our binaries for an image: linked statically, and for one that is shipped optimised, without
//! a word of where they were built. Does I/O: runs cargo.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tokio::process::Command;

use crate::tools;

/// Our programs: the crate, and what it builds.
const PROGRAMS: [(&str, &str); 5] = [
    ("sandgate-webhook", "sandgate-webhook"),
    ("sandgate-controller", "sandgate-controller"),
    ("sandgate-probe", "sandgate-probe"),
    ("sandgate-egress", "sandgate-egress"),
    ("sandgate-cli", "sandgate"),
];
/// Between flags, where one may hold spaces.
const SEPARATOR: &str = "\u{1f}";

/// Where sources are, and where what is built of them goes.
#[derive(Clone, Debug)]
pub struct Place {
    /// The top folder of the repository, or of a copy of it.
    pub sources: PathBuf,
    /// The folder cargo builds into.
    pub target: PathBuf,
    /// Where cargo keeps the sources of others.
    pub cargo_home: PathBuf,
}

impl Place {
    /// This repository, and the folder we were built into ourselves.
    pub fn here() -> anyhow::Result<Self> {
        let binaries = tools::binaries()?;
        let target = binaries
            .parent()
            .context("the folder of the running program has no parent")?;
        let cargo_home = std::env::var_os("CARGO_HOME")
            .map(PathBuf::from)
            .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
            .context("no folder of cargo is known: set HOME or CARGO_HOME")?;
        Ok(Self {
            sources: tools::root()?.to_owned(),
            target: target.to_owned(),
            cargo_home,
        })
    }

    /// The folders of which nothing built here may tell.
    pub fn hidden(&self) -> [&Path; 3] {
        // The last that fits is used: a folder comes after the one that holds it.
        [&self.cargo_home, &self.sources, &self.target]
    }

    /// What rustc is told.
    fn flags(&self, make: Make) -> String {
        let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
        match make {
            Make::Shipped => {
                let named = self
                    .hidden()
                    .into_iter()
                    .zip(["cargo", "sandgate", "target"]);
                flags.extend(named.map(|(folder, name)| {
                    format!("--remap-path-prefix={}=/_/{name}", folder.display())
                }));
            }
            Make::Tried => flags.push("-Cstrip=symbols".to_owned()),
        }
        flags.join(SEPARATOR)
    }
}

/// What an image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// To be shipped: optimised, and the same wherever it is built.
    Shipped,
    /// To be tried here and thrown away: built in a fraction of the time, and what it was built of is
    /// kept for a checkout in another folder.
    Tried,
}

/// Builds all programs and returns where they are.
///
/// The target is named though it is this machine's: so flags reach neither build scripts nor what
/// `cargo build` makes, and nothing of that is built anew.
pub async fn run(place: &Place, make: Make) -> anyhow::Result<Vec<PathBuf>> {
    let triple = triple()?;
    let (profile, folder) = match make {
        Make::Shipped => ("release", "release"),
        Make::Tried => ("dev", "debug"),
    };
    let mut command = tools::cargo(&["build", "--quiet", "--locked"]);
    command.args(["--profile", profile, "--target", triple]);
    for (package, program) in PROGRAMS {
        command.args(["--package", package, "--bin", program]);
    }
    let status = command
        .current_dir(&place.sources)
        // Before all other flags, and instead of them.
        .env("CARGO_ENCODED_RUSTFLAGS", place.flags(make))
        .env("CARGO_TARGET_DIR", &place.target)
        .status()
        .await
        .context("failed to run cargo")?;
    if !status.success() {
        if lacks_static_library(&which_static_library().await) {
            bail!(
                "the binaries of the image could not be built, and the linker has no libc.a: install the static C library (libc6-dev on Debian, glibc-static on Fedora)"
            );
        }
        bail!("the binaries of the image could not be built");
    }
    let folder = place.target.join(triple).join(folder);
    Ok(PROGRAMS.map(|(_, program)| folder.join(program)).into())
}

/// What the linker says of where the static C library is; nothing if it cannot be asked.
async fn which_static_library() -> String {
    let asked = Command::new("cc").arg("-print-file-name=libc.a").output();
    let told = asked.await.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&told).into_owned()
}

/// A linker that has the library says its path, and one that has not only its name.
fn lacks_static_library(told: &str) -> bool {
    told.trim() == "libc.a"
}

/// This machine, as rustc calls it.
fn triple() -> anyhow::Result<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok("x86_64-unknown-linux-gnu"),
        ("linux", "aarch64") => Ok("aarch64-unknown-linux-gnu"),
        (system, architecture) => bail!(
            "images are built on Linux, on x86_64 or aarch64; this is {system} on {architecture}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::there(
        "/usr/lib/gcc/x86_64-linux-gnu/12/../../../x86_64-linux-gnu/libc.a\n",
        false
    )]
    #[case::missing("libc.a\n", true)]
    #[case::no_linker_at_all("", false)]
    fn the_static_library_is_named_only_where_the_linker_misses_it(
        #[case] told: &str,
        #[case] lacks: bool,
    ) {
        assert_eq!(lacks_static_library(told), lacks);
    }
}
