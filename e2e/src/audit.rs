//! What was asked of the API server, read from its audit log. Does I/O.

use std::fs;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Outcome;
use crate::namespace::{DEADLINE, Namespace};

/// The controller's user. Tests act as it, too; see [`Request::of_controller`].
pub const CONTROLLER: &str = "system:serviceaccount:sandgate-system:sandgate-controller";

/// The log has no event to wait for; it is read this often until it has caught up.
const READ_EVERY: Duration = Duration::from_millis(20);

/// One request and its answer.
#[derive(Clone, Debug)]
pub struct Request(Value);

impl Request {
    fn text(&self, pointer: &str) -> &str {
        self.0
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// As whom it was asked.
    pub fn user(&self) -> &str {
        match self.text("/impersonatedUser/username") {
            "" => self.text("/user/username"),
            user => user,
        }
    }

    /// Reads a line of the log; `None` if it is none, as the last one is that is half written.
    pub fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok().map(Self)
    }

    /// Whether a controller's own process asked: its token is bound to the pod it runs in or stands for.
    pub fn of_controller(&self) -> bool {
        self.user() == CONTROLLER && self.pod().starts_with("sandgate-")
    }

    /// API group of the object, empty for the core one.
    pub fn group(&self) -> &str {
        self.text("/objectRef/apiGroup")
    }

    /// `create`, `update`, …
    pub fn verb(&self) -> &str {
        self.text("/verb")
    }

    /// Namespace of the object.
    pub fn namespace(&self) -> &str {
        self.text("/objectRef/namespace")
    }

    /// `deployments` or `sandboxclaims/status`.
    pub fn resource(&self) -> String {
        match self.text("/objectRef/subresource") {
            "" => self.text("/objectRef/resource").to_owned(),
            subresource => format!("{}/{subresource}", self.text("/objectRef/resource")),
        }
    }

    /// Name of the object, also of one that was created.
    pub fn name(&self) -> &str {
        match self.text("/objectRef/name") {
            "" => self.text("/requestObject/metadata/name"),
            name => name,
        }
    }

    /// Status code of the answer.
    pub fn code(&self) -> u64 {
        let code = self
            .0
            .pointer("/responseStatus/code")
            .and_then(Value::as_u64);
        code.unwrap_or_default()
    }

    /// What the API server said of a request that it did not do.
    pub fn said(&self) -> &str {
        self.text("/responseStatus/message")
    }

    /// Whether RBAC refused it.
    pub fn forbidden(&self) -> bool {
        self.text("/annotations/authorization.k8s.io~1decision") == "forbid"
    }

    /// Whether it was to change nothing.
    pub fn dry_run(&self) -> bool {
        self.text("/requestURI").contains("dryRun=")
    }

    /// Whether it may have changed something: a write that was not a dry run and was not refused.
    pub fn wrote(&self) -> bool {
        let writes = matches!(
            self.verb(),
            "create" | "update" | "patch" | "delete" | "deletecollection"
        );
        writes && !self.dry_run() && self.code() < 300
    }

    /// What a deletion says the object has to be.
    pub fn precondition(&self, field: &str) -> &str {
        self.text(&format!("/requestObject/preconditions/{field}"))
    }

    /// UID of the object, as far as the log keeps it.
    pub fn uid(&self) -> &str {
        let said = [
            "/responseObject/metadata/uid",
            "/requestObject/preconditions/uid",
            "/responseObject/details/uid",
        ];
        let mut said = said.map(|pointer| self.text(pointer)).into_iter();
        said.find(|uid| !uid.is_empty()).unwrap_or_default()
    }

    /// The whole line of the log.
    pub fn line(&self) -> String {
        self.0.to_string()
    }

    /// Whether a deletion leaves a pod's programs no time.
    pub fn without_grace(&self) -> bool {
        self.0.pointer("/requestObject/gracePeriodSeconds") == Some(&Value::from(0))
    }

    /// resourceVersion of the object it returned.
    pub fn version(&self) -> &str {
        self.text("/responseObject/metadata/resourceVersion")
    }

    /// The object it returned, if it is one of these and the log keeps it.
    pub fn returned<K: DeserializeOwned>(&self) -> Option<K> {
        let object = self.0.pointer("/responseObject")?.clone();
        serde_json::from_value(object).ok()
    }

    /// The pod the token was bound to: which of several controllers asked.
    pub fn pod(&self) -> &str {
        self.text("/user/extra/authentication.kubernetes.io~1pod-name/0")
    }

    /// `create deployments x-sandbox`, for a failing test's text; Events are named by their reason.
    pub fn sentence(&self) -> String {
        let name = match self.text("/requestObject/reason") {
            "" => self.name(),
            reason => reason,
        };
        format!("{} {} {name}", self.verb(), self.resource())
    }
}

/// All that controllers asked for in a namespace, up to now.
pub async fn of_controller(namespace: &Namespace) -> Outcome<Vec<Request>> {
    let all = up_to_now(namespace, namespace.name()).await?.into_iter();
    let ours = all.filter(|it| it.of_controller() && it.namespace() == namespace.name());
    Ok(ours.collect())
}

/// Every request up to now whose line in the log holds `word`, in order of the answers. The log is
/// written a moment after the answer: a mark of our own is made first, and the log is read until it
/// shows it.
pub async fn up_to_now(namespace: &Namespace, word: &str) -> Outcome<Vec<Request>> {
    let marks = namespace.api::<ConfigMap>();
    let mark = ConfigMap {
        metadata: ObjectMeta {
            generate_name: Some("mark-".to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    let mark = marks.create(&PostParams::default(), &mark).await?;
    let mark = mark.metadata.name.unwrap_or_default();
    marks.delete(&mark, &DeleteParams::default()).await?;
    let mut turn = tokio::time::interval(READ_EVERY);
    let caught_up = async {
        loop {
            turn.tick().await;
            let text = fs::read_to_string(&namespace.cluster().access().audit_log)?;
            // The last line may be half written.
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let shows_it =
                |line: &str| line.contains(&mark) && line.contains("\"verb\":\"delete\"");
            if whole.lines().rev().any(shows_it) {
                let lines = whole.lines().filter(|line| line.contains(word));
                let requests = lines.map(|line| serde_json::from_str(line).map(Request));
                return Outcome::Ok(requests.collect::<Result<_, _>>()?);
            }
        }
    };
    tokio::time::timeout(DEADLINE, caught_up).await?
}

/// Fails if RBAC ever refused the controller anything.
pub fn assert_nothing_was_forbidden(requests: &[Request]) {
    let forbidden = requests
        .iter()
        .filter(|it| it.of_controller() && it.forbidden());
    let sentences: Vec<String> = forbidden.map(Request::sentence).collect();
    assert_eq!(sentences, Vec::<String>::new());
}
