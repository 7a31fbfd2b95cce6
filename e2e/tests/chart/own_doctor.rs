//! `sandgate doctor`, run by an administrator and by somebody who may not look, on a release that stands
//! and on one that somebody tampered with.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, ServiceAccount};
use kube::api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::{Api, Client, ResourceExt};
use sandgate_e2e::control_plane::Options;
use sandgate_e2e::kubeconfig::{self, Credential};
use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::{Outcome, folders, identity, manifests, own_binaries};
use sandgate_shared::names;
use sandgate_shared::trust::Expected;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::own_life::Site;
use crate::rendered::{ACCOUNT, NAMESPACE, RELEASE};

/// The authorizer tells nobody when it knows a new role; it is asked this often.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// What a run came to.
struct Told {
    code: Option<i32>,
    words: String,
    report: Value,
}

impl Told {
    /// What the check of this name says.
    fn check(&self, id: &str) -> (bool, String) {
        let checks = self.report["checks"].as_array().into_iter().flatten();
        let mut named = checks.filter(|check| check["id"] == id);
        let check = named
            .next()
            .unwrap_or_else(|| panic!("{id}: {}", self.words));
        (check["holds"] == true, check["said"].to_string())
    }

    /// Subjects of this standing.
    fn holders(&self, standing: &str) -> Vec<String> {
        let holders = self.report["holders"].as_array().into_iter().flatten();
        let of_standing = holders.filter(|holder| holder["standing"] == standing);
        let name = |holder: &Value| holder["subject"]["name"].as_str().unwrap().to_owned();
        of_standing.map(name).collect()
    }
}

async fn doctor(site: &Site, kubeconfig: &Path, more: &[&str]) -> Outcome<Told> {
    let file = site.plane.folder().join("doctor.json");
    folders::write_private(&file, "null")?;
    let said = Command::new(own_binaries::folder().join("sandgate"))
        .args(["doctor", "--kubeconfig"])
        .arg(kubeconfig)
        .arg("--json")
        .arg(&file)
        .args(more)
        .kill_on_drop(true)
        .output()
        .await?;
    let words = [said.stdout, said.stderr].concat();
    Ok(Told {
        code: said.status.code(),
        words: String::from_utf8_lossy(&words).into_owned(),
        report: serde_json::from_str(&std::fs::read_to_string(&file)?)?,
    })
}

async fn patch(client: &Client, kind: &str, name: &str, patch: Value) -> Outcome {
    let object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": { "name": name },
    });
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &manifests::resource_of(&object)?);
    let how = PatchParams::default();
    api.patch(
        name,
        &how,
        &Patch::Json::<()>(serde_json::from_value(patch)?),
    )
    .await?;
    Ok(())
}

/// Waits until the authorizer knows that somebody may do this.
async fn until_may(client: &Client, question: Value) -> Outcome {
    let question: SubjectAccessReview = serde_json::from_value(json!({ "spec": question }))?;
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let known = async {
        let mut turn = tokio::time::interval(ASK_EVERY);
        loop {
            turn.tick().await;
            let answer = reviews.create(&PostParams::default(), &question).await?;
            if answer.status.is_some_and(|status| status.allowed) {
                return Outcome::Ok(());
            }
        }
    };
    tokio::time::timeout(DEADLINE, known).await?
}

/// Mallory, who may ask for the operator's tokens in its namespace and for nothing else.
fn forger() -> [Value; 2] {
    let api = "rbac.authorization.k8s.io";
    let metadata = json!({ "name": "planted", "namespace": NAMESPACE });
    [
        json!({
            "apiVersion": format!("{api}/v1"),
            "kind": "Role",
            "metadata": metadata,
            "rules": [{
                "apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"],
                "resourceNames": [ACCOUNT],
            }],
        }),
        json!({
            "apiVersion": format!("{api}/v1"),
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": { "apiGroup": api, "kind": "Role", "name": "planted" },
            "subjects": [{ "apiGroup": api, "kind": "User", "name": "mallory" }],
        }),
    ]
}

/// A token of the operator's, bound to its pod, asked for by Mallory.
async fn forged(site: &Site) -> Outcome<String> {
    let pods: Api<Pod> = Api::namespaced(site.client.clone(), NAMESPACE);
    let pods = pods.list(&ListParams::default()).await?;
    let pod = pods.iter().next().expect("the operator has pods");
    let mut config = kubeconfig::config(&site.plane.kubeconfig()).await?;
    config.auth_info.impersonate = Some("mallory".to_owned());
    let accounts: Api<ServiceAccount> = Api::namespaced(Client::try_from(config)?, NAMESPACE);
    let request = TokenRequest {
        spec: TokenRequestSpec {
            bound_object_ref: Some(BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                name: pod.metadata.name.clone(),
                uid: pod.uid(),
            }),
            ..TokenRequestSpec::default()
        },
        ..TokenRequest::default()
    };
    let how = PostParams::default();
    let answer: TokenRequest = accounts
        .create_subresource("token", ACCOUNT, &how, &request)
        .await?;
    Ok(answer.status.map(|status| status.token).unwrap_or_default())
}

/// What the operator writes once the policy has refused its dry runs; no operator runs here.
async fn record_a_refusal(client: &Client) -> Outcome {
    let expected = Expected::of(&crate::rendered::installation());
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(client.clone());
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(client.clone());
    let policy = serde_json::to_value(policies.get(expected.name()).await?)?;
    let binding = serde_json::to_value(bindings.get(expected.name()).await?)?;
    let stood = expected.examine(Some(&policy), Some(&binding))?;
    let record = ConfigMap {
        metadata: ObjectMeta {
            name: Some(stood.record_name(RELEASE)),
            ..ObjectMeta::default()
        },
        immutable: Some(true),
        data: Some(stood.record()),
        ..ConfigMap::default()
    };
    let records: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    records.create(&PostParams::default(), &record).await?;
    Ok(())
}

#[tokio::test]
async fn a_doctor_finds_a_release_sound_until_a_forger_is_planted_or_a_layer_is_weakened() -> Outcome
{
    let site = Site::start(&Options::default()).await?;
    site.install(&json!({ "standalone": true })).await?;
    let admin = site.plane.kubeconfig();

    // Nothing has written the webhooks' caBundle yet.
    let told = doctor(&site, &admin, &[]).await?;
    let (holds, said) = told.check("webhooks");
    assert!(!holds && said.contains("has no caBundle"), "{}", told.words);
    assert_eq!(told.code, Some(1), "{}", told.words);

    site.publish().await?;
    let told = doctor(&site, &admin, &[]).await?;
    let (holds, said) = told.check("policy");
    assert!(
        !holds && said.contains("nobody has seen the policy refuse"),
        "{}",
        told.words
    );
    record_a_refusal(&site.client).await?;
    let told = doctor(&site, &admin, &[]).await?;
    assert_eq!(told.code, Some(0), "{}", told.words);
    assert_eq!(told.report["sound"], true);
    assert_eq!(told.holders("finding"), Vec::<String>::new());
    assert_eq!(told.holders("sandgate"), [ACCOUNT]);
    assert!(
        told.holders("builtIn")
            .contains(&"system:kube-controller-manager".to_owned()),
        "{}",
        told.words
    );

    // What it says a forger may do, the API server lets them do.
    manifests::apply(&site.client, &forger()).await?;
    let told = doctor(&site, &admin, &[]).await?;
    assert_eq!(told.code, Some(1), "{}", told.words);
    assert_eq!(told.holders("finding"), ["mallory"]);
    let path = format!("RoleBinding {NAMESPACE}/planted → Role planted");
    assert!(told.words.contains("User mallory"), "{}", told.words);
    assert!(told.words.contains(&path), "{}", told.words);
    let token = json!({ "user": "mallory", "resourceAttributes": {
        "resource": "serviceaccounts", "subresource": "token", "name": ACCOUNT,
        "namespace": NAMESPACE, "verb": "create",
    } });
    until_may(&site.client, token).await?;
    assert!(!forged(&site).await?.is_empty());
    let told = doctor(&site, &admin, &["--accept=User:mallory"]).await?;
    assert_eq!(told.code, Some(0), "{}", told.words);
    assert_eq!(told.holders("accepted"), ["mallory"]);

    // Whoever switches a layer off is not seen in RBAC, but in what is left.
    let accept = ["--accept=User:mallory"];
    let weakened =
        json!([{ "op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore" }]);
    let name = names::webhook_configuration(RELEASE);
    patch(
        &site.client,
        "ValidatingWebhookConfiguration",
        &name,
        weakened,
    )
    .await?;
    let [policy, _] = sandgate_shared::render::admission_policy(&crate::rendered::installation());
    let policy = policy["metadata"]["name"].as_str().unwrap();
    let narrowed = json!([{
        "op": "add", "path": "/spec/matchResources",
        "value": { "namespaceSelector": { "matchLabels": { "never": "there" } } },
    }]);
    patch(
        &site.client,
        "ValidatingAdmissionPolicyBinding",
        policy,
        narrowed,
    )
    .await?;
    let told = doctor(&site, &admin, &accept).await?;
    assert_eq!(told.code, Some(1), "{}", told.words);
    let (holds, said) = told.check("webhooks");
    assert!(
        !holds && said.contains("failurePolicy was changed"),
        "{said}"
    );
    let (holds, said) = told.check("policy");
    assert!(!holds && said.contains(policy), "{said}");
    assert!(
        told.check("kinds").0 && told.check("replicas").0,
        "{}",
        told.words
    );
    Ok(())
}

#[tokio::test]
async fn a_doctor_who_may_not_look_names_every_right_that_is_missing() -> Outcome {
    let site = Site::start(&Options::default()).await?;
    let kubeconfig = site.plane.folder().join("reader.kubeconfig");
    let token = site.plane.folder().join("reader.token");
    let reader = identity::token(&site.client, "default", "default", None).await?;
    folders::write_private(&token, &reader)?;
    let (server, authority) = (site.plane.server(), site.plane.authority());
    kubeconfig::write(
        &kubeconfig,
        server,
        authority,
        &Credential::TokenFile(&token),
    )?;
    let told = doctor(&site, &kubeconfig, &[]).await?;
    assert_eq!(told.code, Some(2), "{}", told.words);
    let sentence = "error: may not list deployments.apps; run it as somebody who may";
    assert!(told.words.contains(sentence), "{}", told.words);
    assert_eq!(told.report, Value::Null);

    // An installation that may be seen, and nothing else.
    let told = doctor(&site, &site.plane.kubeconfig(), &[]).await?;
    assert_eq!(told.code, Some(2), "{}", told.words);
    assert!(
        told.words.contains("Sandgate is not installed here"),
        "{}",
        told.words
    );
    site.install(&json!({ "standalone": true })).await?;
    let api = "rbac.authorization.k8s.io";
    let metadata = json!({ "name": "reader" });
    let role = json!({
        "apiVersion": format!("{api}/v1"), "kind": "ClusterRole", "metadata": metadata,
        "rules": [{ "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"] }],
    });
    let binding = json!({
        "apiVersion": format!("{api}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata,
        "roleRef": { "apiGroup": api, "kind": "ClusterRole", "name": "reader" },
        "subjects": [{ "kind": "ServiceAccount", "namespace": "default", "name": "default" }],
    });
    manifests::apply(&site.client, &[role, binding]).await?;
    let deployments = json!({
        "user": "system:serviceaccount:default:default",
        "resourceAttributes": { "group": "apps", "resource": "deployments", "verb": "list" },
    });
    until_may(&site.client, deployments).await?;
    let told = doctor(&site, &kubeconfig, &[]).await?;
    assert_eq!(told.code, Some(2), "{}", told.words);
    for right in [
        "clusterroles",
        "clusterrolebindings",
        "customresourcedefinitions.apiextensions.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "secrets in namespace gate-system",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
    ] {
        assert!(told.words.contains(right), "{right}: {}", told.words);
    }
    assert_eq!(told.words.trim().lines().count(), 1, "{}", told.words);
    Ok(())
}
