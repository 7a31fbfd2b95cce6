//! Where reviews are handed in, and what every answer must be whatever was asked.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::time::{ClockId, clock_gettime};
use sandgate_shared::render::Installation;
use sandgate_shared::rules::{Attempt, Phase, Rulebook, Subject};
use sandgate_webhook::review::{Answer, Decision, Reply, answer, find_uid};
use serde_json::{Value, json};

pub const UID: &str = "705ab4f5-6393-11e8-b7cc-42010a800002";

/// CPU that one answer may take, in a build without optimisation: far below the API server's patience,
/// far above what any takes.
const PATIENCE: Duration = Duration::from_secs(4);
/// More than ten causes of a thousand characters, told twice.
const LONGEST_REPLY: usize = 64 * 1024;

static RULEBOOK: LazyLock<Rulebook> = LazyLock::new(rules);

fn rules() -> Rulebook {
    Rulebook::compile(&Installation::default().identity()).unwrap()
}

/// A webhook that has compiled the rules for itself.
pub fn another_replica() -> impl Fn(&[u8], Phase) -> Answer {
    // A judge lives as long as a webhook does.
    let rules: &'static Rulebook = Box::leak(Box::new(rules()));
    move |body, phase| {
        answer(body, phase, &move |attempt: &Attempt<'_>| {
            rules.judge(attempt)
        })
    }
}

/// The ways in which a write comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Create,
    Update,
    Status,
}

impl Way {
    pub const ALL: [Self; 3] = [Self::Create, Self::Update, Self::Status];
}

/// What was decided at the end of both webhooks, as the API server would end it.
#[derive(Clone, PartialEq)]
pub struct Decided {
    /// 200 for an admission.
    pub code: u64,
    /// Ids of broken rules.
    pub rules: BTreeSet<String>,
    pub message: String,
    /// Operations that fill in defaults.
    pub patch: Vec<Value>,
    /// The object in the end.
    pub object: Value,
}

impl Decided {
    /// Whether this is what `expected` says: nothing for an admission; else codes and rule ids, all of
    /// which must be named.
    pub fn is(&self, expected: &str) -> bool {
        let admitted = self.code == 200;
        admitted == expected.is_empty()
            && expected
                .split_whitespace()
                .all(|word| match word.parse::<u64>() {
                    Ok(code) => self.code == code,
                    Err(_) => self.rules.contains(word),
                })
    }
}

impl fmt::Debug for Decided {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules: Vec<&str> = self.rules.iter().map(String::as_str).collect();
        write!(out, "{} {}: {}", self.code, rules.join(" "), self.message)
    }
}

/// The review of a write; on the status, both objects are updated through it.
pub fn review(subject: Subject, way: Way, old: &Value, new: &Value, writer: &Value) -> Value {
    let kind =
        json!({"group": "omnia.altairalabs.ai", "version": "v1alpha1", "kind": subject.kind()});
    let resource = json!({
        "group": "omnia.altairalabs.ai", "version": "v1alpha1", "resource": subject.plural(),
    });
    let (operation, options) = match way {
        Way::Create => ("CREATE", "CreateOptions"),
        Way::Update | Way::Status => ("UPDATE", "UpdateOptions"),
    };
    let mut review = json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": UID,
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": new.pointer("/metadata/name"),
            "namespace": new.pointer("/metadata/namespace"),
            "operation": operation,
            "userInfo": writer,
            "object": new,
            "oldObject": if way == Way::Create { &Value::Null } else { old },
            "dryRun": false,
            "options": {"kind": options, "apiVersion": "meta.k8s.io/v1"},
        },
    });
    if way == Way::Status {
        review["request"]["subResource"] = json!("status");
    }
    review
}

/// The reply to raw bytes on one path. It must come in time and be no longer than it may; what could be
/// steered by foreign text is looked at.
pub fn ask(body: &[u8], phase: Phase) -> Answer {
    let before = cpu_time();
    let answered = answer(body, phase, &|attempt: &Attempt<'_>| {
        RULEBOOK.judge(attempt)
    });
    let took = cpu_time().saturating_sub(before);
    assert!(took < PATIENCE, "took {took:?} of CPU time");
    match &answered.reply {
        Reply::Review(bytes) => {
            assert!(bytes.len() < LONGEST_REPLY, "{} bytes", bytes.len());
            let review: Value = serde_json::from_slice(bytes).unwrap();
            let uid = review["response"]["uid"].as_str();
            assert_eq!(uid, uid_of(body).as_deref(), "the uid is echoed");
            let message = review["response"]["status"]["message"].as_str();
            let message = message.unwrap_or_default();
            assert!(!message.chars().any(char::is_control), "{message:?}");
        }
        Reply::Text { code, text } => {
            assert_eq!(
                uid_of(body),
                None,
                "a uid that could be echoed: {code} {text}"
            );
        }
    }
    answered
}

/// The uid as whoever reads JSON sees it; of what is no JSON, as far as it can be found.
fn uid_of(body: &[u8]) -> Option<String> {
    // Of a large body no second tree is built: what memory is taken is what the webhook takes.
    let read = (body.len() < 1024 * 1024).then(|| serde_json::from_slice::<Value>(body).ok());
    match read.flatten() {
        None => find_uid(body),
        Some(review) => review
            .pointer("/request/uid")
            .and_then(Value::as_str)
            .filter(|uid| (1..=256).contains(&uid.len()))
            .map(str::to_owned),
    }
}

fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        now.tv_sec.try_into().unwrap(),
        now.tv_nsec.try_into().unwrap(),
    )
}

/// The response within an answer; nothing for a plain error.
pub fn response(answered: &Answer) -> Option<Value> {
    match &answered.reply {
        Reply::Review(bytes) => {
            let review: Value = serde_json::from_slice(bytes).unwrap();
            Some(review["response"].clone())
        }
        Reply::Text { .. } => None,
    }
}

fn decided(answered: &Answer, object: &Value) -> Decided {
    let response = response(answered).expect("a review with a uid gets a review back");
    let patch = response["patch"].as_str().map(|patch| {
        serde_json::from_slice::<Vec<Value>>(&STANDARD.decode(patch).unwrap()).unwrap()
    });
    let allowed = response["allowed"] == true;
    assert_eq!(allowed, response["status"].is_null(), "{response:#}");
    let admits = matches!(answered.decision, Decision::Allowed | Decision::Patched);
    assert_eq!(allowed, admits, "{response:#}");
    Decided {
        code: response["status"]["code"].as_u64().unwrap_or(200),
        rules: answered.rules.iter().cloned().collect(),
        message: response["status"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        patch: patch.unwrap_or_default(),
        object: object.clone(),
    }
}

/// Hands a review in as the API server does: the mutating path, its patch, the validating path. What is
/// true of every review is checked on the way.
pub fn decide(review: &Value) -> Decided {
    let object = &review["request"]["object"];
    let mutated = decided(&ask(review.to_string().as_bytes(), Phase::Mutating), object);
    let validated = |review: &Value| {
        let body = review.to_string();
        let validated = decided(
            &ask(body.as_bytes(), Phase::Validating),
            &review["request"]["object"],
        );
        assert_eq!(
            validated.patch,
            Vec::<Value>::new(),
            "a patch on the validating path"
        );
        validated
    };
    if mutated.code != 200 {
        // A webhook that is skipped by the mutating path must still refuse.
        let alone = validated(review);
        assert_eq!(alone.code, mutated.code, "{alone:?}\n{mutated:?}");
        assert!(
            alone.rules.is_superset(&mutated.rules),
            "{alone:?}\n{mutated:?}"
        );
        return mutated;
    }
    let mut patched = review.clone();
    if !mutated.patch.is_empty() {
        assert!(
            review["request"]["subResource"].is_null(),
            "a patch of a status"
        );
        for operation in &mutated.patch {
            assert_eq!(operation["op"], "add", "nothing is replaced or removed");
            let path = operation["path"].as_str().unwrap();
            assert!(object.pointer(path).is_none(), "{path} is there");
        }
        let patch: json_patch::Patch = serde_json::from_value(json!(mutated.patch)).unwrap();
        json_patch::patch(&mut patched["request"]["object"], &patch).unwrap();
        let again = decided(
            &ask(patched.to_string().as_bytes(), Phase::Mutating),
            object,
        );
        assert_eq!(
            (again.code, again.patch),
            (200, Vec::new()),
            "a second pass"
        );
    }
    Decided {
        patch: mutated.patch,
        ..validated(&patched)
    }
}

/// The same review as a dry run gets the same answer, to the byte: nothing of ours has side effects.
pub fn decide_dry_too(review: &Value) -> Decided {
    let mut dry = review.clone();
    dry["request"]["dryRun"] = json!(true);
    for phase in [Phase::Mutating, Phase::Validating] {
        let replies = [review, &dry].map(|review| ask(review.to_string().as_bytes(), phase).reply);
        assert_eq!(replies[0], replies[1], "a dry run is decided otherwise");
    }
    decide(review)
}
