//! The image of a sandbox with clients that people really use: Debian's packages, and what is built here.
//! Does I/O.

use std::path::PathBuf;

use crate::binaries::{self, BinariesError};
use crate::debian::{Beside, DebianError, Unpacked};
use crate::oci::{Image, OciError};
use crate::real_node::{ImagesError, archive_of};

/// What pods call it.
pub const IMAGE: &str = "sandgate.local/clients:1";

/// The same with a browser, which is larger than all the rest.
pub const WITH_BROWSER: &str = "sandgate.local/clients-and-browser:1";

/// The browser.
const BROWSER: &str = "chromium";

/// Programs with all they need, down to a shell.
const PACKAGES: [&str; 10] = [
    "base-files",
    "coreutils",
    "curl",
    "dash",
    "git",
    "node-undici",
    "nodejs",
    "python3-httpx",
    "python3-minimal",
    "python3-requests",
];

/// What no program asks for.
const FOR_PEOPLE: [&str; 4] = [
    "/usr/share/doc",
    "/usr/share/info",
    "/usr/share/locale",
    "/usr/share/man",
];

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum ClientsError {
    /// A package could not be had.
    #[error(transparent)]
    Debian(#[from] DebianError),
    /// A client in Go or Rust could not be built.
    #[error(transparent)]
    Build(#[from] BinariesError),
    /// What was unpacked could not be read.
    #[error(transparent)]
    Content(#[from] OciError),
    /// The archive could not be written.
    #[error(transparent)]
    Image(#[from] ImagesError),
}

/// The archive of [`IMAGE`]. Blocks: minutes the first time, then a second.
pub fn archive() -> Result<PathBuf, ClientsError> {
    packed(IMAGE, &PACKAGES)
}

/// The same of [`WITH_BROWSER`].
pub fn archive_with_browser() -> Result<PathBuf, ClientsError> {
    packed(WITH_BROWSER, &[&PACKAGES[..], &[BROWSER]].concat())
}

fn packed(name: &str, packages: &[&str]) -> Result<PathBuf, ClientsError> {
    let debian = Unpacked::ensure(packages, Beside::Nothing)?;
    let mut image = Image {
        name: name.to_owned(),
        user: Some("65532:65532".to_owned()),
        files: vec![
            (binaries::go_client()?, "/usr/bin/go-client".to_owned()),
            (binaries::rust_client()?, "/usr/bin/rust-client".to_owned()),
        ],
        ..Image::default()
    };
    image.add_all_of(&debian.root, &FOR_PEOPLE)?;
    Ok(archive_of(&image)?)
}
