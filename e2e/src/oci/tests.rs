use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use super::digest::Digest;
use super::*;

/// A folder with what images are made of.
struct Sources(tempfile::TempDir);

impl Sources {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sources = Self(folder);
        sources.put("app", "the program", 0o700);
        sources.put("settings", "a = 1\n", 0o600);
        sources
    }

    fn put(&self, name: &str, text: &str, mode: u32) {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn image(&self) -> Image {
        Image {
            name: "sandgate.local/app:1".to_owned(),
            user: Some("65532:65532".to_owned()),
            entrypoint: vec![],
            files: vec![
                (self.path("app"), "/opt/app".to_owned()),
                (self.path("settings"), "/etc/app.toml".to_owned()),
            ],
            links: vec![
                ("/opt/app".to_owned(), "/bin/app".to_owned()),
                ("app".to_owned(), "/bin/also".to_owned()),
            ],
        }
    }

    fn written(&self, image: &Image) -> (Written, Archive) {
        let path = self.path("image.tar");
        let written = image.write(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        (written, Archive::read(bytes))
    }
}

/// An archive read back.
struct Archive {
    bytes: Vec<u8>,
    entries: BTreeMap<String, Vec<u8>>,
}

impl Archive {
    fn read(bytes: Vec<u8>) -> Self {
        let mut entries = BTreeMap::new();
        for entry in tar::Archive::new(bytes.as_slice()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().to_str().unwrap().to_owned();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            entries.insert(path, content);
        }
        Self { bytes, entries }
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&self.entries[path]).unwrap()
    }

    /// The blob a descriptor refers to, after checking that it is the one.
    fn blob(&self, descriptor: &Value) -> &[u8] {
        let digest = descriptor["digest"].as_str().unwrap();
        let path = format!("blobs/{}", digest.replace(':', "/"));
        let content = self.entries[&path].as_slice();
        assert_eq!(Digest::of(content).to_string(), digest);
        assert_eq!(descriptor["size"], json!(content.len()));
        content
    }

    fn manifest(&self) -> Value {
        serde_json::from_slice(self.blob(&self.json("index.json")["manifests"][0])).unwrap()
    }

    fn config(&self) -> Value {
        serde_json::from_slice(self.blob(&self.manifest()["config"])).unwrap()
    }

    fn layer(&self) -> Vec<u8> {
        let manifest = self.manifest();
        let mut tar = Vec::new();
        GzDecoder::new(self.blob(&manifest["layers"][0]))
            .read_to_end(&mut tar)
            .unwrap();
        tar
    }
}

#[test]
fn the_same_files_give_the_same_bytes_in_any_order_from_any_folder_at_any_time() {
    let (one, other) = (Sources::new(), Sources::new());
    // Another umask, another order, another age.
    other.put("app", "the program", 0o755);
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
    let app = File::options().write(true).open(other.path("app")).unwrap();
    app.set_modified(long_ago).unwrap();
    let mut turned = other.image();
    turned.files.reverse();
    turned.links.reverse();

    let (written, archive) = one.written(&one.image());
    let (again, same) = other.written(&turned);
    assert_eq!(written, again);
    assert_eq!(archive.bytes, same.bytes);

    other.put("settings", "a = 2\n", 0o600);
    let (changed, different) = other.written(&turned);
    assert_ne!(written.digest, changed.digest);
    assert_ne!(archive.bytes, different.bytes);
}

#[test]
fn every_digest_is_that_of_what_it_refers_to() {
    let sources = Sources::new();
    let (written, archive) = sources.written(&sources.image());
    let index = archive.json("index.json");
    assert_eq!(index["manifests"][0]["digest"], json!(written.digest));
    let manifest = archive.manifest();
    assert_eq!(manifest["layers"][0]["size"], json!(written.compressed));

    let layer = archive.layer();
    assert_eq!(layer.len(), usize::try_from(written.unpacked).unwrap());
    let diff_ids = json!([Digest::of(&layer).to_string()]);
    assert_eq!(archive.config()["rootfs"]["diff_ids"], diff_ids);
    assert_eq!(archive.entries["oci-layout"], LAYOUT);
    // Index, layout and three blobs: nothing nobody refers to.
    assert_eq!(archive.entries.len(), 5);
}

#[test]
fn the_archive_carries_the_name_under_which_it_is_imported() {
    let sources = Sources::new();
    let (_, archive) = sources.written(&sources.image());
    let named = &archive.json("index.json")["manifests"][0];
    for key in [
        "io.containerd.image.name",
        "org.opencontainers.image.ref.name",
    ] {
        assert_eq!(named["annotations"][key], json!("sandgate.local/app:1"));
    }
    assert_eq!(named["platform"]["os"], json!("linux"));
    assert_eq!(
        named["platform"]["architecture"],
        archive.config()["architecture"]
    );
}

#[rstest::rstest]
#[case(Some("65532:65532"), &[])]
#[case(None, &["/pause", "--now"])]
fn the_config_says_who_runs_and_what(#[case] user: Option<&str>, #[case] entrypoint: &[&str]) {
    let sources = Sources::new();
    let mut image = sources.image();
    image.user = user.map(str::to_owned);
    image.entrypoint = entrypoint.iter().map(|word| (*word).to_owned()).collect();
    let (_, archive) = sources.written(&image);
    let config = archive.config();
    let run = config["config"].as_object().unwrap();
    assert_eq!(run.get("User"), user.map(|user| json!(user)).as_ref());
    let words = (!entrypoint.is_empty()).then(|| json!(entrypoint));
    assert_eq!(run.get("Entrypoint"), words.as_ref());
    assert!(!run.contains_key("Cmd"));
    assert!(run["Env"][0].as_str().unwrap().starts_with("PATH=/:"));
}

#[test]
fn the_layer_holds_each_file_and_link_without_owner_or_time() {
    let sources = Sources::new();
    let (_, archive) = sources.written(&sources.image());
    let layer = archive.layer();
    let mut seen = Vec::new();
    for entry in tar::Archive::new(layer.as_slice()).entries().unwrap() {
        let entry = entry.unwrap();
        let header = entry.header();
        assert_eq!(header.mtime().unwrap(), 0);
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        let path = entry.path().unwrap().to_str().unwrap().to_owned();
        let target = entry.link_name().unwrap();
        let target = target.map(|target| format!(" -> {}", target.display()));
        let mode = header.mode().unwrap();
        seen.push(format!("{mode:04o} {path}{}", target.unwrap_or_default()));
    }
    assert_eq!(
        seen,
        [
            "0755 bin/",
            "0777 bin/also -> app",
            "0777 bin/app -> /opt/app",
            "0755 etc/",
            "0644 etc/app.toml",
            "0644 etc/group",
            "0644 etc/passwd",
            "0755 opt/",
            "0755 opt/app",
            "1777 tmp/",
        ]
    );
    let contents: BTreeMap<String, String> = tar::Archive::new(layer.as_slice())
        .entries()
        .unwrap()
        .map(|entry| {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().to_str().unwrap().to_owned();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            (path, text)
        })
        .collect();
    assert_eq!(contents["opt/app"], "the program");
    assert!(contents["etc/passwd"].contains(":65532:65532:"));
    assert!(contents["etc/group"].contains(":65532:"));
}

#[test]
fn paths_longer_than_a_tar_header_survive() {
    let sources = Sources::new();
    let mut image = sources.image();
    let long = format!("/{}/{}", "folder".repeat(20), "file".repeat(30));
    image.files.push((sources.path("app"), long.clone()));
    image.links.push((long.clone(), format!("{long}-link")));
    let (_, archive) = sources.written(&image);
    let layer = archive.layer();
    let mut layer = tar::Archive::new(layer.as_slice());
    let found = layer
        .entries()
        .unwrap()
        .filter(|entry| {
            let path = entry.as_ref().unwrap().path().unwrap();
            path.to_str()
                .unwrap()
                .starts_with(long.trim_start_matches('/'))
        })
        .count();
    assert_eq!(found, 2);
}

#[test]
fn a_missing_file_is_named_and_the_old_archive_stays() {
    let sources = Sources::new();
    let path = sources.path("image.tar");
    let mut image = sources.image();
    image.write(&path).unwrap();
    let before = fs::read(&path).unwrap();
    image
        .files
        .push((sources.path("nowhere"), "/nowhere".to_owned()));
    let error = image.write(&path).unwrap_err();
    assert!(matches!(&error, OciError::Source { path, .. } if *path == sources.path("nowhere")));
    assert!(error.to_string().contains("nowhere"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
    // Nothing half-made beside it: two sources and the archive.
    assert_eq!(sources.0.path().read_dir().unwrap().count(), 3);
}
