//! Tables of attempts, and everything that is wrong in one of them told at once.

use sandgate_shared::rules::Subject;
use serde_json::Value;

use crate::desk::{Way, decide_dry_too, review};
use crate::objects::{Bend, bent, good, operator, user};

/// One attempt: what it is, what is wrong with the object, and what comes of creating it and of
/// updating a right object to it.
pub type Row = (&'static str, Vec<Bend>, &'static str, &'static str);

/// Tries every row by `writer`. Through the status the operator may always write, since the API server
/// keeps spec and metadata there; a claim's status is the operator's alone.
pub fn tried(subject: Subject, writer: &Value, rows: Vec<Row>) {
    let stored = good(subject);
    let mut wrong = Vec::new();
    for (name, bends, create, update) in rows {
        let new = bent(stored.clone(), &bends);
        let mut expect = |way: Way, writer: &Value, expected: &str| {
            let decided = decide_dry_too(&review(subject, way, &stored, &new, writer));
            if !decided.is(expected) {
                wrong.push(format!(
                    "{name}, {way:?}: expected {expected:?}, got {decided:?}"
                ));
            }
        };
        expect(Way::Create, writer, create);
        expect(Way::Update, writer, update);
        expect(Way::Status, &operator(), "");
        let reserved = if subject == Subject::SandboxClaim {
            "403 claim-operator-status"
        } else {
            ""
        };
        expect(Way::Status, &user(), reserved);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is stored, what it is changed to, and what comes of it.
pub type Change = (&'static str, Vec<Bend>, Vec<Bend>, &'static str);

/// Tries every row by the operator: nobody else may change a claim's spec at all.
pub fn changed(subject: Subject, rows: Vec<Change>) {
    let mut wrong = Vec::new();
    for (name, stored, sent, expected) in rows {
        let old = bent(good(subject), &stored);
        let new = bent(good(subject), &sent);
        let decided = decide_dry_too(&review(subject, Way::Update, &old, &new, &operator()));
        if !decided.is(expected) {
            wrong.push(format!("{name}: expected {expected:?}, got {decided:?}"));
        }
        // Created as it is sent, or written with its status, it is decided on as well.
        decide_dry_too(&review(subject, Way::Create, &old, &new, &operator()));
        let status = decide_dry_too(&review(subject, Way::Status, &old, &new, &operator()));
        if !status.is("") {
            wrong.push(format!("{name}, with its status: {status:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rows in which an update to the object is told what its creation is told.
pub fn same(rows: Vec<(&'static str, Vec<Bend>, &'static str)>) -> Vec<Row> {
    rows.into_iter()
        .map(|(name, bends, expected)| (name, bends, expected, expected))
        .collect()
}
