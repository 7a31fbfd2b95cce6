//! `cargo xtask image`: our binaries, linked statically, as one OCI archive from scratch. Does I/O.
//!
//! ```text
//! sources ─▶ build ─▶ binaries ─▶ judge: static? no path of this machine? ─▶ archive
//! ```

mod build;
mod judge;
mod twice;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use sandgate_e2e::oci::{Image, Written};
use sandgate_e2e::progress::Step;
use sandgate_e2e::real_node::IMAGE_VARIABLE;

pub use self::build::Make;
use self::build::Place;

/// Where the archive is written, in the folder cargo builds into.
const ARCHIVE: &str = "image/sandgate.tar";
/// The same for the one that is only tried.
const TRIED: &str = "image/tried.tar";
/// Anybody, and nobody: no user of a node has this number.
const USER: &str = "65532:65532";
/// What is pulled before the first sandbox of a node should not take longer than its scheduling.
const BUDGET: u64 = 40 * 1024 * 1024;

/// What pods call the image.
pub fn default_name() -> String {
    format!("sandgate.local/sandgate:{}", env!("CARGO_PKG_VERSION"))
}

/// Builds the image and says what came out. With `twice`, builds it again from a copy of the
/// sources in another folder, and fails unless the same bytes come out.
pub async fn run(output: Option<&Path>, name: &str, twice: bool) -> anyhow::Result<()> {
    let place = Place::here()?;
    let archive = output.map_or_else(|| place.target.join(ARCHIVE), Path::to_owned);
    let step = Step::begin("building the image");
    let written = make(&place, Make::Shipped, name, &archive).await?;
    step.done();
    println!("{}", describe(&archive, name, &written));
    if twice {
        let step = Step::begin("building it again from a copy of the sources");
        twice::check(&place, name, &written).await?;
        step.done();
        println!("the same bytes come out of a copy of the sources in another folder");
    }
    Ok(())
}

/// The archive of the image to run here: the one [`IMAGE_VARIABLE`] names, or one built of the sources
/// as they are.
pub async fn ensure(what: Make) -> anyhow::Result<PathBuf> {
    if let Some(given) = std::env::var_os(IMAGE_VARIABLE) {
        return Ok(PathBuf::from(given));
    }
    let step = Step::begin("building our image");
    let place = Place::here()?;
    let archive = place.target.join(match what {
        Make::Shipped => ARCHIVE,
        Make::Tried => TRIED,
    });
    make(&place, what, &default_name(), &archive).await?;
    step.done();
    Ok(archive)
}

/// Builds the binaries, and packs them if they are fit for it.
async fn make(place: &Place, what: Make, name: &str, archive: &Path) -> anyhow::Result<Written> {
    let binaries = build::run(place, what).await?;
    let hidden = place.hidden();
    let hidden = if what == Make::Shipped {
        &hidden[..]
    } else {
        &[]
    };
    for binary in &binaries {
        let bytes =
            fs::read(binary).with_context(|| format!("failed to read {}", binary.display()))?;
        judge::binary(&bytes, hidden)
            .with_context(|| format!("{} must not be in an image", binary.display()))?;
    }
    let image = Image {
        name: name.to_owned(),
        user: Some(USER.to_owned()),
        files: binaries
            .into_iter()
            .map(|binary| {
                let file = binary.file_name().unwrap_or_default();
                let at = format!("/{}", file.to_string_lossy());
                (binary, at)
            })
            .chain([(place.sources.join("LICENSE"), "/LICENSE".to_owned())])
            .collect(),
        ..Image::default()
    };
    let written = image.write(archive).context("failed to write the image")?;
    // Development builds have to fit, too: what grows is found out before anything is shipped.
    ensure!(
        written.compressed <= BUDGET,
        "the image is {} compressed; it may have {}",
        mebibytes(written.compressed),
        mebibytes(BUDGET)
    );
    Ok(written)
}

fn describe(archive: &Path, name: &str, written: &Written) -> String {
    format!(
        "{name}\n{}\n{} ({} unpacked) in {}",
        written.digest,
        mebibytes(written.compressed),
        mebibytes(written.unpacked),
        archive.display(),
    )
}

fn mebibytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10).div_ceil(1024 * 1024);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_say_them() {
        assert_eq!(mebibytes(40 * 1024 * 1024), "40.0 MiB");
        assert_eq!(mebibytes(1), "0.1 MiB");
    }
}
