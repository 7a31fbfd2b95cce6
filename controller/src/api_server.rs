//! The API server as the controller uses it: every request has a limit in time, is never repeated
//! behind our back, and is counted. Does I/O.

use std::time::Duration;

use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{DynamicObject, Status};
use kube::{Client, Config};
use sandgate_shared::names;
use serde_json::Value;

use crate::kind::Kind;
use crate::metrics::{Metrics, Outcome, Verb};

#[cfg(test)]
pub(crate) mod fake;

/// Longest wait for an answer. Writes of ours pass no webhook of ours, so this is generous.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A request that did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The API server said no.
    #[error("the API server answered {} {}: {}", .0.code, .0.reason, .0.message)]
    Refused(Box<Status>),
    /// No answer in time; the request may have been carried out.
    #[error("the API server did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The request or its answer was lost; the request may have been carried out.
    #[error("failed to talk to the API server")]
    Lost(#[source] kube::Error),
}

impl CallError {
    /// The refusal, if it is one.
    pub fn refusal(&self) -> Option<&Status> {
        match self {
            Self::Refused(status) => Some(status),
            Self::TimedOut(_) | Self::Lost(_) => None,
        }
    }

    /// Whether an object of that name exists already.
    pub fn is_already_exists(&self) -> bool {
        self.refusal().is_some_and(Status::is_already_exists)
    }

    /// Whether there is no such object. A kind that is not served, or a namespace that is gone, is
    /// another matter: then the answer does not name the object.
    pub fn is_not_found(&self) -> bool {
        let named = |status: &Status| {
            let details = status.details.as_ref();
            details.is_some_and(|details| !details.name.is_empty() && details.kind != "namespaces")
        };
        self.refusal()
            .is_some_and(|status| status.is_not_found() && named(status))
    }

    /// Whether somebody else's write came first, or a precondition does not hold.
    pub fn is_conflict(&self) -> bool {
        self.refusal().is_some_and(Status::is_conflict)
    }
}

/// Where an object is kept: a name, and a namespace unless its kind has none.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// What it is.
    pub kind: Kind,
    /// Where it is, if its kind is namespaced.
    pub namespace: Option<&'a str>,
    /// What it is called.
    pub name: &'a str,
}

impl<'a> Place<'a> {
    /// A place in a namespace.
    pub fn namespaced(kind: Kind, namespace: &'a str, name: &'a str) -> Self {
        Self {
            kind,
            namespace: Some(namespace),
            name,
        }
    }

    /// A place of a kind that has no namespaces.
    pub fn cluster(kind: Kind, name: &'a str) -> Self {
        Self {
            kind,
            namespace: None,
            name,
        }
    }
}

/// A connection to the API server.
#[derive(Clone)]
pub struct ApiServer {
    client: Client,
    metrics: Metrics,
    limit: Duration,
}

impl ApiServer {
    /// Wraps a client. It must not retry by itself (see [`client`]).
    pub fn new(client: Client, metrics: Metrics) -> Self {
        Self {
            client,
            metrics,
            limit: ANSWER_WITHIN,
        }
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

    /// GET; `None` if there is no such object.
    pub async fn get(&self, place: Place<'_>) -> Result<Option<DynamicObject>, CallError> {
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

    /// POST.
    pub async fn create(
        &self,
        kind: Kind,
        namespace: Option<&str>,
        object: &DynamicObject,
    ) -> Result<DynamicObject, CallError> {
        let api = self.objects(kind, namespace);
        let params = PostParams {
            field_manager: Some(manager()),
            ..PostParams::default()
        };
        self.call(Verb::Create, kind, None, api.create(&params, object))
            .await
    }

    /// PUT. `object` carries the uid and resourceVersion it was decided upon.
    pub async fn replace(
        &self,
        place: Place<'_>,
        object: &DynamicObject,
    ) -> Result<DynamicObject, CallError> {
        let api = self.objects(place.kind, place.namespace);
        let params = PostParams {
            field_manager: Some(manager()),
            ..PostParams::default()
        };
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
        let params = PostParams {
            dry_run: true,
            field_manager: Some(manager()),
        };
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
        let api = self.objects(place.kind, place.namespace);
        let only = Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: Some(resource_version.to_owned()),
        };
        let params = DeleteParams::background().preconditions(only);
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

fn manager() -> String {
    names::MANAGER_CONTROLLER.to_owned()
}

/// A client that never repeats a request by itself: the back-off of the queue, the lease's deadline
/// and the watches each decide for themselves what a failure means.
pub fn client(mut config: Config) -> Result<Client, kube::Error> {
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(5));
    Client::try_from(config)
}
