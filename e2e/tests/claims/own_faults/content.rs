//! What all workspaces of a cluster keep, in a folder of the test.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sandgate_e2e::Outcome;

use crate::scene::Scene;

/// A folder that controllers see as the volume of content.
pub struct Content(tempfile::TempDir);

impl Content {
    /// An empty one.
    pub fn new() -> Outcome<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    /// What makes a controller see it.
    pub fn argument(&self) -> String {
        format!("--workspace-content-path={}", self.0.path().display())
    }

    /// Makes the directory of the scene's workspace, as whoever provides volumes does.
    pub fn of_workspace(&self, scene: &Scene) -> Outcome {
        Ok(fs::create_dir(self.0.path().join(scene.name()))?)
    }

    /// Each directory of the scene's workspace with its permissions.
    pub fn directories(&self, scene: &Scene) -> Outcome<BTreeMap<String, u32>> {
        let mut found = BTreeMap::new();
        let own = self.0.path().join(scene.name());
        if own.exists() {
            collect(&own, &own, &mut found)?;
        }
        Ok(found)
    }
}

fn collect(root: &Path, below: &Path, found: &mut BTreeMap<String, u32>) -> Outcome {
    for entry in fs::read_dir(below)? {
        let path = entry?.path();
        let relative = path.strip_prefix(root)?.display().to_string();
        let mode = fs::metadata(&path)?.permissions().mode();
        found.insert(relative, mode & 0o7777);
        if path.is_dir() {
            collect(root, &path, found)?;
        }
    }
    Ok(())
}
