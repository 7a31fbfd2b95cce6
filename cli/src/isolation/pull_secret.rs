//! The Secret that the probe's image is pulled by, where its registry asks for one. Does I/O.

use std::str::FromStr;

use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::Api;
use kube::api::{ObjectMeta, Patch, PatchParams};
use serde_json::json;

use super::stage::Stage;
use super::trouble::Trouble;

/// What its copies in a run's namespaces are called.
const COPY: &str = "sandgate-isolation-pull";
/// The types of Secret that a kubelet pulls by.
const TYPES: [&str; 2] = ["kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg"];

/// Where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullSecret {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl FromStr for PullSecret {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            Some((namespace, name))
                if !namespace.is_empty() && !name.is_empty() && !name.contains('/') =>
            {
                Ok(Self {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                })
            }
            _ => Err("write NAMESPACE/NAME of a Secret".to_owned()),
        }
    }
}

impl PullSecret {
    /// Copies it into the run's namespaces, and lets every pod there pull by it that names no
    /// ServiceAccount of its own: ours, and the sandboxes.
    pub async fn give_to(&self, stage: &Stage) -> Result<(), Trouble> {
        let copy = self.copy(stage).await?;
        for namespace in stage.namespaces() {
            stage.make(namespace, &copy).await?;
            let accounts: Api<ServiceAccount> = stage.api(namespace);
            let pulls = Patch::Strategic(json!({ "imagePullSecrets": [{ "name": COPY }] }));
            let how = PatchParams::default();
            let patched = accounts.patch("default", &how, &pulls).await;
            patched.map_err(|error| {
                Trouble::of(format!("edit ServiceAccount default of {namespace}"), error)
            })?;
        }
        Ok(())
    }

    async fn copy(&self, stage: &Stage) -> Result<Secret, Trouble> {
        let unfit = |why: &str| Trouble::PullSecret {
            secret: format!("{}/{}", self.namespace, self.name),
            why: why.to_owned(),
        };
        let secrets: Api<Secret> = stage.api(&self.namespace);
        let found = secrets.get_opt(&self.name).await;
        let found = found.map_err(|error| Trouble::of("read the Secret to pull by", error))?;
        let found = found.ok_or_else(|| unfit("it does not exist"))?;
        if !found.type_.as_deref().is_some_and(|it| TYPES.contains(&it)) {
            return Err(unfit("its type is none that a registry's credentials have"));
        }
        Ok(Secret {
            metadata: ObjectMeta {
                name: Some(COPY.to_owned()),
                ..ObjectMeta::default()
            },
            data: found.data,
            type_: found.type_,
            ..Secret::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn it_is_named_with_its_namespace() {
        let read: PullSecret = "team/registry".parse().unwrap();
        assert_eq!((&*read.namespace, &*read.name), ("team", "registry"));
    }

    #[rstest]
    #[case("registry")]
    #[case("/registry")]
    #[case("team/")]
    #[case("a/b/c")]
    fn what_names_none_is_told_how_to_be_written(#[case] text: &str) {
        let error = text.parse::<PullSecret>().unwrap_err();
        assert_eq!(error, "write NAMESPACE/NAME of a Secret");
    }
}
