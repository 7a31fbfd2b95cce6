//! Everybody who writes in the corpus, as the API server knows them. Does I/O.

use std::collections::HashMap;
use std::time::Instant;

use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::api::PostParams;
use kube::config::AuthInfo;
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
        // As `--as` gives it: the groups of a ServiceAccount come by themselves, a uid does not.
        let without_uid = borrowed(cluster, |_| {}).await?;
        all.insert(Who::OperatorWithoutUid, without_uid);
        let without_groups = borrowed(cluster, |borrower| {
            borrower.impersonate_uid = Some("6f5c0b2e-7a39-4c53-9d54-0f6c8f6a2f11".to_owned());
            let groups = [EDITORS, "system:authenticated"];
            borrower.impersonate_groups = Some(groups.map(str::to_owned).to_vec());
        });
        all.insert(Who::OperatorWithoutGroups, without_groups.await?);
        let_the_operator_write(namespace).await?;
        Ok(Self(all))
    }

    /// The client of one of them.
    pub fn get(&self, who: Who) -> Client {
        self.0[&who].clone()
    }
}

/// The operator's name and pod, borrowed by the administrator, with what `further` adds.
async fn borrowed(cluster: &Cluster, further: impl FnOnce(&mut AuthInfo)) -> Outcome<Client> {
    let mut config = kubeconfig::config(&cluster.access().kubeconfig).await?;
    let borrower = &mut config.auth_info;
    borrower.impersonate = Some(Installation::default().identity().username);
    borrower.impersonate_user_extra = Some(HashMap::from([(
        "authentication.kubernetes.io/pod-name".to_owned(),
        vec!["sandgate-0".to_owned()],
    )]));
    further(borrower);
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
