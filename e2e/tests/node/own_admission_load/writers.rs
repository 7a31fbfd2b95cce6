//! Who writes during a load: each kind, in each way, some of it wrong. Does I/O.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client, ResourceExt};
use sandgate_e2e::scene::Scene;
use sandgate_e2e::scene::manifests::{claim, claim_with, class_of, hosts, of_the_platform};
use sandgate_e2e::{Identity, Outcome, manifests};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::hand::Hand;
use super::ledger::{Ledger, Wish};

/// How often a writer begins a round of writes.
const ROUND_EVERY: Duration = Duration::from_millis(150);

/// How long a writer may take to end: a round with its tries.
const ENDS_WITHIN: Duration = Duration::from_secs(30);

/// One object of so many stays.
const KEEPS_ONE_OF: usize = 5;

/// A claim on it is judged, fails at once, and has no pods.
const NO_CLASS: &str = "nobody-has-it";

/// A claim that is there all the time, for whoever writes its status.
const STANDING: &str = "standing";

/// Only the operator may name one.
const TARGET: &str = "projects/shop";

/// One kind, and what is done to its objects.
struct Objects {
    writer: &'static str,
    in_namespace: bool,
    make: fn(&str) -> Value,
    edit: Value,
    wrong_edit: Value,
    rule: &'static str,
}

fn class(name: &str) -> Value {
    class_of(name, "registry.example/sandbox:1", &json!({}))
}

fn class_of_the_platform(name: &str) -> Value {
    of_the_platform(class(name))
}

fn connection(name: &str) -> Value {
    hosts(name, &["api.example.com"])
}

/// What only the operator may make.
fn operators_claim(name: &str) -> Value {
    claim_with(name, NO_CLASS, &json!({ "targetPath": TARGET }))
}

/// Each kind. Of the wrong edits the first is refused by the schema, the others by the webhook alone.
fn kinds() -> [Objects; 4] {
    let image = json!({ "spec": { "image": "registry.example/sandbox:2" } });
    let greedy = json!({ "spec": { "resources": { "requests": { "cpu": "2" } } } });
    [
        Objects {
            writer: "claims",
            in_namespace: true,
            make: |name| claim(name, NO_CLASS),
            edit: json!({ "metadata": { "labels": { "seen": "yes" } } }),
            wrong_edit: json!({ "spec": { "sessionID": "another" } }),
            rule: "[claim-session-immutable]",
        },
        Objects {
            writer: "classes",
            in_namespace: true,
            make: class,
            edit: image.clone(),
            wrong_edit: greedy.clone(),
            rule: "[class-requests]",
        },
        Objects {
            writer: "cluster-classes",
            in_namespace: false,
            make: class_of_the_platform,
            edit: image,
            wrong_edit: greedy,
            rule: "[class-requests]",
        },
        Objects {
            writer: "connections",
            in_namespace: true,
            make: connection,
            edit: json!({ "spec": { "hosts": ["api.example.com", "*.example.org"] } }),
            wrong_edit: json!({ "spec": {
                "credential": { "kind": "secret", "secretRef": { "name": "token" } },
                "placement": { "files": [{ "path": ".netrc", "template": "{{" }] },
            } }),
            rule: "[connection-file-template]",
        },
    ]
}

/// Makes objects, edits them rightly and wrongly, and deletes most; returns the names of those that stay.
async fn make_edit_delete(
    hand: Hand,
    objects: Objects,
    prefix: String,
    stop: CancellationToken,
) -> BTreeSet<String> {
    let mut stay = BTreeSet::new();
    let mut turn = tokio::time::interval(ROUND_EVERY);
    for round in 0_usize.. {
        if stop.is_cancelled() {
            break;
        }
        turn.tick().await;
        let name = format!("{prefix}-{round}");
        hand.create(&(objects.make)(&name), Wish::Admitted).await;
        hand.edit(&name, &objects.edit, Wish::Admitted).await;
        let wish = Wish::Refused(objects.rule);
        hand.edit(&name, &objects.wrong_edit, wish).await;
        if round % KEEPS_ONE_OF == 0 {
            stay.insert(name);
        } else {
            hand.delete(&name).await;
        }
    }
    stay
}

/// What the operator may and a user may not: a claim's status, and claims with a target.
async fn operator_and_user(operator: Hand, user: Hand, stop: CancellationToken) {
    let mut turn = tokio::time::interval(ROUND_EVERY);
    for round in 0_usize.. {
        if stop.is_cancelled() {
            break;
        }
        turn.tick().await;
        let status = json!({ "lastUsedAt": Timestamp::now().to_string() });
        operator
            .edit_status(STANDING, &status, Wish::Admitted)
            .await;
        let wish = Wish::Refused("[claim-operator-status]");
        user.edit_status(STANDING, &json!({ "phase": "Bound" }), wish)
            .await;
        let name = format!("of-the-operator-{round}");
        let object = operators_claim(&name);
        operator.create(&object, Wish::Admitted).await;
        operator.delete(&name).await;
        let wish = Wish::Refused("[claim-operator-target-path]");
        user.create(&object, wish).await;
    }
}

/// Writes that change nothing, right and wrong ones.
async fn dry_runs(claims: Hand, classes: Hand, stop: CancellationToken) {
    let mut turn = tokio::time::interval(ROUND_EVERY);
    let mut greedy = class("tried");
    greedy["spec"]["resources"]["requests"] = json!({ "memory": "1Gi" });
    while !stop.is_cancelled() {
        turn.tick().await;
        let wish = Wish::Admitted;
        claims.try_to_create(&claim("tried", NO_CLASS), wish).await;
        classes.try_to_create(&class("tried"), wish).await;
        let wish = Wish::Refused("[claim-operator-target-path]");
        claims.try_to_create(&operators_claim("tried"), wish).await;
        let wish = Wish::Refused("[class-requests]");
        classes.try_to_create(&greedy, wish).await;
    }
}

/// Writers at work.
pub struct Load {
    pub ledger: Arc<Ledger>,
    stop: CancellationToken,
    makers: JoinSet<(Api<DynamicObject>, String, BTreeSet<String>)>,
    others: JoinSet<()>,
}

/// A client of somebody's that repeats nothing by itself.
async fn client(scene: &Scene, identity: &Identity) -> Outcome<Client> {
    let mut config = scene.cluster().config_as(identity).await?;
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

impl Load {
    /// Starts the writers: a user, and somebody in the operator's place.
    pub async fn start(scene: &Scene) -> Outcome<Self> {
        let identity = Identity::ImpersonatedOperator;
        let operator = scene.operator_as(&identity).await?;
        scene.user().accepts(&claim(STANDING, NO_CLASS)).await?;
        drop(operator);
        let operator = client(scene, &identity).await?;
        let user = client(scene, &Identity::User("alice".to_owned())).await?;
        let (ledger, stop) = (Arc::new(Ledger::new()), CancellationToken::new());
        let here = Some(scene.name());
        let (mut makers, mut others) = (JoinSet::new(), JoinSet::new());
        for objects in kinds() {
            let namespace = here.filter(|_| objects.in_namespace);
            let prefix = format!("{}-{}", scene.name(), objects.writer);
            let sample = (objects.make)("sample");
            let writer = objects.writer;
            let hand = Hand::new(writer, &ledger, &user, namespace, &sample)?;
            let resource = manifests::resource_of(&sample)?;
            let seen = match namespace {
                Some(namespace) => {
                    Api::namespaced_with(scene.cluster().client(), namespace, &resource)
                }
                None => Api::all_with(scene.cluster().client(), &resource),
            };
            let stop = stop.clone();
            makers.spawn(async move {
                let stay = make_edit_delete(hand, objects, prefix.clone(), stop).await;
                (seen, prefix, stay)
            });
        }
        let hand = |writer, client, sample| Hand::new(writer, &ledger, client, here, &sample);
        let sample = claim("sample", NO_CLASS);
        others.spawn(operator_and_user(
            hand("operator", &operator, sample.clone())?,
            hand("not-operator", &user, sample.clone())?,
            stop.clone(),
        ));
        others.spawn(dry_runs(
            hand("dry-runs", &user, sample)?,
            hand("dry-runs", &user, class("sample"))?,
            stop.clone(),
        ));
        Ok(Self {
            ledger,
            stop,
            makers,
            others,
        })
    }

    /// Lets every writer end its round. Then exactly what they left is there.
    pub async fn stop(mut self) -> Outcome<Arc<Ledger>> {
        self.stop.cancel();
        let ended = async {
            while let Some(ended) = self.others.join_next().await {
                ended?;
            }
            while let Some(ended) = self.makers.join_next().await {
                let (api, prefix, stay) = ended?;
                let all = api.list(&ListParams::default()).await?;
                let names = all.iter().map(ResourceExt::name_any);
                let there: BTreeSet<String> =
                    names.filter(|name| name.starts_with(&prefix)).collect();
                assert_eq!(there, stay, "{prefix}");
                assert!(stay.len() > 1, "{prefix}");
            }
            Outcome::Ok(())
        };
        tokio::time::timeout(ENDS_WITHIN, ended).await??;
        Ok(self.ledger)
    }
}
