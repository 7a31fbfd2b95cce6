//! The corpus of writes, sent to an API server, and its answers read. Does I/O.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::{Duration, Instant};

use futures::StreamExt;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, Status};
use kube::{Api, Client};
use sandgate_e2e::{Failure, Namespace, Outcome};
use sandgate_shared::corpus::{Case, Who, cases};
use sandgate_shared::names::GROUP;
use sandgate_shared::render::Installation;
use sandgate_shared::rules::{Layer, Row, Subject, table};
use serde_json::{Value, json};

use crate::writers::Writers;

/// Writes in flight at once.
const AT_ONCE: usize = 6;

/// How long an API server may take to judge by what it was just given; it tells nobody.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// So it is asked this often.
pub const ASK_EVERY: Duration = Duration::from_millis(50);

/// Times a write is sent again because somebody else wrote the object in between.
const CONFLICTS: usize = 20;

/// What became of a write: nothing if it was admitted.
pub type Answer = Option<Status>;

/// Where and by whom the corpus is written.
pub struct Desk<'a> {
    pub namespace: &'a Namespace,
    pub writers: &'a Writers,
    /// The API group that serves the four kinds.
    pub group: &'a str,
}

impl<'a> Desk<'a> {
    pub fn new(namespace: &'a Namespace, writers: &'a Writers) -> Self {
        let group = GROUP;
        Self {
            namespace,
            writers,
            group,
        }
    }

    /// Stores what the case says is there before, then tries its write by dry run.
    pub async fn answer(&self, number: usize, case: &Case) -> Outcome<Answer> {
        let name = case.new.pointer("/metadata/name").and_then(Value::as_str);
        let name = name.map_or_else(
            || format!("{}-case-{number}", self.namespace.name()),
            str::to_owned,
        );
        let api = |who: Who| self.api(case.subject, self.writers.get(who));
        let Some(old) = &case.old else {
            let new = self.manifest(&case.new, &name, None);
            return answer(
                api(case.who)
                    .create(&DRY_RUN, &serde_json::from_value(new)?)
                    .await,
            );
        };
        let keeper = keeper(case.subject);
        let stored = self.manifest(old, &name, None);
        let mut stored = api(keeper)
            .create(&PostParams::default(), &serde_json::from_value(stored)?)
            .await?;
        let mut told = self.update(case, &name, &stored).await?;
        for _ in 0..CONFLICTS {
            if !told.as_ref().is_some_and(Status::is_conflict) {
                break;
            }
            stored = api(keeper).get(&name).await?;
            told = self.update(case, &name, &stored).await?;
        }
        // What is cluster-wide does not end with the namespace, and the thousand claims of the corpus would
        // keep the controller of everybody's cluster from the claims of other tests.
        api(keeper).delete(&name, &DeleteParams::default()).await?;
        Ok(told)
    }

    /// Stores what the case writes, by whoever no rule about writers stops.
    pub async fn store(&self, number: usize, case: &Case) -> Outcome<DynamicObject> {
        let name = case.new.pointer("/metadata/name").and_then(Value::as_str);
        let name = name.map_or_else(|| format!("stored-{number}"), str::to_owned);
        let new = serde_json::from_value(self.manifest(&case.new, &name, None))?;
        let api = self.api(case.subject, self.writers.get(keeper(case.subject)));
        Ok(api.create(&PostParams::default(), &new).await?)
    }

    /// Tries to change what is stored by dry run.
    pub async fn would_patch(
        &self,
        subject: Subject,
        stored: &DynamicObject,
        patch: &Value,
    ) -> Outcome<Answer> {
        let name = stored.metadata.name.as_deref().unwrap_or_default();
        let api = self.api(subject, self.writers.get(keeper(subject)));
        let parameters = PatchParams {
            dry_run: true,
            ..PatchParams::default()
        };
        answer(api.patch(name, &parameters, &Patch::Merge(patch)).await)
    }

    async fn update(&self, case: &Case, name: &str, stored: &DynamicObject) -> Outcome<Answer> {
        let api = self.api(case.subject, self.writers.get(case.who));
        let new = self.manifest(&case.new, name, stored.metadata.resource_version.as_deref());
        let new = serde_json::from_value(new)?;
        answer(match case.subresource.as_deref() {
            None => api.replace(name, &DRY_RUN, &new).await,
            Some(subresource) => {
                api.replace_subresource(subresource, name, &DRY_RUN, &new)
                    .await
            }
        })
    }

    fn manifest(&self, object: &Value, name: &str, version: Option<&str>) -> Value {
        let mut manifest = object.clone();
        json_patch::merge(
            &mut manifest,
            &json!({
                "apiVersion": format!("{}/v1alpha1", self.group),
                "metadata": { "name": name, "resourceVersion": version },
            }),
        );
        manifest
    }

    /// Where objects of a kind are written.
    pub fn api(&self, subject: Subject, client: Client) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(self.group, "v1alpha1", subject.kind());
        let mut resource = kube::core::ApiResource::from_gvk(&kind);
        subject.plural().clone_into(&mut resource.plural);
        match subject {
            Subject::ClusterSandboxClass => Api::all_with(client, &resource),
            _ => Api::namespaced_with(client, self.namespace.name(), &resource),
        }
    }
}

/// Nothing is stored.
pub const DRY_RUN: PostParams = PostParams {
    dry_run: true,
    field_manager: None,
};

/// Somebody whom no rule about writers stops.
fn keeper(subject: Subject) -> Who {
    match subject {
        Subject::SandboxClaim => Who::Operator,
        _ => Who::Administrator,
    }
}

/// What became of a write, of what its client was told.
pub fn answer(result: kube::Result<DynamicObject>) -> Outcome<Answer> {
    match result {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) => Ok(Some(*status)),
        Err(error) => Err(error.into()),
    }
}

/// Writes every case and asks `judge` what is wrong with the answer; fails with all that is.
pub async fn every_case(
    desk: &Desk<'_>,
    judge: impl Fn(&Case, &Answer) -> Result<(), String>,
) -> Outcome {
    let cases = cases().map_err(Failure::saying)?;
    assert!(cases.len() > 100, "the corpus is not all there");
    let judge = &judge;
    let told = futures::stream::iter(cases.iter().enumerate()).map(|(number, case)| async move {
        let answer = desk.answer(number, case).await;
        let answer = answer.map_err(|failure| format!("{}: {failure}", case.name))?;
        judge(case, &answer).map_err(|wrong| {
            let (name, kind) = (&case.name, case.subject.kind());
            format!("{kind}: {name}: {wrong}, but was told {answer:#?}")
        })
    });
    let told: Vec<Result<(), String>> = told.buffer_unordered(AT_ONCE).collect().await;
    let wrong: Vec<String> = told.into_iter().filter_map(Result::err).collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::saying(wrong.join("\n\n")))
    }
}

/// The rules a case breaks, of those `of` selects.
pub fn broken(case: &Case, of: impl Fn(&Row) -> bool) -> BTreeSet<&str> {
    let selected = |id: &&str| table().any(|row| row.id == *id && of(row));
    case.refused
        .iter()
        .map(String::as_str)
        .filter(selected)
        .collect()
}

/// Selects the rules of one layer of the API server.
pub fn of(layer: Layer) -> impl Fn(&Row) -> bool {
    move |row| row.layer == layer
}

/// The rules that an answer names in brackets, each in the table's own words.
pub fn named(answer: &Answer) -> Result<BTreeSet<&'static str>, String> {
    let text = answer.as_ref().map(|status| status.message.as_str());
    let text = text.unwrap_or_default();
    let operator = Installation::default().identity().username;
    let rows = table().filter(|row| text.contains(&format!("[{}]", row.id)));
    rows.map(|row| {
        // Functions may add a detail between the row's words and its id.
        if text.contains(&row.message(&operator)) {
            Ok(row.id)
        } else {
            Err(format!("should say {:?}", row.message(&operator)))
        }
    })
    .collect()
}

/// Asks until the answer is as `holds` says: an API server takes up CRDs, roles and policies when
/// its informers bring them.
pub async fn until<F>(
    sentence: &str,
    mut ask: impl FnMut() -> F,
    holds: impl Fn(&Answer) -> bool,
) -> Outcome
where
    F: Future<Output = Outcome<Answer>>,
{
    let deadline = Instant::now() + PATIENCE;
    let mut turn = tokio::time::interval(ASK_EVERY);
    loop {
        turn.tick().await;
        let told = ask().await?;
        if holds(&told) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Failure::saying(format!(
                "after {} s it is still not so that {sentence}: {told:#?}",
                PATIENCE.as_secs()
            )));
        }
    }
}

/// The first case called `name`.
pub fn case(name: &str) -> Case {
    let mut cases = cases().unwrap().into_iter();
    let found = cases.find(|case| case.name == name);
    found.unwrap_or_else(|| panic!("the corpus has no case called {name:?}"))
}
