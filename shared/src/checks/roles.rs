//! The bound roles, and what each would place. Pure.

use super::{Bound, Dropped, Failure, SecretKeys};
use crate::{
    api::{
        ConnectionSpec, SandboxClassSpec,
        connection::{CredentialKind, PlacedFile, PlacedVariable},
        sandbox_class::ClassConnection,
    },
    concealed::Concealed,
    template::{Data, RunFault, Template},
};

/// The most that the files of a claim may hold together, in bytes: what the API server takes in a Secret.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// A bound role.
pub(super) struct Role<'a> {
    pub(super) bound: Bound<'a>,
    /// What the class says of it.
    pub(super) declared: Option<&'a ClassConnection>,
    /// Its files as they are now; none without the Secret.
    pub(super) files: Vec<File<'a>>,
}

/// A file that a Connection places.
pub(super) struct File<'a> {
    pub(super) path: &'a str,
    pub(super) bytes: Result<Concealed, FileFault>,
}

/// Why a file cannot be written.
pub(super) enum FileFault {
    /// The Secret lacks the key it is.
    KeyMissing(String),
    /// Its template does not parse or run, for this reason.
    Template(String),
    /// Its template is right and names a key that the Secret lacks, at this place.
    TemplateKeyMissing(String),
}

/// The bound roles in the order the class declares them; after them those it does not.
pub(super) fn in_order<'a>(class: &'a SandboxClassSpec, bound: &[Bound<'a>]) -> Vec<Role<'a>> {
    let declared = class.connections.as_deref().unwrap_or_default();
    let place = |bound: &Bound<'_>| declared.iter().position(|entry| entry.role == bound.role);
    let mut roles: Vec<_> = bound.iter().map(|bound| (place(bound), bound)).collect();
    roles.sort_by_key(|(place, _)| place.unwrap_or(usize::MAX));
    roles
        .into_iter()
        .map(|(place, bound)| Role::of(bound, place.and_then(|place| declared.get(place))))
        .collect()
}

impl<'a> Role<'a> {
    pub(super) fn of(bound: &Bound<'a>, declared: Option<&'a ClassConnection>) -> Self {
        let files = match (bound.secret, placed_files(bound.found)) {
            (Some(secret), files) => files.map(|file| drawn(file, secret)).collect(),
            (None, _) => Vec::new(),
        };
        Self {
            bound: *bound,
            declared,
            files,
        }
    }

    pub(super) fn kind(&self) -> Option<CredentialKind> {
        self.bound.found.map(|found| found.credential.kind)
    }

    /// The variables it places; only a Secret is placed (K-004).
    pub(super) fn variables(&self) -> impl Iterator<Item = &'a PlacedVariable> {
        variables(self.bound.found)
    }

    /// The paths of its files, relative to HOME.
    pub(super) fn paths(&self) -> impl Iterator<Item = &'a str> {
        placed_files(self.bound.found).map(|file| file.path.as_str())
    }

    /// For messages: the role and its Connection.
    pub(super) fn words(&self) -> String {
        format!(
            "Connection {:?} of role {:?}",
            self.bound.connection, self.bound.role
        )
    }

    pub(super) fn dropped(&self, failure: Failure) -> Dropped {
        Dropped {
            role: self.bound.role.to_owned(),
            connection: self.bound.connection.to_owned(),
            failure,
        }
    }
}

/// The variables that a Connection places.
pub(super) fn variables(found: Option<&ConnectionSpec>) -> impl Iterator<Item = &PlacedVariable> {
    let placement = found.filter(|found| is_secret(found));
    let placement = placement.and_then(|found| found.placement.as_ref());
    placement.into_iter().flat_map(|it| it.env.iter().flatten())
}

/// The files that a Connection places.
pub(super) fn placed_files(found: Option<&ConnectionSpec>) -> impl Iterator<Item = &PlacedFile> {
    let placement = found.filter(|found| is_secret(found));
    let placement = placement.and_then(|found| found.placement.as_ref());
    placement
        .into_iter()
        .flat_map(|it| it.files.iter().flatten())
}

/// Only a Secret is placed in a sandbox (K-004).
fn is_secret(found: &ConnectionSpec) -> bool {
    found.credential.kind == CredentialKind::Secret
}

/// The file as the Secret makes it now (K-007, K-008).
fn drawn<'a>(file: &'a PlacedFile, secret: &SecretKeys) -> File<'a> {
    let bytes = match (&file.key, &file.template) {
        (Some(key), None) => match secret.values.get(key) {
            Some(value) => Ok(value.clone()),
            None => Err(FileFault::KeyMissing(key.clone())),
        },
        (None, Some(template)) => ran(template, secret),
        // The schema lets neither in.
        (Some(_), Some(_)) | (None, None) => Err(FileFault::Template(
            "it needs exactly one of key and template".to_owned(),
        )),
    };
    File {
        path: &file.path,
        bytes,
    }
}

fn ran(source: &str, secret: &SecretKeys) -> Result<Concealed, FileFault> {
    let template = Template::parse(source)
        .map_err(|error| FileFault::Template(format!("{}: {}", error.at, error.fault)))?;
    let values = secret.values.iter();
    let data: Data<'_> = values
        .map(|(key, value)| (key.as_str(), value.reveal()))
        .collect();
    match template.run(&data, MOST_BYTES) {
        Ok(bytes) => Ok(bytes.into()),
        Err(error) => {
            let told = format!("{}: {}", error.at, error.fault);
            Err(match error.fault {
                RunFault::KeyMissing => FileFault::TemplateKeyMissing(told),
                _ => FileFault::Template(told),
            })
        }
    }
}
