//! Which names become part of a URL.

use rstest::rstest;

use super::*;
use crate::api_server::fake::Fake;

// Proves: C-003
#[rstest]
#[case::a_query("python?x=y")]
#[case::a_watch_that_never_ends("?watch=true")]
#[case::a_fragment("python#x")]
#[case::a_subresource("python/status")]
#[case::another_collection("../../other/sandboxclasses/python")]
#[case::a_dot_segment("..")]
#[case::an_escape("pytho%6e")]
#[case::a_space("py thon")]
#[case::a_line_break("python\n")]
#[case::not_ascii("pythön")]
#[case::upper_case("Python")]
#[case::a_dash_at_an_end("a.-python")]
#[case::nothing("")]
#[tokio::test]
async fn a_name_that_no_object_can_bear_names_no_object_and_is_never_asked_for(#[case] name: &str) {
    let fake = Fake::default();
    fake.put(
        Kind::SandboxClass,
        serde_json::json!({"metadata": {"namespace": "ns", "name": "python"}}),
    );
    let (api, _) = fake.connect();
    let place = Place::namespaced(Kind::SandboxClass, "ns", name);
    assert!(api.get(place).await.unwrap().is_none());
    assert!(fake.log().is_empty());
}

#[rstest]
#[case("python")]
#[case("7.python-3.13")]
#[tokio::test]
async fn a_name_that_an_object_can_bear_is_asked_for(#[case] name: &str) {
    let fake = Fake::default();
    fake.put(
        Kind::SandboxClass,
        serde_json::json!({"metadata": {"namespace": "ns", "name": name}}),
    );
    let (api, _) = fake.connect();
    let place = Place::namespaced(Kind::SandboxClass, "ns", name);
    assert!(api.get(place).await.unwrap().is_some());
}
