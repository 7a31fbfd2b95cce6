//! Values made from a CRD's schema: every field, within its bounds. Pure, the same for the same seed.

use std::collections::BTreeSet;

use proptest::prelude::RngExt;
use proptest::strategy::{Strategy, ValueTree};
use proptest::string::string_regex;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

/// How a value fills its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Every field, short.
    Whole,
    /// Every field, each text as long as it may be, one item a list.
    Longest,
    /// Every field, each list as long as it may be.
    Fullest,
    /// Some of the fields.
    Partial,
}

/// What is written instead of a value from the schema, at a path such as `spec.ports[].name`.
pub type Special = fn(&mut Generator, &str) -> Option<Value>;

/// Makes values from schemas.
pub struct Generator {
    runner: TestRunner,
    filling: Filling,
    special: Special,
    /// Paths of every leaf made.
    pub made: BTreeSet<String>,
}

/// The pieces of text that go wrong when something reads bytes, quotes or escapes.
const ODD: [char; 12] = [
    '\u{0}', '\n', '\t', '"', '\\', '<', '&', '\u{7f}', 'ß', '\u{2028}', '\u{fffd}', '🦀',
];

impl Generator {
    pub fn new(seed: u64, filling: Filling, special: Special) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Self {
            runner: TestRunner::new_with_rng(Config::default(), rng),
            filling,
            special,
            made: BTreeSet::new(),
        }
    }

    /// A number from `low` to `high`, both included.
    pub fn number(&mut self, low: i64, high: i64) -> i64 {
        self.runner.rng().random_range(low..=high)
    }

    /// Yes with this many chances in a hundred.
    pub fn perhaps(&mut self, percent: u32) -> bool {
        self.runner.rng().random_ratio(percent, 100)
    }

    /// One of these.
    pub fn one_of<'a, T>(&mut self, choice: &'a [T]) -> &'a T {
        let last = i64::try_from(choice.len()).unwrap() - 1;
        &choice[usize::try_from(self.number(0, last)).unwrap()]
    }

    /// A value that `schema` admits. `path` names it in [`Generator::made`].
    pub fn value(&mut self, schema: &Value, path: &str) -> Value {
        if let Some(value) = (self.special)(self, path) {
            self.made.insert(path.to_owned());
            return value;
        }
        if schema.get("x-kubernetes-int-or-string").is_some() {
            self.made.insert(path.to_owned());
            return if self.perhaps(30) {
                json!(self.number(0, 1_000_000))
            } else {
                self.text(schema)
            };
        }
        match schema["type"].as_str() {
            Some("object") => self.object(schema, path),
            Some("array") => self.list(schema, path),
            Some("string") => {
                self.made.insert(path.to_owned());
                self.text(schema)
            }
            Some("integer") => {
                self.made.insert(path.to_owned());
                self.integer(schema)
            }
            Some("boolean") => {
                self.made.insert(path.to_owned());
                json!(self.perhaps(50))
            }
            other => panic!("{path} has type {other:?}, which no field of ours has"),
        }
    }

    fn object(&mut self, schema: &Value, path: &str) -> Value {
        let mut fields = Map::new();
        let required = schema["required"].as_array();
        let required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
        for (name, child) in schema["properties"].as_object().into_iter().flatten() {
            if required(name) || self.filling != Filling::Partial || self.perhaps(50) {
                let value = self.value(child, &format!("{path}.{name}"));
                fields.insert(name.clone(), value);
            }
        }
        if schema["additionalProperties"].is_object() {
            for _ in 0..self.count(schema, "minProperties", "maxProperties") {
                let name = self.matching("[a-z]{1,8}(/[A-Za-z0-9._-]{1,20})?");
                let value = self.value(&schema["additionalProperties"], &format!("{path}.*"));
                fields.insert(name, value);
            }
        }
        if schema["x-kubernetes-preserve-unknown-fields"] == true {
            self.made.insert(path.to_owned());
            let (number, flag) = (self.number(0, i64::MAX), self.perhaps(50));
            fields.insert("any".to_owned(), json!({ "depth": [number, flag, "text"] }));
        }
        Value::Object(fields)
    }

    fn list(&mut self, schema: &Value, path: &str) -> Value {
        let keys: Vec<&str> = match schema["x-kubernetes-list-type"].as_str() {
            Some("map") => {
                let keys = schema["x-kubernetes-list-map-keys"].as_array().unwrap();
                keys.iter().map(|key| key.as_str().unwrap()).collect()
            }
            _ => Vec::new(),
        };
        let unique = schema["x-kubernetes-list-type"]
            .as_str()
            .unwrap_or("atomic")
            != "atomic";
        let key = |item: &Value| match keys.as_slice() {
            [] => item.to_string(),
            keys => json!(keys.iter().map(|key| &item[key]).collect::<Vec<_>>()).to_string(),
        };
        let mut items: Vec<Value> = Vec::new();
        for _ in 0..self.count(schema, "minItems", "maxItems") {
            let item = self.value(&schema["items"], &format!("{path}[]"));
            if !unique || items.iter().all(|other| key(other) != key(&item)) {
                items.push(item);
            }
        }
        Value::Array(items)
    }

    /// How many items or entries.
    fn count(&mut self, schema: &Value, least: &str, most: &str) -> i64 {
        let least = schema[least].as_i64().unwrap_or(0);
        let most = schema[most].as_i64().unwrap_or(8);
        match self.filling {
            Filling::Whole | Filling::Longest => least.max(1).min(most),
            Filling::Fullest => most,
            Filling::Partial => self.number(least, most.min(least + 3)),
        }
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let (least, most) = match schema["format"].as_str() {
            Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
            _ => (i64::MIN, i64::MAX),
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "bounds are small whole numbers"
        )]
        let bound = |name: &str| schema[name].as_f64().map(|bound| bound as i64);
        let (least, most) = (
            bound("minimum").unwrap_or(least),
            bound("maximum").unwrap_or(most),
        );
        json!(match self.number(0, 9) {
            0 => least,
            1 => most,
            _ => self.number(least, most),
        })
    }

    fn text(&mut self, schema: &Value) -> Value {
        if let Some(choice) = schema["enum"].as_array() {
            return self.one_of(choice).clone();
        }
        if schema["format"] == "date-time" {
            let (hour, second) = (self.number(0, 23), self.number(0, 59));
            return json!(format!("2026-11-20T{hour:02}:00:{second:02}Z"));
        }
        let least = usize::try_from(schema["minLength"].as_u64().unwrap_or(0)).unwrap();
        let most = usize::try_from(schema["maxLength"].as_u64().unwrap_or(1024)).unwrap();
        let fits = |text: &String| (least..=most).contains(&text.chars().count());
        if let Some(pattern) = schema["pattern"].as_str() {
            let text = (0..1000).map(|_| self.matching(pattern)).find(fits);
            return json!(text.unwrap_or_else(|| panic!("no text matches {pattern}")));
        }
        let length = match self.filling {
            Filling::Longest => most,
            _ => usize::try_from(self.number(0, 24))
                .unwrap()
                .clamp(least.max(1), most),
        };
        let text: String = (0..length).map(|_| self.character()).collect();
        json!(text)
    }

    fn character(&mut self) -> char {
        match self.number(0, 9) {
            0 => *self.one_of(&ODD),
            _ => char::from(u8::try_from(self.number(0x20, 0x7e)).unwrap()),
        }
    }

    /// A text that matches the whole pattern.
    pub fn matching(&mut self, pattern: &str) -> String {
        let (pattern, ends) = match pattern.strip_suffix('$') {
            Some(pattern) => (pattern, true),
            None => (pattern, !pattern.starts_with('^')),
        };
        let pattern = pattern.strip_prefix('^').unwrap_or(pattern);
        let strategy = string_regex(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        let mut text = strategy.new_tree(&mut self.runner).unwrap().current();
        if !ends {
            text.push_str(&self.matching("[ -~]{0,20}"));
        }
        text
    }
}

/// Nothing special.
pub fn nothing(_: &mut Generator, _: &str) -> Option<Value> {
    None
}
