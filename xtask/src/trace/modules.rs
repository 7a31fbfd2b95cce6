//! Follows `mod` declarations from a target's root, as the compiler does, so that each test gets the
//! path it has in a test run and a file that nothing declares is noticed. Pure: reading is passed in.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::source::{self, Source};

/// A file that is part of a target.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub file: PathBuf,
    /// The module it is; empty for the root.
    pub module: Vec<String>,
    /// What it holds.
    pub source: Source,
}

struct Visit {
    file: PathBuf,
    module: Vec<String>,
    /// The folder its own child modules are looked up in.
    children: PathBuf,
}

/// All files of the target whose root is `root`. `read` answers `None` for a file that is not there:
/// a module may be declared for another platform only.
pub fn walk(
    root: &Path,
    mut read: impl FnMut(&Path) -> anyhow::Result<Option<String>>,
) -> anyhow::Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut waiting = VecDeque::from([Visit {
        file: root.to_owned(),
        module: Vec::new(),
        children: folder(root),
    }]);
    while let Some(Visit {
        file,
        module,
        children,
    }) = waiting.pop_front()
    {
        let Some(text) = read(&file)? else { continue };
        let source = source::scan(&text);
        for declared in &source.modules {
            let base = declared
                .parents
                .iter()
                .fold(children.clone(), |path, part| path.join(part));
            let mut path = module.clone();
            path.extend(declared.parents.iter().cloned());
            path.push(declared.name.clone());
            let mut visit = |file: PathBuf, children: PathBuf| {
                waiting.push_back(Visit {
                    file,
                    module: path.clone(),
                    children,
                });
            };
            if let Some(given) = &declared.path {
                let base = if declared.parents.is_empty() {
                    folder(&file)
                } else {
                    base
                };
                let file = base.join(given);
                let children = folder(&file);
                visit(file, children);
            } else {
                let own = base.join(&declared.name);
                visit(base.join(format!("{}.rs", declared.name)), own.clone());
                visit(own.join("mod.rs"), own);
            }
        }
        found.push(Found {
            file,
            module,
            source,
        });
    }
    Ok(found)
}

fn folder(file: &Path) -> PathBuf {
    file.parent().map(Path::to_owned).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn modules_are_found_where_the_compiler_looks() {
        let files = BTreeMap::from([
            (
                "src/lib.rs",
                "mod plan; mod inline { mod deep; } #[path = \"x/odd.rs\"] mod odd;",
            ),
            ("src/plan.rs", "#[cfg(test)] mod tests; mod gone;"),
            ("src/plan/tests.rs", ""),
            ("src/inline/deep.rs", "mod under;"),
            ("src/inline/deep/under/mod.rs", "mod last;"),
            ("src/inline/deep/under/last.rs", ""),
            ("src/x/odd.rs", "mod beside;"),
            ("src/x/beside.rs", ""),
            ("src/orphan.rs", ""),
        ]);
        let found = walk(Path::new("src/lib.rs"), |path| {
            Ok(files.get(path.to_str().unwrap()).map(ToString::to_string))
        })
        .unwrap();
        let found: BTreeMap<_, _> = found
            .iter()
            .map(|f| (f.file.to_str().unwrap().to_owned(), f.module.join("::")))
            .collect();
        let expected = [
            ("src/inline/deep.rs", "inline::deep"),
            ("src/inline/deep/under/last.rs", "inline::deep::under::last"),
            ("src/inline/deep/under/mod.rs", "inline::deep::under"),
            ("src/lib.rs", ""),
            ("src/plan.rs", "plan"),
            ("src/plan/tests.rs", "plan::tests"),
            ("src/x/beside.rs", "odd::beside"),
            ("src/x/odd.rs", "odd"),
        ];
        let expected: BTreeMap<_, _> = expected
            .map(|(file, module)| (file.to_owned(), module.to_owned()))
            .into();
        assert_eq!(found, expected);
    }
}
