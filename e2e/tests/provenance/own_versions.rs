//! A claim's whole way on API servers older than the one everything is developed on.

mod slow {
    use rstest::rstest;
    use sandgate_e2e::audit::{self, Request};
    use sandgate_e2e::binaries::Version;
    use sandgate_e2e::pair::{Pair, is_verified};
    use sandgate_e2e::scene::Scene;
    use sandgate_e2e::scene::manifests::{self, claim_with};
    use sandgate_e2e::{Cluster, Outcome, Stage};
    use serde_json::json;

    use crate::options;

    // Proves: P-015, P-016
    #[rstest]
    #[case::v1_33(Version::V1_33)]
    #[case::v1_30(Version::V1_30)]
    #[tokio::test]
    async fn slow_on_an_older_api_server_claims_are_judged_verified_and_bound(
        #[case] version: Version,
    ) -> Outcome {
        let mut options = options();
        options.control_plane.version = version;
        let cluster = Cluster::own(options).await?;
        let served = cluster.client().apiserver_version().await?;
        assert_eq!(served.minor, version.minor());
        let scene = Scene::on(&cluster, "older").await?;
        scene.with_content().await?;
        let class = manifests::with_workspace(manifests::class("plain", Stage::Ready));
        scene.claims_class("plain", &class).await?;
        scene.bound("plain").await?;

        let reserved = json!({ "targetPath": "projects/shop" });
        let theirs = claim_with("theirs", "plain", &reserved);
        let refused = scene.user().rejects(&theirs).await?;
        assert_eq!(refused.code, 403, "{refused:?}");
        Pair::ours(&cluster).in_force().await?;
        let operator = scene.operator().await?;
        operator
            .accepts(&claim_with("ours", "plain", &reserved))
            .await?;
        assert!(is_verified(&scene.bound("ours").await?));

        // What this API server does not know of our objects is not asked of it again and again.
        scene
            .user()
            .accepts(&manifests::claim("next", "plain"))
            .await?;
        scene.bound("next").await?;
        let asked = audit::of_controller(&scene).await?;
        audit::assert_nothing_was_forbidden(&asked);
        let of_claims = |it: &Request| it.resource().starts_with("sandboxclaims");
        let is_change = |it: &Request| ["patch", "update"].contains(&it.verb());
        let rewritten = asked.iter().filter(|it| is_change(it) && !of_claims(it));
        let rewritten: Vec<String> = rewritten.map(Request::sentence).collect();
        assert_eq!(rewritten, [""; 0]);
        Ok(())
    }
}
