//! How the volume claim of a workspace's content is called, and which directory of a shared volume is whose.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing test stops where it stands"
)]

use rstest::rstest;
use sandgate_shared::mounts::{ContentClaimName, ContentError, ContentLayout};

#[rstest]
#[case::of_the_workspace("workspace-{workspace}-content", "workspace-shop-content")]
#[case::of_the_namespace("{namespace}", "team-a")]
#[case::of_both("{workspace}.{namespace}", "shop.team-a")]
#[case::the_same_in_each_namespace("content", "content")]
fn a_volume_claim_is_called_after_workspace_and_namespace(#[case] text: &str, #[case] name: &str) {
    let named: ContentClaimName = text.parse().unwrap();
    assert_eq!(named.of("shop", "team-a"), name);
}

#[rstest]
#[case::nothing("")]
#[case::upper_case("Content-{workspace}")]
#[case::another_placeholder("content-{user}")]
#[case::a_path("{workspace}/content")]
fn what_no_volume_claim_can_be_called_is_refused(#[case] text: &str) {
    assert_eq!(
        text.parse::<ContentClaimName>(),
        Err(ContentError::ClaimName)
    );
}

#[rstest]
#[case::the_namespace("{namespace}", "team-a")]
#[case::the_workspace("all/{workspace}", "all/shop")]
#[case::both("{namespace}/{workspace}/content", "team-a/shop/content")]
fn each_workspace_has_a_directory_of_its_own(#[case] text: &str, #[case] path: &str) {
    let layout: ContentLayout = text.parse().unwrap();
    assert_eq!(layout.of("shop", "team-a").unwrap().as_str(), path);
}

#[rstest]
#[case::one_for_all("content")]
#[case::nothing("")]
#[case::absolute("/{namespace}")]
#[case::going_up("../{namespace}")]
#[case::another_placeholder("{namespace}/{id}")]
fn a_layout_that_is_no_path_or_the_same_for_all_is_refused(#[case] text: &str) {
    let refused = text.parse::<ContentLayout>().unwrap_err();
    assert_eq!(refused, ContentError::Layout);
    assert!(
        refused.to_string().contains("such as {namespace}"),
        "{refused}"
    );
}

#[test]
fn what_is_taken_where_nothing_is_said_is_what_the_texts_say() {
    let name: ContentClaimName = "workspace-{workspace}-content".parse().unwrap();
    assert_eq!(name, ContentClaimName::default());
    let layout: ContentLayout = "{namespace}".parse().unwrap();
    assert_eq!(layout, ContentLayout::default());
}
