//! Everybody who writes in the corpus, as the API server knows them. Does I/O.

use std::collections::HashMap;
use std::time::Instant;

use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::api::PostParams;
use kube::{Api, Client};
use sandgate_e2e::identity::EDITORS;
use sandgate_e2e::{Cluster, Failure, Identity, Namespace, Outcome, kubeconfig, manifests};
use sandgate_shared::corpus::Who;
use sandgate_shared::names::GROUP;
use sandgate_shared::render::Installation;
use serde_json::json;

use crate::corpus::{ASK_EVERY, PATIENCE};

/// A client for each [`Who`].
pub struct Writers(HashMap<Who, Client>);

impl Writers {
    /// All of them, with the right to write Sandgate's kinds in `namespace`, so that only admission
    /// stands between. The operator has that right in this namespace alone.
    pub async fn of(namespace: &Namespace) -> Outcome<Self> {
        let cluster = namespace.cluster();
        let user = |name: &str| Identity::User(name.to_owned());
        let mut all = HashMap::new();
        for (who, identity) in [
            (Who::Administrator, Identity::Administrator),
            (Who::User, user("alice")),
            (Who::ClassAuthor, user("platform")),
            (Who::Operator, Identity::Operator),
            (Who::OperatorWithoutPod, Identity::OperatorWithoutPod),
        ] {
            all.insert(who, cluster.client_as(&identity).await?);
        }
        for who in Who::HALF_OPERATORS.into_iter().chain(Who::CONTROLLERS) {
            if who != Who::OperatorWithoutPod {
                all.insert(who, borrowed(cluster, who).await?);
            }
        }
        let_the_operator_write(namespace).await?;
        Ok(Self(all))
    }

    /// The client of one of them.
    pub fn get(&self, who: Who) -> Client {
        self.0[&who].clone()
    }
}

/// Somebody impersonated by the administrator, with the right to write.
async fn borrowed(cluster: &Cluster, who: Who) -> Outcome<Client> {
    let info = who.user_info(&Installation::default().identity());
    let info: UserInfo = serde_json::from_value(info)?;
    let mut config = kubeconfig::config(&cluster.access().kubeconfig).await?;
    let borrower = &mut config.auth_info;
    let mut groups = info.groups.unwrap_or_default();
    groups.push(EDITORS.to_owned());
    borrower.impersonate = info.username;
    borrower.impersonate_uid = info.uid;
    borrower.impersonate_groups = Some(groups);
    borrower.impersonate_user_extra = info.extra.map(HashMap::from_iter);
    Ok(Client::try_from(config)?)
}

/// Lets the operator write Sandgate's kinds in one namespace, as its own RBAC does not.
pub async fn let_the_operator_write(namespace: &Namespace) -> Outcome {
    let names = Installation::default();
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": { "name": "operator-of-a-test", "namespace": namespace.name() },
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "sandgate-e2e-editors",
        },
        "subjects": [{
            "kind": "ServiceAccount",
            "name": names.service_account,
            "namespace": names.namespace,
        }],
    });
    let client = namespace.cluster().client();
    manifests::apply(&client, &[binding]).await?;
    // Asked about rather than tried: a refusal would look like a right the controller lacks.
    let review = json!({
        "spec": {
            "user": names.identity().username,
            "resourceAttributes": {
                "group": GROUP,
                "resource": "sandboxclaims",
                "namespace": namespace.name(),
                "verb": "create",
            },
        },
    });
    let review: SubjectAccessReview = serde_json::from_value(review)?;
    let reviews: Api<SubjectAccessReview> = Api::all(client);
    let deadline = Instant::now() + PATIENCE;
    let mut turn = tokio::time::interval(ASK_EVERY);
    loop {
        turn.tick().await;
        let told = reviews.create(&PostParams::default(), &review).await?;
        if told.status.is_some_and(|status| status.allowed) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Failure::saying(
                "the operator was never allowed to write claims",
            ));
        }
    }
}
