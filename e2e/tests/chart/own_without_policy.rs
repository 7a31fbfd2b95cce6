//! A cluster whose API server knows no ValidatingAdmissionPolicy.

use sandgate_e2e::Outcome;
use sandgate_e2e::control_plane::Options;
use serde_json::json;

use crate::own_life::Site;

// Proves: X-009
#[tokio::test]
async fn the_chart_installs_without_the_policy_and_says_so() -> Outcome {
    let site = Site::start(&Options {
        policy_api: false,
        ..Options::default()
    })
    .await?;
    let told = site.install(&json!({"standalone": true})).await?;
    let warning = "does not serve ValidatingAdmissionPolicy";
    assert!(told.contains(warning), "{told}");
    assert_eq!(site.ready_pods().await?, 2);
    Ok(())
}
