//! What an API server makes of policy and binding, and of every edit of them.

use kube::Api;
use kube::api::{DynamicObject, PostParams};
use sandgate_e2e::binaries::Version;
use sandgate_e2e::{Cluster, Outcome, OwnCluster, manifests as applied};
use sandgate_shared::render::{Installation as Names, admission_policy};
use sandgate_shared::trust::edits::every_edit;
use sandgate_shared::trust::{Distrust, Expected};
use serde_json::Value;

use crate::options;

/// What an API server would store of a manifest, its defaults filled in; nothing if it takes no such
/// object.
async fn as_stored(cluster: &OwnCluster, manifest: &Value) -> Outcome<Option<Value>> {
    let resource = applied::resource_of(manifest)?;
    let objects: Api<DynamicObject> = Api::all_with(cluster.client(), &resource);
    let how = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let object = serde_json::from_value(manifest.clone())?;
    match objects.create(&how, &object).await {
        Ok(stored) => Ok(Some(serde_json::to_value(stored)?)),
        Err(kube::Error::Api(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Examines the pair and every edit of it as an API server of this version stores them.
async fn examine_all(version: Version) -> Outcome {
    let mut nothing = options();
    nothing.control_plane.version = version;
    nothing.installation.layers.policy = false;
    nothing.installation.layers.webhook = false;
    nothing.installation.start = false;
    let cluster = Cluster::own(nothing).await?;
    let served = cluster.client().apiserver_version().await?;
    assert_eq!(served.minor, version.minor());
    let expected = Expected::of(&Names::default());
    let rendered = admission_policy(&Names::default());
    let [mut policy, mut binding] = [Value::Null, Value::Null];
    for (stored, manifest) in [(&mut policy, &rendered[0]), (&mut binding, &rendered[1])] {
        *stored = as_stored(&cluster, manifest).await?.unwrap();
    }
    let stood = expected.examine(Some(&policy), Some(&binding));
    assert!(stood.is_ok(), "{stood:?}");

    let mut taken = [0, 0];
    let mut untold = Vec::new();
    for which in [0, 1] {
        // Edits of what was rendered and of what the API server fills in.
        for edit in every_edit([&policy, &binding][which]) {
            let mut manifest = edit.object;
            let metadata = manifest["metadata"].as_object_mut().unwrap();
            metadata.retain(|field, _| ["name", "labels"].contains(&field.as_str()));
            let Some(stored) = as_stored(&cluster, &manifest).await? else {
                continue;
            };
            // Without a field that the API server fills in, the object is the same.
            if stored["spec"] == [&policy, &binding][which]["spec"] {
                continue;
            }
            taken[which] += 1;
            let examined = match which {
                0 => expected.examine(Some(&stored), Some(&binding)),
                _ => expected.examine(Some(&policy), Some(&stored)),
            };
            if !matches!(examined, Err(Distrust::Differs { .. })) {
                untold.push(edit.name);
            }
        }
    }
    assert_eq!(untold, Vec::<String>::new());
    // Most edits make a policy that an API server takes; of a binding's few, some do.
    assert!(taken[0] >= 60 && taken[1] >= 2, "{taken:?}");
    Ok(())
}

// Proves: P-006, P-007, P-008, P-009, P-010, P-011
#[tokio::test]
async fn the_unedited_pair_is_trusted_and_every_edit_that_an_api_server_takes_is_not() -> Outcome {
    examine_all(Version::default()).await
}

mod slow {
    use rstest::rstest;
    use sandgate_e2e::Outcome;
    use sandgate_e2e::binaries::Version;

    use super::examine_all;

    // Proves: P-006, P-007, P-008, P-009, P-010, P-011
    #[rstest]
    #[case::v1_33(Version::V1_33)]
    #[case::v1_30(Version::V1_30)]
    #[tokio::test]
    async fn slow_an_older_api_server_stores_the_pair_and_its_edits_as_we_expect(
        #[case] version: Version,
    ) -> Outcome {
        examine_all(version).await
    }
}
