use std::cell::Cell;
use std::sync::Arc;

use cel::{Context, Program};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::super::evaluate::{environment, holds};
use super::*;
use crate::render::Installation;
use crate::rules::{Attempt, Operation, Phase, Rulebook, Subject};

thread_local! {
    /// CEL values that this thread has made.
    pub(super) static MADE: Cell<usize> = const { Cell::new(0) };
}

fn says(expression: &str, this: &Value, that: &Value) -> Result<bool, String> {
    let mut context = Context::with_env(Arc::new(environment().unwrap()));
    context.add_variable_as_val("self", cel_value(this));
    context.add_variable_as_val("oldSelf", cel_value(that));
    holds(&Program::compile(expression).unwrap(), &context)
}

// Proves: W-003
#[rstest]
#[case("has(self.a.b) && self.a.b == 1")]
#[case("!has(self.none) && !has(self.a.none) && !('none' in self.a)")]
#[case(
    "self.a.size() == 1 && size(self.a) == 1 && self.list.size() == 3 && self.empty.size() == 0"
)]
#[case("'b' in self.a && self.a['b'] == 1 && !('c' in self.a)")]
#[case("self.list[1] == 'y' && self.list[0] == 'x'")]
#[case("'y' in self.list && !('q' in self.list) && self.list == ['x', 'y', {'z': [1, 2.5, true]}]")]
#[case("self.list.exists(item, item == 'y') && self.objects.all(item, has(item.n))")]
#[case(
    "self.objects.exists_one(item, item.n == 2) && self.objects.filter(item, item.n > 1).size() == 2"
)]
#[case("self.objects.map(item, item.n) == [1, 2, 3]")]
#[case("self.a.all(key, self.a[key] == 1 && key == 'b')")]
#[case("self.text.matches('^h') && self.text + '!' == 'hello!' && string(self.number) == '7'")]
#[case(
    "type(self.a) == map && type(self.list) == list && type(self.number) == int && type(self.half) == double"
)]
#[case("self.number == 7.0 && self.half < self.number && self.large > 1")]
#[case(
    "self == oldSelf && self.a == oldSelf.a && self.objects == oldSelf.objects && !(self != oldSelf)"
)]
fn rules_see_json_as_the_api_server_does(#[case] expression: &str) {
    let value = json!({
        "a": {"b": 1, "none": null},
        "none": null,
        "list": ["x", "y", {"z": [1, 2.5, true], "gone": null}],
        "empty": {"none": null},
        "objects": [{"n": 1}, {"n": 2}, {"n": 3}],
        "text": "hello",
        "number": 7,
        "half": 0.5,
        "large": u64::MAX,
    });
    let mut same = value.clone();
    same["another"] = Value::Null;
    assert_eq!(says(expression, &value, &same), Ok(true));
}

#[rstest]
#[case("self.none == 1")]
#[case("self.list[7] == 1")]
#[case("self.list['x'] == 1")]
#[case("self.a[1] == 1")]
#[case("self.a < 1")]
fn what_is_not_there_or_makes_no_sense_is_an_error(#[case] expression: &str) {
    let value = json!({"a": {}, "list": ["x"], "none": null});
    says(expression, &value, &value).unwrap_err();
}

#[rstest]
#[case(json!({"a": [1, 2]}), json!({"a": [2, 1]}))]
#[case(json!({"a": [1]}), json!({"a": [1, 1]}))]
#[case(json!({"a": {"b": 1}}), json!({"a": {"c": 1}}))]
#[case(json!({"a": {}}), json!({"a": []}))]
#[case(json!({"a": "1"}), json!({"a": 1}))]
#[case(json!({"a": []}), json!({}))]
fn what_differs_is_not_equal(#[case] this: Value, #[case] that: Value) {
    assert_eq!(says("self == oldSelf", &this, &that), Ok(false));
    assert_eq!(says("self != oldSelf", &that, &this), Ok(true));
}

#[test]
fn what_is_printed_of_a_value_is_not_what_is_in_it() {
    let secret = json!({"list": ["hunter2"]});
    let printed = format!("{:?} {:?}", cel_value(&secret), cel_value(&secret["list"]));
    assert_eq!(printed, "object list");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..3_i64).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Without the fields that count as absent.
fn bare(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.clone(), bare(value)))
                .collect(),
        ),
        Value::Array(items) => items.iter().map(bare).collect(),
        other => other.clone(),
    }
}

proptest! {
    // Proves: W-003
    #[test]
    fn two_values_are_equal_exactly_when_their_json_is_but_for_nulls(
        this in any_json(), that in any_json(),
    ) {
        let wrapped = |value: &Value| json!({"value": value});
        let (this, that) = (wrapped(&this), wrapped(&that));
        prop_assert_eq!(says("self == oldSelf", &this, &that), Ok(bare(&this) == bare(&that)));
        prop_assert_eq!(says("self == oldSelf", &this, &this), Ok(true));
    }
}

/// How many CEL values are made to judge a user's write of a claim whose spec has `new` in a field that no
/// schema knows; on update `old` is stored there. And which rules are broken.
fn made_for(rulebook: &Rulebook, new: &Value, old: Option<&Value>) -> (usize, Vec<String>) {
    let claim = |unknown: &Value| {
        json!({"metadata": {"name": "a"}, "spec": {
            "agentRuntimeRef": {"name": "agent"},
            "classRef": {"kind": "SandboxClass", "name": "python"},
            "sessionID": "session-1",
            "unknown": unknown,
        }})
    };
    let (object, stored) = (claim(new), old.map(claim));
    let before = MADE.get();
    let verdict = rulebook.judge(&Attempt {
        subject: Subject::SandboxClaim,
        operation: if old.is_some() {
            Operation::Update
        } else {
            Operation::Create
        },
        subresource: None,
        phase: Phase::Validating,
        object: &object,
        old_object: stored.as_ref(),
        user_info: &json!({"username": "alice"}),
    });
    assert_eq!(verdict.faults, [""; 0]);
    let broken = verdict.violations.into_iter().map(|broken| broken.rule);
    (MADE.get() - before, broken.collect())
}

// Proves: W-016
#[test]
fn of_what_no_rule_reads_nothing_is_made_and_a_spec_is_compared_in_one_pass_to_its_first_difference()
 {
    const MANY: usize = 100_000;
    let rulebook = Rulebook::compile(&Installation::default().identity()).unwrap();
    let (least, _) = made_for(&rulebook, &json!([]), None);
    let (least_compared, _) = made_for(&rulebook, &json!([]), Some(&json!([])));
    let map: Map<_, _> = (0..MANY)
        .map(|at| (format!("k{at:06}"), json!(1)))
        .collect();
    for (many, first) in [
        (Value::from(vec![1; MANY]), "/0"),
        (Value::Object(map), "/k000000"),
    ] {
        let (made, broken) = made_for(&rulebook, &many, None);
        assert_eq!((made, broken.len()), (least, 0), "created");

        let (made, broken) = made_for(&rulebook, &many, Some(&many));
        let most = least_compared + 2 * MANY;
        assert!(made <= most, "{made} for {MANY}");
        assert_eq!(broken, [""; 0], "unchanged");

        let mut other = many.clone();
        *other.pointer_mut(first).unwrap() = json!(2);
        let (made, broken) = made_for(&rulebook, &many, Some(&other));
        assert!(
            made < least_compared + 10,
            "{made} to see the first of {MANY}"
        );
        assert_eq!(broken, ["claim-operator-spec"], "changed");
    }
}
