//! Smaller forms of a write, for whoever has to understand it. Pure.

use json_patch::jsonptr::PointerBuf;
use serde_json::Value;

use super::edits::put;
use super::pairs::Pair;

/// A place, and what may stand there instead: nothing, or half of the text.
struct Piece {
    parent: PointerBuf,
    token: String,
    instead: Option<Value>,
}

/// The write with less at one place, the largest pieces first: less of what is written, and less of
/// what is written and of what is stored alike.
pub fn smaller(pair: &Pair) -> Vec<Pair> {
    let mut pieces = Vec::new();
    let spec = PointerBuf::from_tokens(["spec"]);
    for object in [Some(&pair.new), pair.old.as_ref()].into_iter().flatten() {
        pieces_of(&object["spec"], &spec, &mut pieces);
    }
    pieces.sort_by_key(|piece| (piece.instead.is_some(), piece.parent.count()));
    let mut all = Vec::new();
    for piece in pieces {
        let mut less = pair.clone();
        piece.put(&mut less.new);
        if less.old.is_some() {
            all.push(less.clone());
        }
        if let Some(old) = &mut less.old {
            piece.put(old);
        }
        all.push(less);
    }
    all.retain(|less| less != pair);
    all
}

impl Piece {
    fn put(&self, object: &mut Value) {
        let mut place = self.parent.clone();
        place.push_back(self.token.as_str());
        if object.pointer(place.as_str()).is_some() {
            put(object, &self.parent, &self.token, self.instead.clone());
        }
    }
}

fn pieces_of(value: &Value, pointer: &PointerBuf, into: &mut Vec<Piece>) {
    let mut add = |token: String, child: &Value| {
        let mut below = pointer.clone();
        below.push_back(token.as_str());
        let mut piece = |instead| {
            into.push(Piece {
                parent: pointer.clone(),
                token: token.clone(),
                instead,
            });
        };
        piece(None);
        if let Some(text) = child.as_str().filter(|text| text.len() > 1) {
            let half = text.chars().count() / 2;
            let half: String = text.chars().take(half.max(1)).collect();
            piece(Some(Value::String(half)));
        }
        pieces_of(child, &below, into);
    };
    match value {
        Value::Object(fields) => {
            for (name, child) in fields {
                add(name.clone(), child);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                add(index.to_string(), item);
            }
        }
        _ => {}
    }
}
