//! What stands in a namespace before anything is done in it: runtimes, classes and a Connection. Does I/O.

use kube::api::PostParams;
use serde_json::{Value, json};

use super::hands::{api, patch_it};
use crate::chaos::deeds::{CLASSES, Credential, KEPT, RUNTIMES, WIRED};
use crate::chaos::history::Kind;
use crate::failure::Outcome;
use crate::fake_node::Stage;
use crate::scene::{Scene, manifests};

/// The role of the class [`WIRED`].
pub const ROLE: &str = "vcs";
/// The one Connection of each namespace.
pub const CONNECTION: &str = "github";
/// Its Secret.
const SECRET: &str = "github-secret";
/// Its one value.
pub const CANARY: &str = "canary-of-a-secret";

/// Puts all of it there.
pub async fn furnish(scene: &Scene) -> Outcome {
    scene.with_content().await?;
    for credential in [Credential::Connection, Credential::Secret] {
        give(scene, credential).await?;
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

impl Credential {
    /// What it is.
    pub fn kind(self) -> Kind {
        match self {
            Self::Connection => Kind::Connection,
            Self::Secret => Kind::Secret,
        }
    }

    /// How it is called in every namespace.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connection => CONNECTION,
            Self::Secret => SECRET,
        }
    }
}

/// Makes it, unless it is there.
pub async fn give(scene: &Scene, what: Credential) -> Outcome {
    let placement = json!({
        "env": [{ "name": "GH_TOKEN", "key": "token" }],
        "files": [{ "path": ".token", "template": "token: {{ .token }}\n" }],
    });
    let manifest = match what {
        Credential::Connection => manifests::connection(CONNECTION, &placement),
        Credential::Secret => manifests::secret(CONNECTION, CANARY),
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
                "connections": [{ "role": ROLE }],
            });
            manifests::class_with(name, stage, &fields)
        }
        _ => manifests::class(name, stage),
    }
}
