//! What a folder of this machine holds, as an image may hold it. Does I/O.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Image, OciError};

impl Image {
    /// Adds all files and links below `root`, each where it would lie if `root` were `/`, but for what lies
    /// below one of the absolute paths `without`. What is neither, an empty folder too, is left out.
    pub fn add_all_of(&mut self, root: &Path, without: &[&str]) -> Result<(), OciError> {
        let mut folders = vec![(root.to_owned(), String::new())];
        while let Some((folder, above)) = folders.pop() {
            let failed = |source| unreadable(&folder, source);
            for entry in fs::read_dir(&folder).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let path = entry.path();
                let at = format!("{above}/{}", text(entry.file_name().into())?);
                let kind = entry.file_type().map_err(failed)?;
                if without.contains(&at.as_str()) {
                    continue;
                }
                if kind.is_dir() {
                    folders.push((path, at));
                } else if kind.is_symlink() {
                    let target = fs::read_link(&path);
                    let target = target.map_err(|source| unreadable(&path, source))?;
                    self.links.push((text(target)?, at));
                } else if kind.is_file() {
                    self.files.push((path, at));
                }
            }
        }
        // A folder tells in another order elsewhere.
        self.files.sort();
        self.links.sort();
        Ok(())
    }
}

fn unreadable(path: &Path, source: io::Error) -> OciError {
    OciError::Source {
        path: path.to_owned(),
        source,
    }
}

fn text(path: PathBuf) -> Result<String, OciError> {
    let text = path.into_os_string().into_string();
    text.map_err(|odd| OciError::Path(odd.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_and_links_lie_where_they_would_and_what_is_not_wanted_lies_nowhere() {
        let root = tempfile::tempdir().unwrap();
        let path = |at: &str| root.path().join(at);
        for folder in ["bin", "usr/share/doc/app", "usr/share/docks", "proc"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        for file in ["bin/app", "usr/share/doc/app/readme", "usr/share/docks/map"] {
            fs::write(path(file), file).unwrap();
        }
        symlink("app", path("bin/also")).unwrap();
        let mut image = Image::default();
        image.add_all_of(root.path(), &["/usr/share/doc"]).unwrap();
        let expected = ["bin/app", "usr/share/docks/map"];
        let expected = expected.map(|file| (path(file), format!("/{file}")));
        assert_eq!(image.files, expected);
        assert_eq!(image.links, [("app".to_owned(), "/bin/also".to_owned())]);
    }

    #[test]
    fn a_folder_that_is_missing_is_named() {
        let error = Image::default().add_all_of(Path::new("/nowhere"), &[]);
        let error = error.unwrap_err();
        assert!(error.to_string().contains("/nowhere"), "{error}");
    }
}
