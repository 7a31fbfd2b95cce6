//! Writes and what must become of them, for tests of every layer. Only with feature `corpus`.
//!
//! One file of cases a kind, under `shared/corpus/`. The same cases are judged by the rulebook alone
//! and sent through a real API server with each layer on alone, so that the layers cannot disagree.
//!
//! | file | holds |
//! | --- | --- |
//! | `who` | everybody who writes |
//! | `tried` | what a case shows of a rule |
//! | `long` | the shorthand for long texts and lists |
//! | `transitions` | every way to change an immutable field |

mod long;
mod transitions;
mod tried;
mod who;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::rules::{Operation, Subject};
pub use transitions::{Frozen, State, frozen};
pub use tried::Tried;
pub use who::Who;

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
    who: Writers,
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

/// One writer, or several that try the same.
#[derive(Deserialize)]
#[serde(untagged)]
enum Writers {
    One(Who),
    Each(Vec<Who>),
}

impl Default for Writers {
    fn default() -> Self {
        Self::One(Who::default())
    }
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

    /// Whether the bounds of the CRD's schema refuse it, as the API server does before any rule.
    pub fn breaks_the_schema(&self) -> bool {
        self.refused.iter().any(|rule| rule.starts_with("schema-"))
    }
}

/// Every case, of all sheets and of [`frozen`]; those of classes once for each class kind.
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
            cases.extend(line.cases(subject, &sheet.base));
        }
    }
    for frozen in frozen()? {
        cases.extend(frozen.cases());
    }
    let of_clusters = cases
        .iter()
        .filter(|case| case.subject == Subject::SandboxClass);
    let of_clusters = of_clusters.cloned().map(for_the_cluster);
    let of_clusters: Vec<Case> = of_clusters.collect();
    cases.extend(of_clusters);
    Ok(cases)
}

/// The same case of the cluster-wide kind of class.
fn for_the_cluster(mut case: Case) -> Case {
    case.subject = Subject::ClusterSandboxClass;
    for object in [Some(&mut case.new), case.old.as_mut()]
        .into_iter()
        .flatten()
    {
        json_patch::merge(object, &json!({"kind": case.subject.kind()}));
    }
    case
}

impl Line {
    /// The case of each of its writers.
    fn cases(&self, subject: Subject, base: &Value) -> Vec<Case> {
        let build = |patch: &Value| {
            let mut object = base.clone();
            json_patch::merge(&mut object, &long::expand(patch, 0));
            if let Some(name) = &self.metadata_name {
                json_patch::merge(&mut object, &json!({"metadata": {"name": name}}));
            }
            object
        };
        let case = |who: Who, name: String| Case {
            name,
            subject,
            subresource: self.subresource.clone(),
            who,
            old: self.old.as_ref().map(build),
            new: build(&self.new),
            refused: self.refused.clone(),
            warned: self.warned.clone(),
        };
        match &self.who {
            Writers::One(who) => vec![case(*who, self.name.clone())],
            Writers::Each(each) => each
                .iter()
                .map(|who| case(*who, format!("{} ({who:?})", self.name)))
                .collect(),
        }
    }
}
