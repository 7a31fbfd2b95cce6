//! What stands in a namespace before anything is done in it: runtimes, classes and Connections. Does I/O.

use kube::Api;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use super::hands::{api, client, patch_it};
use crate::chaos::deeds::{CLASSES, KEPT, RUNTIMES, Source, WIRED};
use crate::chaos::history::Kind;
use crate::failure::Outcome;
use crate::fake_node::Stage;
use crate::scene::{Scene, manifests};

/// The Connection with a credential, and its role in the class [`WIRED`].
pub const FORGE: &str = "github";
/// Its Secret.
pub const TOKEN: &str = "github-secret";
/// The Connection without one, and its role.
pub const SITE: &str = "site";
/// The one value of the Secret.
pub const CANARY: &str = "canary-of-a-secret";

/// Puts all of it there.
pub async fn furnish(scene: &Scene) -> Outcome {
    scene.with_content().await?;
    for source in [Source::Forge, Source::Token, Source::Site] {
        give(scene, source).await?;
    }
    for runtime in RUNTIMES.iter().filter(|it| **it != manifests::RUNTIME) {
        scene.accepts(&manifests::runtime(runtime)).await?;
    }
    let ceilings = json!({ "spec": { "sandbox": {
        "maxConcurrent": 3,
        "maxPerSession": 2,
    } } });
    for runtime in RUNTIMES {
        patch_it(&api(scene, Kind::Runtime), runtime, &ceilings).await?;
    }
    for (class, stage) in CLASSES {
        scene.accepts(&class_of(class, stage)).await?;
    }
    Ok(())
}

impl Source {
    /// What it is.
    pub fn kind(self) -> Kind {
        match self {
            Self::Forge | Self::Site => Kind::Connection,
            Self::Token => Kind::Secret,
        }
    }

    /// How it is called in every namespace.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forge => FORGE,
            Self::Token => TOKEN,
            Self::Site => SITE,
        }
    }
}

/// Makes it, unless it is there.
pub async fn give(scene: &Scene, what: Source) -> Outcome {
    let placement = json!({
        "env": [{ "name": "GH_TOKEN", "key": "token" }],
        "files": [{ "path": ".token", "template": "token: {{ .token }}\n" }],
    });
    let manifest = match what {
        Source::Forge => manifests::connection(FORGE, &placement),
        Source::Token => manifests::secret(FORGE, CANARY),
        Source::Site => manifests::hosts(SITE, &["*.example.com"]),
    };
    let object = serde_json::from_value(manifest)?;
    match api(scene, what.kind())
        .create(&PostParams::default(), &object)
        .await
    {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        made => Ok(made.map(drop)?),
    }
}

fn class_of(name: &str, stage: Stage) -> Value {
    match name {
        KEPT => manifests::with_workspace(manifests::class(name, stage)),
        WIRED => {
            let fields = json!({
                "env": [{ "name": "HOME", "value": "/home/agent" }],
                "connections": [{ "role": FORGE }, { "role": SITE }],
            });
            manifests::class_with(name, stage, &fields)
        }
        _ => manifests::class(name, stage),
    }
}

/// Has a class say something else from now on.
pub async fn edit(scene: &Scene, class: &str, value: u32) -> Outcome {
    let patch = json!({ "spec": { "env": [
        { "name": "HOME", "value": "/home/agent" },
        { "name": "EDITED", "value": value.to_string() },
    ] } });
    let classes = json!({
        "apiVersion": manifests::API,
        "kind": "SandboxClass",
    });
    let resource = crate::manifests::resource_of(&classes)?;
    let api: Api<DynamicObject> = Api::namespaced_with(client(scene), scene.name(), &resource);
    patch_it(&api, class, &patch).await
}
