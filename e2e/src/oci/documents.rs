//! The documents of an OCI image: its config, its manifest and the index that names it. Pure.

use serde_json::{Value, json};

use super::Image;
use super::digest::Digest;
use super::layer::Sizes;

/// Says that a folder or archive is laid out as OCI wants it.
pub(super) const LAYOUT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Some bytes as others refer to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blob {
    pub(super) digest: Digest,
    pub(super) size: u64,
}

impl Blob {
    /// Where it lies in the archive.
    pub(super) fn path(&self) -> String {
        format!("blobs/sha256/{}", self.digest.digits())
    }

    fn descriptor(&self, media_type: &str) -> Value {
        json!({"mediaType": media_type, "digest": self.digest.to_string(), "size": self.size})
    }
}

/// A document and how others refer to it.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) text: Vec<u8>,
    pub(super) blob: Blob,
}

impl Document {
    fn new(value: &Value) -> Result<Self, serde_json::Error> {
        let text = serde_json::to_vec(value)?;
        let blob = Blob {
            digest: Digest::of(&text),
            size: u64::try_from(text.len()).unwrap_or(u64::MAX),
        };
        Ok(Self { text, blob })
    }
}

/// Everything that is said of an image.
#[derive(Debug)]
pub(super) struct Documents {
    pub(super) config: Document,
    pub(super) manifest: Document,
    pub(super) index: Vec<u8>,
}

impl Documents {
    /// What is to be said of `image`, whose layer is known.
    pub(super) fn new(image: &Image, layer: &Sizes) -> Result<Self, serde_json::Error> {
        let platform = json!({"architecture": architecture(), "os": "linux"});
        let config = Document::new(&config(image, &layer.unpacked.digest))?;
        let manifest = Document::new(&json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config.blob.descriptor(CONFIG),
            "layers": [layer.compressed.descriptor(LAYER)],
        }))?;
        let mut entry = manifest.blob.descriptor(MANIFEST);
        if let Some(fields) = entry.as_object_mut() {
            fields.insert("platform".to_owned(), platform);
            // containerd reads the first, everybody else the second.
            let names = json!({
                "io.containerd.image.name": image.name,
                "org.opencontainers.image.ref.name": image.name,
            });
            fields.insert("annotations".to_owned(), names);
        }
        let index = serde_json::to_vec(&json!({
            "schemaVersion": 2,
            "mediaType": INDEX,
            "manifests": [entry],
        }))?;
        Ok(Self {
            config,
            manifest,
            index,
        })
    }
}

fn config(image: &Image, unpacked: &Digest) -> Value {
    let mut run = json!({"Env": ["PATH=/:/bin:/usr/bin:/sbin:/usr/sbin"], "WorkingDir": "/"});
    if let Some(fields) = run.as_object_mut() {
        if let Some(user) = &image.user {
            fields.insert("User".to_owned(), json!(user));
        }
        if !image.entrypoint.is_empty() {
            fields.insert("Entrypoint".to_owned(), json!(image.entrypoint));
        }
    }
    json!({
        "architecture": architecture(),
        "os": "linux",
        "config": run,
        "rootfs": {"type": "layers", "diff_ids": [unpacked.to_string()]},
    })
}

/// This machine's architecture as Go, and so every container runtime, names it: an image holds what
/// was built here.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        same => same,
    }
}
