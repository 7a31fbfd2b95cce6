//! What Connections add to the pod (K-005, O-031, O-032). Pure.

use k8s_openapi::api::core::v1::{
    EnvVar, EnvVarSource, SecretKeySelector, SecretVolumeSource, Volume, VolumeMount,
};
use sandgate_shared::{
    api::SandboxClassSpec,
    checks::{Placement, home},
    names,
};

/// Name of the volume that holds the rendered files. Names that start so are the operator's.
const FILES_VOLUME: &str = "sandgate-connections";
/// Read by owner and group, and by nobody else.
const MODE: i32 = 0o440;

/// The variables, each a reference: no pod spec ever holds a value.
pub(super) fn variables(placement: &Placement) -> impl Iterator<Item = EnvVar> {
    placement.env.iter().map(|variable| EnvVar {
        name: variable.name.clone(),
        value: None,
        value_from: Some(EnvVarSource {
            secret_key_ref: Some(SecretKeySelector {
                name: variable.secret.clone(),
                key: variable.key.clone(),
                optional: Some(false),
            }),
            ..EnvVarSource::default()
        }),
    })
}

/// The volume with the files, if there are any, and a mount for each.
pub(super) fn files(
    claim: &str,
    class: &SandboxClassSpec,
    placement: &Placement,
) -> Option<(Volume, Vec<VolumeMount>)> {
    let home = home(class).filter(|_| !placement.files.is_empty())?;
    let home = home.trim_end_matches('/');
    let volume = Volume {
        name: FILES_VOLUME.to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(names::placed_files(claim)),
            default_mode: Some(MODE),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    };
    let mounts = placement.files.iter().map(|file| VolumeMount {
        name: FILES_VOLUME.to_owned(),
        mount_path: format!("{home}/{}", file.path),
        sub_path: Some(file.key.clone()),
        read_only: Some(true),
        ..VolumeMount::default()
    });
    Some((volume, mounts.collect()))
}
