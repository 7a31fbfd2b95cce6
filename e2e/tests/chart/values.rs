//! The chart's values: what each changes, and that a wrong one is refused by its name.

use rstest::rstest;
use sandgate_e2e::helm::Helm;
use sandgate_e2e::{Failure, Outcome, manifests};
use serde_json::{Value, json};

use crate::rendered::{NAMESPACE, RELEASE, Rendered, helm};

/// The container that `kubectl logs` shows unless told otherwise.
const FIRST_LOOK: &str = "kubectl.kubernetes.io/default-container";

#[tokio::test]
async fn the_chart_passes_helms_own_strict_checks() -> Outcome {
    let chart = Helm::chart().display().to_string();
    helm()
        .await?
        .run(&["lint", "--strict", &chart], None)
        .await?;
    Ok(())
}

#[test]
fn the_chart_is_of_the_version_that_is_built() {
    let text = std::fs::read_to_string(Helm::chart().join("Chart.yaml")).unwrap();
    let chart = manifests::parse(&text).unwrap().remove(0);
    for field in ["version", "appVersion"] {
        assert_eq!(chart[field], env!("CARGO_PKG_VERSION"), "{field}");
    }
}

#[rstest]
#[case::a_name_that_is_none(json!({"replica": 3}), "'replica' not allowed")]
#[case::a_nested_name_that_is_none(json!({"network": {"dns": {"port": 53}}}), "'/network/dns'")]
#[case::no_replica(json!({"replicas": 0}), "'/replicas': minimum: got 0, want 1")]
#[case::a_port_as_text(json!({"network": {"dns": {"ports": ["dns"]}}}), "'/network/dns/ports/0'")]
#[case::no_port(json!({"network": {"dns": {"ports": []}}}), "'/network/dns/ports'")]
#[case::an_address_that_is_none(
    json!({"network": {"dns": {"addresses": ["bad"]}}}),
    "'/network/dns/addresses/0': 'bad'"
)]
#[case::a_label_without_a_value(
    json!({"network": {"dns": {"podLabel": "kube-dns"}}}),
    "'/network/dns/podLabel': 'kube-dns'"
)]
#[case::a_grace_without_a_unit(
    json!({"operator": {"sandboxAPI": {"claimPolicyGrace": "60"}}}),
    "'/operator/sandboxAPI/claimPolicyGrace': '60'"
)]
#[case::an_idle_timeout_without_a_unit(
    json!({"sandbox": {"defaultIdleTimeout": "30"}}),
    "'/sandbox/defaultIdleTimeout': '30'"
)]
#[case::an_idle_timeout_of_nothing(
    json!({"sandbox": {"defaultIdleTimeout": "0h0.0s"}}),
    "'/sandbox/defaultIdleTimeout': '0h0.0s'"
)]
#[case::an_idle_timeout_beyond_all_time(
    json!({"sandbox": {"defaultIdleTimeout": "9999999h"}}),
    "'/sandbox/defaultIdleTimeout': '9999999h'"
)]
#[case::a_mount_role_without_a_path(
    json!({"operator": {"sandboxAPI": {"mountRoles": [{"name": "project"}]}}}),
    "'/operator/sandboxAPI/mountRoles/0'"
)]
#[case::a_mount_role_of_a_built_in_name(
    json!({"operator": {"sandboxAPI": {"mountRoles": [{"name": "session", "path": "s/{id}"}]}}}),
    "'/operator/sandboxAPI/mountRoles/0/name'"
)]
#[case::root(json!({"runAsUser": 0}), "'/runAsUser': minimum: got 0, want 1")]
#[case::a_short_digest(json!({"image": {"digest": "sha256:12"}}), "'/image/digest'")]
#[case::a_label_that_is_no_text(json!({"labels": {"tier": 1}}), "'/labels/tier': got number")]
#[case::a_port_for_root_alone(json!({"webhook": {"port": 443}}), "'/webhook/port': minimum: got 443")]
#[case::one_port_for_two(
    json!({"webhook": {"healthPort": 8082}}),
    "webhook.healthPort and controller.healthPort are ports of one pod"
)]
#[case::the_kubelets_port(
    json!({"hostNetwork": true, "webhook": {"port": 10250}}),
    "where 10250 is the kubelet's"
)]
#[tokio::test]
async fn a_wrong_value_is_refused_by_its_name(
    #[case] values: Value,
    #[case] told: &str,
) -> Outcome {
    let helm = helm().await?;
    match helm.template(RELEASE, NAMESPACE, &values, &[]).await {
        Ok(_) => Err(Failure::saying(format!("{values} was taken"))),
        Err(error) => {
            assert!(error.to_string().contains(told), "{error}");
            Ok(())
        }
    }
}

#[rstest]
#[case::a_digit_first("1gate")]
#[case::a_dot("the.gate")]
#[tokio::test]
async fn a_release_whose_objects_could_not_be_named_after_it_is_refused(
    #[case] release: &str,
) -> Outcome {
    let refused = helm()
        .await?
        .template(release, NAMESPACE, &json!({}), &[])
        .await;
    let told = refused.map(|_| ()).unwrap_err().to_string();
    assert!(told.contains("a letter first"), "{told}");
    Ok(())
}

#[tokio::test]
async fn a_cluster_that_cannot_compile_the_rules_is_refused() -> Outcome {
    let refused = Rendered::seeing(&json!({}), &["--kube-version=1.29.0"]).await;
    let told = refused.map(|_| ()).unwrap_err().to_string();
    assert!(told.contains(">=1.30"), "{told}");
    Ok(())
}

// Proves: X-009
#[rstest]
#[case::a_renderer_that_asks_nobody(&[], true)]
#[case::a_cluster_that_serves_it(
    &["apps/v1/Deployment", "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"],
    true
)]
#[case::a_cluster_that_does_not(&["apps/v1/Deployment"], false)]
#[tokio::test]
async fn the_policy_is_left_out_where_an_api_server_does_not_serve_it(
    #[case] served: &[&str],
    #[case] present: bool,
) -> Outcome {
    let served: Vec<String> = served
        .iter()
        .map(|kind| format!("--api-versions={kind}"))
        .collect();
    let served: Vec<&str> = served.iter().map(String::as_str).collect();
    let rendered = Rendered::seeing(&json!({}), &served).await?;
    for kind in [
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ] {
        assert_eq!(rendered.of(kind).count(), usize::from(present), "{kind}");
    }
    assert_eq!(rendered.of("ValidatingWebhookConfiguration").count(), 1);
    Ok(())
}

#[tokio::test]
async fn every_object_is_labelled_and_named_after_the_release() -> Outcome {
    let values = json!({
        "standalone": true,
        "networkPolicy": {"enabled": true},
        "labels": {"team": "platform", "app.kubernetes.io/instance": "somebody-else"},
    });
    let rendered = Rendered::with(&values).await?;
    for object in &rendered.0 {
        let name = object["metadata"]["name"].as_str().unwrap();
        let labels = &object["metadata"]["labels"];
        for (label, value) in [
            ("app.kubernetes.io/name", "sandgate"),
            ("app.kubernetes.io/instance", RELEASE),
            ("app.kubernetes.io/managed-by", "Helm"),
            ("app.kubernetes.io/version", env!("CARGO_PKG_VERSION")),
            ("team", "platform"),
        ] {
            assert_eq!(labels[label], value, "{name} {label}");
        }
        for label in ["app.kubernetes.io/component", "helm.sh/chart"] {
            assert!(labels[label].is_string(), "{name} {label}");
        }
        if object["kind"] != "CustomResourceDefinition" {
            assert!(
                name.trim_start_matches("zz-").starts_with(RELEASE),
                "{name}"
            );
        }
        if let Some(namespace) = object["metadata"]["namespace"].as_str() {
            assert_eq!(namespace, NAMESPACE, "{name}");
        }
    }
    let pod = &rendered.pod()?["metadata"]["labels"];
    assert_eq!(pod["app.kubernetes.io/component"], "operator");
    assert_eq!(pod["app.kubernetes.io/instance"], RELEASE);
    assert_eq!(pod["team"], "platform");
    // What a Deployment selects by may never change, and a chart's version does.
    assert!(pod["helm.sh/chart"].is_null());
    Ok(())
}

#[tokio::test]
async fn the_image_is_one_of_both_and_a_digest_goes_before_a_tag() -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    let digest = format!("sha256:{}", "0a".repeat(32));
    for (image, wanted) in [
        (json!({}), format!("sandgate.local/sandgate:{version}")),
        (
            json!({"repository": "registry.example/gate", "tag": "2"}),
            "registry.example/gate:2".to_owned(),
        ),
        (
            json!({"tag": "2", "digest": digest}),
            format!("sandgate.local/sandgate@{digest}"),
        ),
    ] {
        let rendered = Rendered::with(&json!({"image": image})).await?;
        for name in ["controller", "webhook"] {
            assert_eq!(rendered.container(name)?["image"], wanted);
        }
    }
    Ok(())
}

#[tokio::test]
async fn where_the_pods_run_is_up_to_the_values() -> Outcome {
    let affinity = json!({"podAffinity": {}});
    let toleration = json!({"key": "infra", "operator": "Exists"});
    let values = json!({
        "affinity": affinity,
        "imagePullSecrets": [{"name": "registry"}],
        "nodeSelector": {"pool": "infra"},
        "podAnnotations": {"example.com/scrape": "true"},
        "priorityClassName": "system-cluster-critical",
        "replicas": 3,
        "tolerations": [toleration],
    });
    let rendered = Rendered::with(&values).await?;
    let spec = &rendered.pod()?["spec"];
    assert_eq!(rendered.one("Deployment", RELEASE)?["spec"]["replicas"], 3);
    assert_eq!(spec["affinity"], affinity);
    assert_eq!(spec["imagePullSecrets"], json!([{"name": "registry"}]));
    let selector = json!({"kubernetes.io/os": "linux", "pool": "infra"});
    assert_eq!(spec["nodeSelector"], selector);
    assert_eq!(spec["priorityClassName"], "system-cluster-critical");
    assert_eq!(spec["tolerations"], json!([toleration]));
    let annotations = &rendered.pod()?["metadata"]["annotations"];
    assert_eq!(annotations["example.com/scrape"], "true");
    assert_eq!(annotations[FIRST_LOOK], "controller");
    Ok(())
}

#[tokio::test]
async fn an_annotation_that_the_chart_has_itself_is_written_once_as_the_values_say() -> Outcome {
    let values = json!({"podAnnotations": {FIRST_LOOK: "webhook"}});
    let chart = Helm::chart().display().to_string();
    let text = helm()
        .await?
        .run(&["template", RELEASE, &chart], Some(&values))
        .await?;
    assert_eq!(text.matches(FIRST_LOOK).count(), 1, "{text}");
    assert!(text.contains(&format!("{FIRST_LOOK}: webhook")), "{text}");
    Ok(())
}

// Words that YAML takes for a number, a truth or nothing where they have no quotes.
#[rstest]
#[case::a_number("gate", "123", "0123")]
#[case::a_number_with_an_exponent("gate", "1e3", "1e3")]
#[case::a_truth("true", "on", "yes")]
#[case::nothing("null", "null", "null")]
#[tokio::test]
async fn a_name_that_yaml_takes_for_something_else_stays_a_text(
    #[case] release: &str,
    #[case] namespace: &str,
    #[case] priority: &str,
) -> Outcome {
    let values = json!({
        "standalone": true,
        "networkPolicy": {"enabled": true},
        "priorityClassName": priority,
    });
    let objects = helm()
        .await?
        .template(release, namespace, &values, &[])
        .await?;
    let mut namespaces = 0;
    for object in &objects {
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str();
        assert!(name.is_some(), "{metadata}");
        let labels = &metadata["labels"];
        assert_eq!(labels["app.kubernetes.io/instance"], release, "{metadata}");
        for given in [&metadata["namespace"], &object["subjects"][0]["namespace"]] {
            if !given.is_null() {
                assert_eq!(*given, namespace, "{metadata}");
                namespaces += 1;
            }
        }
        if object["kind"] == "Deployment" {
            assert_eq!(object["metadata"]["name"], release);
            let selector = &object["spec"]["selector"]["matchLabels"];
            assert_eq!(selector["app.kubernetes.io/instance"], release);
            assert_eq!(
                object["spec"]["template"]["spec"]["priorityClassName"],
                priority
            );
        }
    }
    assert!(namespaces > 6, "{namespaces}");
    Ok(())
}

#[tokio::test]
async fn the_operators_own_policy_lets_in_api_servers_and_those_who_read_metrics() -> Outcome {
    let none = Rendered::with(&json!({})).await?;
    assert_eq!(none.of("NetworkPolicy").count(), 0);
    let readers = json!([{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}]);
    let values = json!({"networkPolicy": {"enabled": true, "metricsFrom": readers}});
    let rendered = Rendered::with(&values).await?;
    let policy = &rendered.one("NetworkPolicy", RELEASE)?["spec"];
    assert_eq!(policy["policyTypes"], json!(["Ingress"]));
    assert_eq!(
        policy["ingress"],
        json!([
            {"ports": [{"port": 9443}]},
            {"from": readers, "ports": [{"port": 8081}, {"port": 8082}]},
        ])
    );
    let deployment = rendered.one("Deployment", RELEASE)?;
    assert_eq!(policy["podSelector"], deployment["spec"]["selector"]);
    Ok(())
}
