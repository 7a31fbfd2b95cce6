//! Claims that mount a directory of their workspace, where the operator sees the content.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use sandgate_e2e::pair::Pair;
use sandgate_e2e::scene::manifests::{self, claim_with, with_workspace};
use sandgate_e2e::scene::{Scene, ready};
use sandgate_e2e::{Cluster, Outcome, OwnCluster, Stage};
use serde_json::{Value, json};

use crate::options;

/// A cluster whose operator sees content in a folder of ours.
struct Content {
    scene: Scene,
    own: PathBuf,
    _cluster: OwnCluster,
    _volume: tempfile::TempDir,
}

async fn content() -> Outcome<Content> {
    let volume = tempfile::tempdir()?;
    let mut options = options();
    let path = volume.path().display();
    options.installation.controller_arguments.extend([
        format!("--workspace-content-path={path}"),
        "--workspace-recheck=1s".to_owned(),
    ]);
    let cluster = Cluster::own(options).await?;
    let scene = Scene::on(&cluster, "mounts").await?;
    scene.with_content().await?;
    let own = volume.path().join(scene.name());
    fs::create_dir(&own)?;
    let mut class = with_workspace(manifests::class("box", Stage::Ready));
    class["spec"]["mounts"] = json!([{ "role": "scratch" }, { "role": "project" }]);
    scene.accepts(&class).await?;
    Pair::ours(&cluster).in_force().await?;
    Ok(Content {
        scene,
        own,
        _cluster: cluster,
        _volume: volume,
    })
}

fn project(name: &str, path: &str, must_exist: bool) -> Value {
    let mount = json!({
        "role": "project", "id": "shop", "path": path, "mustExist": must_exist,
    });
    claim_with(name, "box", &json!({ "mounts": [mount] }))
}

fn permissions(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

async fn sub_path(scene: &Scene, claim: &str) -> Outcome<Value> {
    let bound = scene.bound(claim).await?;
    let recorded = bound.status.unwrap().volume_sub_path;
    let deployment = scene.get::<Deployment>(&format!("{claim}-sandbox")).await?;
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let mounted = &container["volumeMounts"][0]["subPath"];
    assert_eq!(json!(recorded), *mounted);
    Ok(mounted.clone())
}

// Proves: M-010, M-011, M-012, M-013, M-014, M-016, M-017, M-020, C-031
#[tokio::test]
async fn a_claim_mounts_the_directory_it_names_or_is_given_and_no_link() -> Outcome {
    let content = content().await?;
    let (scene, own) = (&content.scene, &content.own);
    let operator = scene.operator().await?;
    fs::create_dir_all(own.join("projects/there"))?;
    fs::create_dir_all(own.join("elsewhere/inner"))?;
    symlink("../elsewhere", own.join("projects/link"))?;

    let session = json!({ "mounts": [{ "role": "session" }], "handle": "box/default" });
    let session = claim_with("session", "box", &session);
    operator.accepts(&session).await?;
    let path = "sessions/agent/session-of-session/box/default";
    assert_eq!(sub_path(scene, "session").await?, path);
    assert_eq!(permissions(&own.join(path)), 0o2770);

    operator
        .accepts(&project("there", "projects/there", true))
        .await?;
    assert_eq!(sub_path(scene, "there").await?, "projects/there");
    operator
        .accepts(&project("made", "projects/made/deep", false))
        .await?;
    assert_eq!(sub_path(scene, "made").await?, "projects/made/deep");
    assert_eq!(permissions(&own.join("projects/made/deep")), 0o2770);

    operator
        .accepts(&project("absent", "projects/absent", true))
        .await?;
    let failed = scene.failed("absent", "MountNotFound").await?;
    assert!(ready(&failed).1.contains("projects/absent"));
    assert!(!own.join("projects/absent").exists());
    for (name, path) in [
        ("link", "projects/link"),
        ("through", "projects/link/inner"),
    ] {
        operator.accepts(&project(name, path, false)).await?;
        let failed = scene.failed(name, "InvalidMount").await?;
        let told = ready(&failed).1;
        assert!(
            told.contains("projects/link on the workspace's volume is a symbolic link"),
            "{told}"
        );
    }
    let mut built = scene.names::<Deployment>().await?;
    built.sort();
    assert_eq!(built, ["made-sandbox", "session-sandbox", "there-sandbox"]);
    Ok(())
}

// Proves: M-022, M-023
#[tokio::test]
async fn two_claims_share_a_directory_and_none_mounts_inside_or_around_anothers() -> Outcome {
    let content = content().await?;
    let (scene, own) = (&content.scene, &content.own);
    let operator = scene.operator().await?;
    fs::create_dir_all(own.join("projects/shop/src"))?;
    operator
        .accepts(&project("first", "projects/shop", true))
        .await?;
    scene.bound("first").await?;
    operator
        .accepts(&project("second", "projects/shop", true))
        .await?;
    scene.bound("second").await?;
    for (name, path) in [("inside", "projects/shop/src"), ("around", "projects")] {
        operator.accepts(&project(name, path, true)).await?;
        let failed = scene.failed(name, "InvalidMount").await?;
        let told = ready(&failed).1;
        assert!(
            told.contains("inside, or around, the directory that claim"),
            "{told}"
        );
    }
    Ok(())
}

// Proves: M-021
#[tokio::test]
async fn a_running_claim_whose_directory_becomes_a_link_fails_and_its_pod_goes() -> Outcome {
    let content = content().await?;
    let (scene, own) = (&content.scene, &content.own);
    let operator = scene.operator().await?;
    fs::create_dir_all(own.join("projects/shop"))?;
    fs::create_dir_all(own.join("elsewhere"))?;
    operator
        .accepts(&project("runs", "projects/shop", true))
        .await?;
    scene.bound("runs").await?;
    let pod = scene.names::<Pod>().await?.remove(0);
    fs::remove_dir(own.join("projects/shop"))?;
    symlink("../elsewhere", own.join("projects/shop"))?;
    let failed = scene.failed("runs", "InvalidMount").await?;
    assert_eq!(failed.name_any(), "runs");
    assert_eq!(failed.status.unwrap().addresses, None);
    scene.vanishes::<Deployment>("runs-sandbox").await?;
    scene.vanishes::<Pod>(&pod).await?;
    Ok(())
}
