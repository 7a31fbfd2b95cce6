//! Whether a binary may be in an image from scratch. Pure.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use memchr::memmem;
use object::Endianness;
use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

/// Why a binary may not be in an image.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// Not what a linker makes on Linux.
    #[error("it is no 64-bit ELF file")]
    NoElf(#[from] object::read::Error),
    /// It would need a loader and libraries that are not in the image.
    #[error("it is not linked statically: it asks for the loader {0}, which no image of ours has")]
    Dynamic(String),
    /// It tells where it was built, and so differs from machine to machine.
    #[error("it tells of the folder {}, so it would differ from machine to machine", .0.display())]
    Path(PathBuf),
}

/// Says why this binary may not be in an image, if so; `hidden` are folders it must not tell of.
pub fn binary(bytes: &[u8], hidden: &[&Path]) -> Result<(), Unfit> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    for segment in header.program_headers(endian, bytes)? {
        if segment.p_type(endian) == PT_INTERP {
            let loader = segment.interpreter(endian, bytes)?.unwrap_or_default();
            return Err(Unfit::Dynamic(String::from_utf8_lossy(loader).into_owned()));
        }
    }
    let told = hidden
        .iter()
        .find(|folder| memmem::find(bytes, folder.as_os_str().as_bytes()).is_some());
    told.map_or(Ok(()), |folder| Err(Unfit::Path((*folder).to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What runs this test: linked like every development build.
    fn ourselves() -> Vec<u8> {
        std::fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    /// A static binary: a header and nothing else.
    fn smallest() -> Vec<u8> {
        let mut bytes = ourselves();
        bytes.truncate(64);
        // No segments, no sections.
        bytes[32..48].fill(0);
        bytes[56..64].fill(0);
        bytes
    }

    #[test]
    fn a_binary_that_needs_a_loader_is_refused_with_its_name() {
        let refused = binary(&ourselves(), &[]).unwrap_err();
        assert!(
            matches!(&refused, Unfit::Dynamic(loader) if loader.contains("/ld-")),
            "{refused}"
        );
    }

    #[test]
    fn a_binary_that_tells_where_it_was_built_is_refused() {
        let folder = Path::new("/home/somebody/sandgate");
        let mut bytes = smallest();
        assert!(binary(&bytes, &[folder]).is_ok());
        bytes.extend_from_slice(b"called from /home/somebody/sandgate/webhook/src/run.rs");
        let refused = binary(&bytes, &[Path::new("/elsewhere"), folder]).unwrap_err();
        assert!(
            matches!(&refused, Unfit::Path(path) if path == folder),
            "{refused}"
        );
    }

    #[rstest::rstest]
    #[case(b"")]
    #[case(b"#!/bin/sh\n")]
    #[case(b"\x7fELF")]
    fn what_is_no_binary_is_refused(#[case] bytes: &[u8]) {
        assert!(matches!(binary(bytes, &[]), Err(Unfit::NoElf(_))));
    }

    #[test]
    fn a_binary_that_was_cut_off_is_refused_and_nothing_breaks() {
        let whole = ourselves();
        for length in (0..2_000).step_by(7) {
            let cut = whole.get(..length).unwrap();
            assert!(binary(cut, &[]).is_err(), "{length}");
        }
    }
}
