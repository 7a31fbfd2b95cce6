//! The API server as the controller uses it: every request has a limit in time, is never repeated
//! behind our back, and is counted. Does I/O.

use std::time::{Duration, Instant, SystemTime};

use hyper::Response;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{
    Api, ApiResource, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions,
};
use kube::client::ClientBuilder;
use kube::core::{DynamicObject, PartialObjectMeta};
use kube::{Client, Config};
use sandgate_shared::names;
use serde_json::Value;
use tower::util::MapResponseLayer;

use crate::kind::Kind;
use crate::metrics::{Metrics, Outcome, Verb};

mod call;
mod clock;
#[cfg(test)]
pub(crate) mod fake;
mod stamps;

pub use call::{CallError, Place};
pub use clock::Clock;
pub use stamps::Stamp;

/// Longest wait for an answer. Writes of ours pass no webhook of ours, so this is generous.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// How many objects are listed at once. A page stands in memory as text and as a tree, for each kind that
/// is listed at the time, and what an allocator got for it is not given back whole.
pub(crate) const PAGE: u32 = 50;

/// A connection to the API server.
#[derive(Clone)]
pub struct ApiServer {
    client: Client,
    metrics: Metrics,
    limit: Duration,
    clock: Clock,
}

impl ApiServer {
    /// Wraps a client. It must not retry by itself (see [`client`]); without its clock our own counts.
    pub fn new(client: Client, metrics: Metrics) -> Self {
        Self {
            client,
            metrics,
            limit: ANSWER_WITHIN,
            clock: Clock::default(),
        }
    }

    /// The same connection, whose answers `clock` reads the time from.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// What time it is for the API server; `None` if it did not tell for a minute.
    pub fn heard(&self) -> Option<SystemTime> {
        self.clock.heard(Instant::now())
    }

    /// What time it is for the API server; for us where it did not tell.
    pub fn now(&self) -> SystemTime {
        self.heard().unwrap_or_else(SystemTime::now)
    }

    /// The same connection with another limit in time.
    #[must_use]
    pub fn answering_within(&self, limit: Duration) -> Self {
        Self {
            limit,
            ..self.clone()
        }
    }

    /// Objects of a kind, in one namespace or everywhere, for a watch.
    pub fn objects(&self, kind: Kind, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace {
            Some(namespace) => {
                Api::namespaced_with(self.client.clone(), namespace, &kind.resource())
            }
            None => Api::all_with(self.client.clone(), &kind.resource()),
        }
    }

    /// The metadata of all objects of a kind, for a watch.
    pub fn metadata(&self, kind: Kind) -> Api<PartialObjectMeta<DynamicObject>> {
        Api::all_with(self.client.clone(), &kind.resource())
    }

    /// Objects everywhere of a kind, as `resource` has it.
    pub fn objects_as(&self, resource: &ApiResource) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), resource)
    }

    /// GET; `None` if there is no such object. Of a name that no object can bear this is known
    /// without asking.
    pub async fn get(&self, place: Place<'_>) -> Result<Option<DynamicObject>, CallError> {
        if !place.can_exist() {
            return Ok(None);
        }
        let api = self.objects(place.kind, place.namespace);
        match self
            .call(Verb::Get, place.kind, None, api.get(place.name))
            .await
        {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All objects of a kind, as `resource` has it, that a label selector selects.
    pub async fn list_as(
        &self,
        kind: Kind,
        resource: &ApiResource,
        labels: Option<&str>,
    ) -> Result<Vec<DynamicObject>, CallError> {
        let api = self.objects_as(resource);
        let params = ListParams {
            label_selector: labels.map(str::to_owned),
            ..ListParams::default()
        };
        let limited = tokio::time::timeout(self.limit, api.list(&params)).await;
        self.judge(Verb::List, kind, limited, |_| Outcome::Done)
            .map(|list| list.items)
    }

    /// Whether the API server serves a kind, as `resource` has it.
    pub async fn serves(&self, kind: Kind, resource: &ApiResource) -> Result<bool, CallError> {
        let asked = self.client.list_api_group_resources(&resource.api_version);
        let answer = tokio::time::timeout(self.limit, asked).await;
        match self.judge(Verb::Get, kind, answer, |_| Outcome::Done) {
            Ok(served) => Ok(served
                .resources
                .iter()
                .any(|served| served.name == resource.plural)),
            // A group or version that is not served has no list, and the answer names no object.
            Err(CallError::Refused(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// POST.
    pub async fn create(
        &self,
        kind: Kind,
        namespace: Option<&str>,
        object: &DynamicObject,
    ) -> Result<DynamicObject, CallError> {
        self.post(Verb::Create, kind, namespace, object).await
    }

    /// POST with `dryRun=All`: what would stand after [`Self::create`].
    pub async fn would_create(
        &self,
        kind: Kind,
        namespace: Option<&str>,
        object: &DynamicObject,
    ) -> Result<DynamicObject, CallError> {
        self.post(Verb::DryRun, kind, namespace, object).await
    }

    async fn post(
        &self,
        verb: Verb,
        kind: Kind,
        namespace: Option<&str>,
        object: &DynamicObject,
    ) -> Result<DynamicObject, CallError> {
        let api = self.objects(kind, namespace);
        let params = post_params(verb == Verb::DryRun);
        self.call(verb, kind, None, api.create(&params, object))
            .await
    }

    /// All objects of a kind that a label selector selects, of whatever namespace.
    pub async fn list(
        &self,
        kind: Kind,
        labels: Option<&str>,
    ) -> Result<Vec<DynamicObject>, CallError> {
        self.list_as(kind, &kind.resource(), labels).await
    }

    /// A token of a ServiceAccount, good for `lifetime`, which the API server makes at least ten
    /// minutes.
    pub async fn token(
        &self,
        namespace: &str,
        account: &str,
        lifetime: Duration,
    ) -> Result<TokenRequest, CallError> {
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let request = TokenRequest {
            spec: TokenRequestSpec {
                expiration_seconds: i64::try_from(lifetime.as_secs()).ok(),
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let params = PostParams::default();
        let asked = api.create_token_request(account, &params, &request);
        let limited = tokio::time::timeout(self.limit, asked).await;
        self.judge(Verb::Create, Kind::TokenRequest, limited, |_| Outcome::Done)
    }

    /// PUT. `object` carries the uid and resourceVersion it was decided upon.
    pub async fn replace(
        &self,
        place: Place<'_>,
        object: &DynamicObject,
    ) -> Result<DynamicObject, CallError> {
        let api = self.objects(place.kind, place.namespace);
        let params = post_params(false);
        let standing = object.metadata.resource_version.as_deref();
        let put = api.replace(place.name, &params, object);
        self.call(Verb::Update, place.kind, standing, put).await
    }

    /// PUT with `dryRun=All`: what would stand after [`Self::replace`].
    pub async fn would_replace(
        &self,
        place: Place<'_>,
        object: &DynamicObject,
    ) -> Result<DynamicObject, CallError> {
        let api = self.objects(place.kind, place.namespace);
        let params = post_params(true);
        self.call(
            Verb::DryRun,
            place.kind,
            None,
            api.replace(place.name, &params, object),
        )
        .await
    }

    /// JSON merge patch of the status. `patch` carries the resourceVersion it was decided upon.
    pub async fn patch_status(
        &self,
        place: Place<'_>,
        patch: &Value,
    ) -> Result<DynamicObject, CallError> {
        let api = self.objects(place.kind, place.namespace);
        let params = PatchParams {
            field_manager: Some(manager()),
            ..PatchParams::default()
        };
        let standing = patch
            .pointer("/metadata/resourceVersion")
            .and_then(Value::as_str);
        let patch = Patch::Merge(patch);
        let patched = api.patch_status(place.name, &params, &patch);
        self.call(Verb::Patch, place.kind, standing, patched).await
    }

    /// JSON merge patch. A uid in `patch` is a precondition.
    pub async fn patch(&self, place: Place<'_>, patch: &Value) -> Result<DynamicObject, CallError> {
        let api = self.objects(place.kind, place.namespace);
        let params = PatchParams {
            field_manager: Some(manager()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        let patched = api.patch(place.name, &params, &patch);
        self.call(Verb::Patch, place.kind, None, patched).await
    }

    /// Server-side apply as `field_manager`, for the fields of an object that others write too.
    /// `standing`: the resourceVersion that stood, if known.
    pub async fn apply_shared(
        &self,
        place: Place<'_>,
        field_manager: &str,
        standing: Option<&str>,
        fields: &Value,
    ) -> Result<DynamicObject, CallError> {
        let api = self.objects(place.kind, place.namespace);
        let params = PatchParams::apply(field_manager).force();
        let fields = Patch::Apply(fields);
        let applied = api.patch(place.name, &params, &fields);
        self.call(Verb::Patch, place.kind, standing, applied).await
    }

    /// DELETE of exactly the object with this uid and resourceVersion. An object that is gone
    /// already is no error.
    pub async fn delete(
        &self,
        place: Place<'_>,
        uid: &str,
        resource_version: &str,
    ) -> Result<(), CallError> {
        let only = Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: Some(resource_version.to_owned()),
        };
        self.delete_with(place, DeleteParams::background().preconditions(only))
            .await
    }

    /// The same of the object with this uid, whatever became of it meanwhile, and with this grace in
    /// seconds instead of what a pod's programs would have.
    pub async fn delete_within(
        &self,
        place: Place<'_>,
        uid: &str,
        grace: u32,
    ) -> Result<(), CallError> {
        let only = Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        };
        let params = DeleteParams::background().preconditions(only);
        self.delete_with(place, params.grace_period(grace)).await
    }

    async fn delete_with(&self, place: Place<'_>, params: DeleteParams) -> Result<(), CallError> {
        let api = self.objects(place.kind, place.namespace);
        let deleted = async { api.delete(place.name, &params).await.map(|_| ()) };
        let limited = tokio::time::timeout(self.limit, deleted).await;
        match self.judge(Verb::Delete, place.kind, limited, |()| Outcome::Done) {
            Err(error) if error.is_not_found() => Ok(()),
            done => done,
        }
    }

    async fn call(
        &self,
        verb: Verb,
        kind: Kind,
        standing: Option<&str>,
        request: impl Future<Output = Result<DynamicObject, kube::Error>>,
    ) -> Result<DynamicObject, CallError> {
        let limited = tokio::time::timeout(self.limit, request).await;
        self.judge(verb, kind, limited, |object| match standing {
            Some(version) if object.metadata.resource_version.as_deref() == Some(version) => {
                Outcome::Unchanged
            }
            _ => Outcome::Done,
        })
    }

    fn judge<T>(
        &self,
        verb: Verb,
        kind: Kind,
        answer: Result<Result<T, kube::Error>, tokio::time::error::Elapsed>,
        on_success: impl FnOnce(&T) -> Outcome,
    ) -> Result<T, CallError> {
        let result = match answer {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(kube::Error::Api(status))) => Err(CallError::Refused(status)),
            Ok(Err(error)) => Err(CallError::Lost(error)),
            Err(_) => Err(CallError::TimedOut(self.limit)),
        };
        let outcome = match &result {
            Ok(value) => on_success(value),
            Err(error) if error.is_not_found() => Outcome::NotFound,
            Err(error) if error.is_conflict() || error.is_already_exists() => Outcome::Conflict,
            Err(CallError::Refused(_)) => Outcome::Refused,
            Err(_) => Outcome::Unanswered,
        };
        self.metrics.request(verb, kind, outcome);
        result
    }
}

// Manual, because a client has nothing to show and its configuration must not be shown.
impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

fn post_params(dry_run: bool) -> PostParams {
    PostParams {
        dry_run,
        field_manager: Some(manager()),
    }
}

fn manager() -> String {
    names::MANAGER_CONTROLLER.to_owned()
}

/// A client that never repeats a request by itself: the back-off of the queue, the lease's deadline
/// and the watches each decide for themselves what a failure means. The clock is set by each answer.
pub fn client(mut config: Config) -> Result<(Client, Clock), kube::Error> {
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(5));
    let clock = Clock::default();
    let told = clock.clone();
    let noted = MapResponseLayer::new(move |answer: Response<_>| {
        told.note(answer.headers(), Instant::now());
        answer
    });
    let builder = ClientBuilder::try_from(config)?.with_layer(&noted);
    Ok((builder.build(), clock))
}
