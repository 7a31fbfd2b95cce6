//! Writes made at random from the corpus and the schemas, and the webhook's verdict on them. Pure,
//! the same for the same seed.

use std::collections::{BTreeSet, HashMap};

use sandgate_shared::corpus::{Case, Who};
use sandgate_shared::render::{self, Installation};
use sandgate_shared::rules::{Attempt, Layer, Operation, Phase, Rulebook, Subject, table};
use serde_json::{Value, json};

use super::edits::Kind;
use crate::corpus::{broken, of};
use crate::generated::{Filling, Generator, nothing};
use crate::rendering_accepted::plausible::plausible;

/// Times a write is made anew until it is what it is meant to be.
const DRAWS: usize = 50;

/// Names that some rule or other is about.
const NAMES: [&str; 6] = [
    "random-pair",
    "7k2qp",
    "a.b",
    "a",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    pub subject: Subject,
    /// What is stored, as it was read back; with it the write is an update.
    pub old: Option<Value>,
    pub new: Value,
    /// How to make it again.
    pub origin: String,
}

/// What a write is meant to be in the webhook's eyes.
enum Aim {
    Breaks(&'static str),
    Admitted,
    Anything,
}

/// The webhook's verdict, of what the CRD holds as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Rules of the CRD that are broken.
    pub rules: BTreeSet<String>,
    /// Bounds of the schema that are broken.
    pub bounds: BTreeSet<String>,
    pub faults: Vec<String>,
}

/// A write of the corpus, before it is edited.
struct Start {
    subject: Subject,
    old: Option<Value>,
    new: Value,
    breaks: BTreeSet<&'static str>,
}

/// All that random writes are made from.
pub struct Source {
    starts: Vec<Start>,
    kinds: HashMap<Subject, Kind>,
    rules: Vec<&'static str>,
    book: Rulebook,
}

/// The rules that CRDs hold.
pub fn rules() -> Vec<&'static str> {
    let rows = table().filter(|row| row.layer == Layer::Crd);
    rows.map(|row| row.id).collect()
}

/// The object of the corpus under a name of its own.
pub fn called(object: &Value, name: &str) -> Value {
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1",
        "kind": object["kind"],
        "metadata": { "name": name },
        "spec": object["spec"],
    })
}

fn schema(subject: Subject) -> Value {
    let mut crds = render::crds().into_iter();
    let crd = crds.find(|crd| crd["spec"]["names"]["kind"] == subject.kind());
    crd.unwrap()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone()
}

impl Source {
    /// From the cases, to be used once their objects are [stored](Self::of_stored).
    pub fn new(cases: &[Case]) -> Self {
        let kinds = Subject::ALL.map(|subject| {
            let ours = cases.iter().filter(|case| case.subject == subject);
            let objects = ours.flat_map(|case| case.old.iter().chain([&case.new]));
            let specs = objects.map(|object| &object["spec"]);
            (subject, Kind::new(schema(subject), specs))
        });
        Self {
            starts: Vec::new(),
            kinds: HashMap::from(kinds),
            rules: rules(),
            book: Rulebook::compile(&Installation::default().identity()).unwrap(),
        }
    }

    /// What to store: every object that the schema's bounds admit, whichever rules it breaks, since
    /// objects are older than rules. Of the corpus, and `each` of every kind from its schema.
    pub fn to_store(&self, cases: &[Case], each: u64) -> Vec<(Subject, Value)> {
        let of_corpus = cases.iter().flat_map(|case| {
            let objects = case.old.iter().chain([&case.new]);
            objects.map(|object| (case.subject, object.clone()))
        });
        let made = Subject::ALL.into_iter().flat_map(|subject| {
            (0..each).map(move |seed| {
                let mut make = Generator::new(seed, Filling::Partial, plausible);
                let spec = make.value(self.kinds[&subject].schema(), "spec");
                (subject, json!({ "kind": subject.kind(), "spec": spec }))
            })
        });
        let mut seen = BTreeSet::new();
        let fresh = of_corpus
            .chain(made)
            .filter(|(_, object)| seen.insert(format!("{}{}", object["kind"], object["spec"])));
        fresh
            .filter(|(subject, object)| {
                let new = called(object, "stored");
                let (old, origin) = (None, String::new());
                let subject = *subject;
                let pair = Pair {
                    subject,
                    old,
                    new,
                    origin,
                };
                self.judge(&pair).bounds.is_empty()
            })
            .collect()
    }

    /// With the cases and what of them is stored.
    pub fn of_stored(mut self, cases: &[Case], stored: &[(Subject, Value, Value)]) -> Self {
        for case in cases.iter().filter(|case| case.subresource.is_none()) {
            let old = case.old.as_ref().map(|old| {
                let same = |(subject, asked, _): &&(Subject, Value, Value)| {
                    *subject == case.subject && asked["spec"] == old["spec"]
                };
                stored.iter().find(same).unwrap().2.clone()
            });
            let breaks = broken(case, of(Layer::Crd));
            let breaks = self.rules.iter().copied().filter(|id| breaks.contains(id));
            let name = case.new.pointer("/metadata/name").and_then(Value::as_str);
            let name = name.unwrap_or(NAMES[0]);
            self.starts.push(Start {
                subject: case.subject,
                new: written(case.subject, old.as_ref(), name, case.new["spec"].clone()),
                old,
                breaks: breaks.collect(),
            });
        }
        self.starts
            .extend(stored.iter().map(|(subject, _, stored)| Start {
                subject: *subject,
                old: Some(stored.clone()),
                new: stored.clone(),
                breaks: BTreeSet::new(),
            }));
        self
    }

    /// The write with this number of this seed. One of three breaks a rule, each rule in turn; one is
    /// admitted; one is as chance would have it.
    pub fn pair(&self, seed: u64, number: u64) -> Pair {
        let turn = usize::try_from((seed % 1000) * 17 + number / 3).unwrap();
        let aim = match number % 3 {
            0 => Aim::Breaks(self.rules[turn % self.rules.len()]),
            1 => Aim::Admitted,
            _ => Aim::Anything,
        };
        let own_seed = seed.wrapping_mul(1_000_003).wrapping_add(number);
        let special = if number.is_multiple_of(2) {
            plausible
        } else {
            nothing
        };
        let mut make = Generator::new(own_seed, Filling::Partial, special);
        let origin = format!("write {number} of seed {seed}");
        let mut drawn = self.draw(&mut make, &aim, &origin);
        for _ in 0..DRAWS {
            if self.meets(&drawn, &aim) {
                break;
            }
            drawn = self.draw(&mut make, &aim, &origin);
        }
        drawn
    }

    fn draw(&self, make: &mut Generator, aim: &Aim, origin: &str) -> Pair {
        let fits = |start: &&Start| match aim {
            Aim::Breaks(rule) => start.breaks.contains(rule),
            Aim::Admitted => start.breaks.is_empty(),
            Aim::Anything => true,
        };
        let starts: Vec<&Start> = self.starts.iter().filter(fits).collect();
        let start = *make.one_of(&starts);
        let mut spec = start.new["spec"].clone();
        let kind = &self.kinds[&start.subject];
        if !matches!(aim, Aim::Breaks(_)) && make.perhaps(20) {
            spec = make.value(kind.schema(), "spec");
        }
        for _ in 0..make.number(0, 3) {
            kind.edit(make, &mut spec);
        }
        let mut name = start.new["metadata"]["name"].as_str().unwrap();
        if start.old.is_none() && make.perhaps(10) {
            name = *make.one_of::<&str>(&NAMES);
        }
        Pair {
            subject: start.subject,
            new: written(start.subject, start.old.as_ref(), name, spec),
            old: start.old.clone(),
            origin: origin.to_owned(),
        }
    }

    fn meets(&self, pair: &Pair, aim: &Aim) -> bool {
        let judged = self.judge(pair);
        match aim {
            Aim::Breaks(rule) => judged.bounds.is_empty() && judged.rules.contains(*rule),
            Aim::Admitted => judged == Judged::default(),
            Aim::Anything => true,
        }
    }

    /// What the webhook says of the write as the API server hands it on.
    pub fn judge(&self, pair: &Pair) -> Judged {
        let mut object = pair.new.clone();
        drop_nulls(&mut object);
        let verdict = self.book.judge(&Attempt {
            subject: pair.subject,
            operation: match pair.old {
                Some(_) => Operation::Update,
                None => Operation::Create,
            },
            subresource: None,
            phase: Phase::Mutating,
            object: &object,
            old_object: pair.old.as_ref(),
            user_info: &Who::User.user_info(&Installation::default().identity()),
        });
        let named = verdict.violations.into_iter().map(|broken| broken.rule);
        let (bounds, rules): (BTreeSet<_>, _) = named.partition(|id| id.starts_with("schema-"));
        let of_crd = |id: &String| self.rules.contains(&id.as_str());
        Judged {
            rules: rules
                .into_iter()
                .filter(of_crd)
                .collect::<BTreeSet<String>>(),
            bounds,
            faults: verdict.faults,
        }
    }
}

/// Takes out fields that are null, as the API server does when it reads an object, before it asks any
/// webhook: none of our fields is nullable.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// What is sent: the stored object with another spec, or a new one.
fn written(subject: Subject, old: Option<&Value>, name: &str, spec: Value) -> Value {
    let mut object = match old {
        Some(old) => old.clone(),
        None => called(&json!({ "kind": subject.kind() }), name),
    };
    object["spec"] = spec;
    object
}
