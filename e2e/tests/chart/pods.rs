//! The pods of a release: who holds a token, what each container may do, and that its command line is
//! one its binary takes.

use std::time::Duration;

use clap::Parser as _;
use rstest::rstest;
use sandgate_controller::claim::plan::ContentSettings;
use sandgate_controller::flags::Flags;
use sandgate_e2e::Outcome;
use sandgate_shared::mounts::{MountRoles, WorkspaceRole};
use sandgate_shared::render::Installation;
use sandgate_webhook::options::Options;
use serde_json::{Value, json};

use crate::rendered::{ACCOUNT, NAMESPACE, RELEASE, Rendered, installation};

const CONTAINERS: [&str; 2] = ["controller", "webhook"];

/// The controller's flags, its name being a variable that the kubelet sets.
fn controller(rendered: &Rendered) -> Outcome<Flags> {
    let mut line = rendered.command_line("controller")?;
    line.push("--identity=gate-0".to_owned());
    Ok(Flags::try_parse_from(line)?)
}

fn webhook(rendered: &Rendered) -> Outcome<Options> {
    Ok(Options::try_parse_from(rendered.command_line("webhook")?)?)
}

/// The mounts of a container, by path.
fn mounts(container: &Value) -> Vec<(&str, &str)> {
    let mounts = container["volumeMounts"].as_array().into_iter().flatten();
    mounts
        .map(|mount| {
            (
                mount["mountPath"].as_str().unwrap(),
                mount["name"].as_str().unwrap(),
            )
        })
        .collect()
}

// Proves: X-003
#[tokio::test]
async fn only_the_controller_holds_a_token_and_nothing_else_runs_as_it() -> Outcome {
    let rendered = Rendered::with(&json!({"standalone": true})).await?;
    let spec = &rendered.pod()?["spec"];
    assert_eq!(spec["serviceAccountName"], ACCOUNT);
    assert_eq!(spec["automountServiceAccountToken"], false);
    let workloads = rendered
        .0
        .iter()
        .filter(|object| object.to_string().contains("serviceAccountName"));
    assert_eq!(workloads.count(), 1);
    for account in rendered.of("ServiceAccount") {
        assert_eq!(account["automountServiceAccountToken"], false);
    }

    let volumes = spec["volumes"].as_array().unwrap();
    let holds_token = |volume: &&Value| volume.to_string().contains("serviceAccountToken");
    let tokens: Vec<_> = volumes.iter().filter(holds_token).collect();
    assert_eq!(tokens.len(), 1);
    let token = tokens[0]["name"].as_str().unwrap();
    assert_eq!(
        mounts(rendered.container("controller")?),
        [
            ("/tls", "tls"),
            ("/var/run/secrets/kubernetes.io/serviceaccount", token)
        ]
    );
    assert_eq!(mounts(rendered.container("webhook")?), [("/tls", "tls")]);
    Ok(())
}

#[tokio::test]
async fn the_certificate_lies_in_memory_and_the_webhook_only_reads_it() -> Outcome {
    let rendered = Rendered::with(&json!({})).await?;
    let volumes = rendered.pod()?["spec"]["volumes"].as_array().unwrap();
    let tls = volumes
        .iter()
        .find(|volume| volume["name"] == "tls")
        .unwrap();
    assert_eq!(tls["emptyDir"]["medium"], "Memory");
    assert!(tls["emptyDir"]["sizeLimit"].is_string());
    let mount = |container: &str| -> Outcome<Value> {
        Ok(rendered.container(container)?["volumeMounts"][0].clone())
    };
    assert_eq!(mount("webhook")?["readOnly"], true);
    assert!(mount("controller")?["readOnly"].is_null());
    let folders = [controller(&rendered)?.tls_dir, webhook(&rendered)?.tls_dir];
    assert_eq!(folders.map(|path| path.display().to_string()), ["/tls"; 2]);
    Ok(())
}

#[tokio::test]
async fn both_containers_are_restricted_bounded_and_of_one_user() -> Outcome {
    let rendered = Rendered::with(&json!({})).await?;
    let pod = &rendered.pod()?["spec"]["securityContext"];
    assert_eq!(pod["runAsNonRoot"], true);
    assert_eq!(pod["runAsUser"], 65532);
    assert_eq!(pod["seccompProfile"]["type"], "RuntimeDefault");
    for name in CONTAINERS {
        let container = rendered.container(name)?;
        assert_eq!(
            container["securityContext"],
            json!({
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            })
        );
        for bound in ["requests", "limits"] {
            for resource in ["cpu", "memory"] {
                let amount = &container["resources"][bound][resource];
                assert!(amount.is_string(), "{name} {bound} {resource}");
            }
        }
    }

    let rendered = Rendered::with(&json!({"runAsUser": null})).await?;
    let pod = &rendered.pod()?["spec"]["securityContext"];
    assert!(pod["runAsUser"].is_null() && pod["runAsGroup"].is_null());
    assert_eq!(pod["runAsNonRoot"], true);
    Ok(())
}

#[tokio::test]
async fn both_processes_are_told_who_and_where_they_are() -> Outcome {
    for pod_bound in [true, false] {
        let values = json!({"requirePodBoundToken": pod_bound});
        let rendered = Rendered::with(&values).await?;
        let flags = controller(&rendered)?;
        assert_eq!(flags.release, RELEASE);
        assert_eq!(flags.namespace, NAMESPACE);
        assert_eq!(flags.service_account, ACCOUNT);
        let options = webhook(&rendered)?;
        let operator = Installation {
            require_pod_bound_token: pod_bound,
            ..installation()
        }
        .identity();
        assert_eq!(flags.operator_username(), operator.username);
        assert_eq!(options.operator_username, operator.username);
        assert_eq!(flags.require_pod_bound_token, pod_bound);
        assert_eq!(options.require_pod_bound_token, pod_bound);

        let identity = &rendered.container("controller")?["env"][0];
        assert_eq!(identity["name"], "POD_NAME");
        let of_the_pod = &identity["valueFrom"]["fieldRef"]["fieldPath"];
        assert_eq!(of_the_pod, "metadata.name");
    }
    Ok(())
}

// Proves: X-015
#[tokio::test]
async fn the_network_reaches_the_controller_as_the_values_say() -> Outcome {
    let plain = controller(&Rendered::with(&json!({})).await?)?.settings();
    assert_eq!(plain.cluster_domain, "cluster.local");
    assert_eq!(
        plain.runtime_pod_label,
        "omnia.altairalabs.ai/agent-runtime"
    );
    assert_eq!(plain.dns.namespace, "kube-system");
    assert_eq!(plain.dns.pod_labels["k8s-app"], "kube-dns");
    assert!(plain.dns.ports.iter().eq(&[53]) && plain.dns.addresses.is_empty());
    assert!(!plain.judges_before_translation);

    let values = json!({
        "network": {
            "clusterDomain": "corp.example",
            "dns": {
                "namespace": "openshift-dns",
                "podLabel": "dns.operator.openshift.io/daemonset-dns=default",
                "ports": [5353, 53],
                "addresses": ["169.254.20.10", "fd00:10::/120"],
            },
            "judgesBeforeTranslation": true,
        },
        "sandbox": {"runtimePodLabel": "example.com/runtime"},
    });
    let special = controller(&Rendered::with(&values).await?)?.settings();
    assert_eq!(special.cluster_domain, "corp.example");
    assert_eq!(special.runtime_pod_label, "example.com/runtime");
    assert_eq!(special.dns.namespace, "openshift-dns");
    let label = "dns.operator.openshift.io/daemonset-dns";
    assert_eq!(special.dns.pod_labels[label], "default");
    assert!(special.dns.ports.iter().eq(&[53, 5353]));
    let addresses: Vec<_> = special
        .dns
        .addresses
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(addresses, ["169.254.20.10/32", "fd00:10::/120"]);
    assert!(special.judges_before_translation);
    Ok(())
}

#[tokio::test]
async fn the_grace_of_the_admission_policy_reaches_the_controller() -> Outcome {
    let grace = |rendered: &Rendered| {
        let settings = controller(rendered)?.settings();
        Outcome::Ok(settings.claim_policy_grace)
    };
    let minute = grace(&Rendered::with(&json!({})).await?)?;
    assert_eq!(minute, Duration::from_mins(1));
    let values = json!({"operator": {"sandboxAPI": {"claimPolicyGrace": "90s"}}});
    let longer = grace(&Rendered::with(&values).await?)?;
    assert_eq!(longer, Duration::from_secs(90));
    Ok(())
}

#[tokio::test]
async fn the_idle_timeout_of_runtimes_that_set_none_reaches_the_controller() -> Outcome {
    let timeout = |rendered: &Rendered| {
        let settings = controller(rendered)?.settings();
        Outcome::Ok(settings.default_idle_timeout)
    };
    let usual = timeout(&Rendered::with(&json!({})).await?)?;
    assert_eq!(usual, Duration::from_mins(30));
    // Whatever the values' schema admits, the controller takes: from the shortest to the longest.
    for (text, expected) in [
        ("1h30m", Duration::from_mins(90)),
        ("0h0.001ms", Duration::from_micros(1)),
        (
            "99999h99999h99999h99999h99999.9h",
            Duration::from_mins(99_999 * 5 * 60 + 54),
        ),
    ] {
        let values = json!({"sandbox": {"defaultIdleTimeout": text}});
        assert_eq!(timeout(&Rendered::with(&values).await?)?, expected);
    }
    Ok(())
}

/// Name, path, whether the directory has to exist, and who may have it, of each role.
fn described(roles: &MountRoles) -> Vec<(&str, &str, bool, WorkspaceRole)> {
    let roles = roles.iter();
    roles
        .map(|role| {
            (
                role.name.as_str(),
                role.path.as_str(),
                role.must_exist,
                role.min_role,
            )
        })
        .collect()
}

// Proves: M-009
#[tokio::test]
async fn one_mount_role_is_configured_for_projects_by_default() -> Outcome {
    let rendered = Rendered::with(&json!({})).await?;
    let roles = controller(&rendered)?.sandbox_mount_roles;
    let path = "arena/workspaces/{id}/{user}";
    assert_eq!(
        described(&roles),
        [("project", path, true, WorkspaceRole::Editor)]
    );
    Ok(())
}

#[tokio::test]
async fn the_mount_roles_of_the_values_reach_the_controller_as_they_are_written() -> Outcome {
    let path = r#"notes & "more"/$(POD_NAME)/{id}"#;
    let roles = json!([{"name": "notes", "path": path, "mustExist": false, "minRole": "viewer"}]);
    let values = json!({"operator": {"sandboxAPI": {"mountRoles": roles}}});
    let rendered = Rendered::with(&values).await?;
    let line = rendered.command_line("controller")?;
    let argument = line
        .iter()
        .find_map(|word| word.strip_prefix("--sandbox-mount-roles="));
    // A kubelet makes one sign of two, and a variable of what follows a single one.
    let roles: MountRoles = argument.unwrap().replace("$$", "$").parse()?;
    assert!(argument.unwrap().contains("$$(POD_NAME)"));
    assert_eq!(
        described(&roles),
        [("notes", path, false, WorkspaceRole::Viewer)]
    );
    Ok(())
}

// Proves: X-006
#[tokio::test]
async fn the_content_of_workspaces_is_mounted_by_the_controller_alone_where_the_values_name_it()
-> Outcome {
    let rendered = Rendered::with(&json!({})).await?;
    let content = controller(&rendered)?.content;
    assert!(content.root().is_none());
    assert_eq!(content.settings(), ContentSettings::default());
    let volumes = &rendered.pod()?["spec"]["volumes"];
    assert!(!volumes.to_string().contains("workspace-content"));

    let values = json!({"workspaceContent": {
        "existingClaim": "shared", "path": "/content", "layout": "all/{workspace}",
        "claimName": "content-{namespace}", "provision": false, "recheck": "5s",
    }});
    let rendered = Rendered::with(&values).await?;
    let content = controller(&rendered)?.content;
    let root = content.root().unwrap();
    assert_eq!(root.path.to_str(), Some("/content"));
    assert_eq!(root.layout.of("shop", "team").unwrap().as_str(), "all/shop");
    let settings = content.settings();
    assert_eq!(settings.claim_name.of("shop", "team"), "content-team");
    assert!(settings.reachable && !settings.provision);
    assert_eq!(settings.recheck, Duration::from_secs(5));
    let volume = json!({
        "name": "workspace-content", "persistentVolumeClaim": {"claimName": "shared"},
    });
    let volumes = rendered.pod()?["spec"]["volumes"].as_array().unwrap();
    assert!(volumes.contains(&volume), "{volumes:?}");
    let mount = ("/content", "workspace-content");
    assert!(mounts(rendered.container("controller")?).contains(&mount));
    assert!(!mounts(rendered.container("webhook")?).contains(&mount));
    Ok(())
}

/// The number of a container's port of this name.
fn port(container: &Value, name: &Value) -> u64 {
    let mut ports = container["ports"].as_array().into_iter().flatten();
    let port = ports.find(|port| port["name"] == *name);
    port.and_then(|port| port["containerPort"].as_u64())
        .unwrap()
}

#[rstest]
#[case::by_default(json!({}), [9443, 8081, 8082])]
#[case::of_the_values(
    json!({"webhook": {"port": 10250, "healthPort": 10251}, "controller": {"healthPort": 10252}}),
    [10250, 10251, 10252]
)]
#[tokio::test]
async fn probes_and_service_meet_the_ports_that_are_served(
    #[case] values: Value,
    #[case] wanted: [u16; 3],
) -> Outcome {
    let rendered = Rendered::with(&values).await?;
    let (flags, options) = (controller(&rendered)?, webhook(&rendered)?);
    let served = [options.listen, options.health_listen, flags.health_listen];
    assert_eq!(served.map(|address| address.port()), wanted);
    for (name, health) in [
        ("controller", flags.health_listen),
        ("webhook", options.health_listen),
    ] {
        let container = rendered.container(name)?;
        for (probe, path) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
            let asks = &container[probe]["httpGet"];
            assert_eq!(asks["path"], path);
            assert_eq!(port(container, &asks["port"]), u64::from(health.port()));
        }
    }
    let service = rendered.one("Service", "gate-webhook")?;
    let target = &service["spec"]["ports"][0]["targetPort"];
    let served = port(rendered.container("webhook")?, target);
    assert_eq!(served, u64::from(options.listen.port()));
    let labels = &rendered.pod()?["metadata"]["labels"];
    for (label, value) in service["spec"]["selector"].as_object().unwrap() {
        assert_eq!(labels[label], *value);
    }
    Ok(())
}

#[tokio::test]
async fn a_rollout_takes_no_replica_away_before_another_is_ready_and_lets_it_drain() -> Outcome {
    /// As long as an API server waits for an answer at the most.
    const LAST_ANSWER: Duration = Duration::from_secs(30);
    let rendered = Rendered::with(&json!({})).await?;
    let deployment = rendered.one("Deployment", RELEASE)?;
    assert_eq!(deployment["spec"]["replicas"], 2);
    let rolling = json!({"maxUnavailable": 0, "maxSurge": 1});
    assert_eq!(deployment["spec"]["strategy"]["rollingUpdate"], rolling);
    let grace = rendered.pod()?["spec"]["terminationGracePeriodSeconds"].as_u64();
    let drained = webhook(&rendered)?.drain + LAST_ANSWER;
    assert!(Duration::from_secs(grace.unwrap()) > drained);
    let budget = rendered.one("PodDisruptionBudget", RELEASE)?;
    assert_eq!(budget["spec"]["maxUnavailable"], 1);
    assert_eq!(budget["spec"]["selector"], deployment["spec"]["selector"]);
    Ok(())
}
