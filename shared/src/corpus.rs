//! Writes and what must become of them, for tests of every layer. Only with feature `corpus`.
//!
//! One file of cases a kind, under `shared/corpus/`. The same cases are judged by the rulebook alone
//! and sent through a real API server with each layer on alone, so that the layers cannot disagree.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::rules::{Operation, OperatorIdentity, Subject};

/// One write.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is tried, as a sentence.
    pub name: String,
    /// The kind written.
    pub subject: Subject,
    /// The subresource, if not the object itself.
    pub subresource: Option<String>,
    /// Who writes.
    pub who: Who,
    /// What is stored before; with it the write is an update.
    pub old: Option<Value>,
    /// What is written.
    pub new: Value,
    /// Every rule that must be named; empty means admitted.
    pub refused: Vec<String>,
    /// Every rule the writer must be warned by.
    pub warned: Vec<String>,
}

/// Who writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// `system:masters`.
    #[default]
    Administrator,
    /// Somebody with every right on our kinds.
    User,
    /// Somebody who may write classes only.
    ClassAuthor,
    /// The operator, whole.
    Operator,
    /// The operator's name and groups, but no uid.
    OperatorWithoutUid,
    /// The operator's name, but neither ServiceAccount group.
    OperatorWithoutGroups,
    /// The operator's token, not bound to a pod.
    OperatorWithoutPod,
}

#[derive(Deserialize)]
struct Sheet {
    kind: String,
    base: Value,
    cases: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line {
    name: String,
    #[serde(default)]
    metadata_name: Option<String>,
    #[serde(default)]
    who: Who,
    #[serde(default)]
    subresource: Option<String>,
    #[serde(default)]
    old: Option<Value>,
    new: Value,
    #[serde(default)]
    refused: Vec<String>,
    #[serde(default)]
    warned: Vec<String>,
}

impl Case {
    /// Create or update.
    pub fn operation(&self) -> Operation {
        if self.old.is_some() {
            Operation::Update
        } else {
            Operation::Create
        }
    }
}

impl Who {
    /// `userInfo` as the API server would write it.
    pub fn user_info(self, operator: &OperatorIdentity) -> Value {
        let namespace = operator.username.split(':').nth(2).unwrap_or_default();
        let groups = json!([
            "system:serviceaccounts",
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated"
        ]);
        let pod = json!({"authentication.kubernetes.io/pod-name": ["sandgate-0"]});
        let name = &operator.username;
        match self {
            Self::Administrator => json!({"username": "admin", "groups": ["system:masters"]}),
            Self::User => json!({"username": "alice", "groups": ["system:authenticated"]}),
            Self::ClassAuthor => {
                json!({"username": "platform", "groups": ["system:authenticated"]})
            }
            Self::Operator => json!({"username": name, "uid": "u", "groups": groups, "extra": pod}),
            Self::OperatorWithoutUid => json!({"username": name, "groups": groups, "extra": pod}),
            Self::OperatorWithoutGroups => {
                json!({"username": name, "uid": "u", "groups": ["system:authenticated"], "extra": pod})
            }
            Self::OperatorWithoutPod => json!({"username": name, "uid": "u", "groups": groups}),
        }
    }
}

/// Every case; those of classes once for each class kind.
///
/// # Errors
/// A sheet that does not parse, with its reason.
pub fn cases() -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for sheet in [
        include_str!("../corpus/claim.yaml"),
        include_str!("../corpus/class.yaml"),
        include_str!("../corpus/connection.yaml"),
    ] {
        let sheet: Sheet = serde_saphyr::from_str(sheet).map_err(|error| error.to_string())?;
        let subject = Subject::from_kind(&sheet.kind).ok_or("a sheet of an unknown kind")?;
        for line in &sheet.cases {
            cases.push(case(subject, &sheet.base, line));
            if subject == Subject::SandboxClass {
                cases.push(case(Subject::ClusterSandboxClass, &sheet.base, line));
            }
        }
    }
    Ok(cases)
}

fn case(subject: Subject, base: &Value, line: &Line) -> Case {
    let build = |patch: &Value| {
        let mut object = base.clone();
        json_patch::merge(&mut object, patch);
        if let Some(fields) = object.as_object_mut() {
            fields.insert("kind".into(), json!(subject.kind()));
        }
        if let Some(name) = &line.metadata_name {
            json_patch::merge(&mut object, &json!({"metadata": {"name": name}}));
        }
        object
    };
    Case {
        name: line.name.clone(),
        subject,
        subresource: line.subresource.clone(),
        who: line.who,
        old: line.old.as_ref().map(build),
        new: build(&line.new),
        refused: line.refused.clone(),
        warned: line.warned.clone(),
    }
}
