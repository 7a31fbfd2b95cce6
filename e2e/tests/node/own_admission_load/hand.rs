//! One writer's hand: it sends a write until that came to what it should. Does I/O.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use sandgate_e2e::{Outcome, manifests};
use serde_json::{Value, json};

use super::ledger::{Ledger, Trouble, Wish, trouble};

/// How soon it tries again what did not work.
const AGAIN_AFTER: Duration = Duration::from_millis(50);

/// Writes objects of one kind.
#[derive(Clone)]
pub struct Hand {
    writer: &'static str,
    ledger: Arc<Ledger>,
    api: Api<DynamicObject>,
}

impl Hand {
    /// Of somebody with this client, for objects such as `sample`: in `namespace`, or of the whole cluster.
    pub fn new(
        writer: &'static str,
        ledger: &Arc<Ledger>,
        client: &Client,
        namespace: Option<&str>,
        sample: &Value,
    ) -> Outcome<Self> {
        let (client, resource) = (client.clone(), manifests::resource_of(sample)?);
        let api = match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        };
        Ok(Self {
            writer,
            ledger: Arc::clone(ledger),
            api,
        })
    }

    pub async fn create(&self, object: &Value, wish: Wish<'_>) {
        self.post(object, wish, false).await;
    }

    pub async fn try_to_create(&self, object: &Value, wish: Wish<'_>) {
        self.post(object, wish, true).await;
    }

    async fn post(&self, object: &Value, wish: Wish<'_>, dry_run: bool) {
        let name = &object["metadata"]["name"];
        let how = PostParams {
            dry_run,
            ..PostParams::default()
        };
        let object = serde_json::from_value(object.clone()).expect("it is an object");
        let dry = if dry_run { "a try to " } else { "" };
        self.insist(&format!("{dry}create {name}"), wish, Some(409), || async {
            self.api.create(&how, &object).await.map(drop)
        })
        .await;
    }

    pub async fn edit(&self, name: &str, fields: &Value, wish: Wish<'_>) {
        let how = PatchParams::default();
        self.insist(&format!("edit {name}"), wish, None, || async {
            let patch = Patch::Merge(fields);
            self.api.patch(name, &how, &patch).await.map(drop)
        })
        .await;
    }

    pub async fn edit_status(&self, name: &str, status: &Value, wish: Wish<'_>) {
        let how = PatchParams::default();
        let fields = json!({ "status": status });
        self.insist(
            &format!("edit the status of {name}"),
            wish,
            None,
            || async {
                let patch = Patch::Merge(&fields);
                self.api.patch_status(name, &how, &patch).await.map(drop)
            },
        )
        .await;
    }

    pub async fn delete(&self, name: &str) {
        let how = DeleteParams::default();
        self.insist(
            &format!("delete {name}"),
            Wish::Admitted,
            Some(404),
            || async { self.api.delete(name, &how).await.map(drop) },
        )
        .await;
    }

    /// Sends until the answer is what it should be, or is one that no further try will change. An answer
    /// to an earlier try may have been lost; `done_before` is how the API server says that it was done.
    async fn insist<F>(
        &self,
        what: &str,
        wish: Wish<'_>,
        done_before: Option<u16>,
        send: impl Fn() -> F,
    ) where
        F: Future<Output = Result<(), kube::Error>>,
    {
        let mut lost = false;
        loop {
            let began = Instant::now();
            let answer = send().await;
            let done = |said: &kube::Error| matches!(said, kube::Error::Api(said) if Some(said.code) == done_before);
            if lost && answer.as_ref().is_err_and(done) {
                return self.ledger.done(self.writer);
            }
            let Some(trouble) = trouble(wish, &answer) else {
                return self.ledger.done(self.writer);
            };
            let final_word = match trouble.0 {
                Trouble::CallFailed => false,
                Trouble::NoServer => {
                    lost = true;
                    false
                }
                Trouble::WronglyRefused | Trouble::WronglyAdmitted => true,
            };
            self.ledger
                .failed(&format!("{}: {what}", self.writer), trouble, began);
            if final_word {
                return;
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }
}
