//! Checks of the hosts of a Connection: what its pages need to be reached and its sessions to be kept.
//! Pure.

use serde_json::Value;

use super::{check::Flaw, json_path};
use crate::net::{
    domain::registrable,
    host::{HostEntry, reached},
};

const SIGN_IN: &str = "credential.browserSession.signInURL";
const PREFIXES: &str = "credential.browserSession.signedOutWhen.urlPrefixes";

/// A page to sign in on whose host no entry of `hosts` covers (W-027).
pub(super) fn of_the_sign_in_page(spec: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    let page = json_path::at(spec, SIGN_IN).and_then(Value::as_str);
    let out_of_reach = page.is_some_and(|page| !reaches(spec, page));
    out_of_reach.then(Flaw::default).into_iter().collect()
}

/// Pages that say nobody is signed in, whose hosts no entry of `hosts` covers (W-028).
pub(super) fn of_the_signed_out_pages(spec: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    list(spec, PREFIXES)
        .filter(|(_, page)| !reaches(spec, page))
        .map(|(index, _)| at(PREFIXES, index))
        .collect()
}

/// Hosts of a browser session that are nobody's: what is kept of a session is kept by registrable
/// domain, and they have none (N-012, Q58).
pub(super) fn of_nobody(spec: &Value, _stored: Option<&Value>) -> Vec<Flaw> {
    if json_path::at(spec, "credential.browserSession").is_none() {
        return Vec::new();
    }
    list(spec, "hosts")
        .filter(|(_, host)| {
            let entry = host.parse::<HostEntry>();
            entry.is_ok_and(|entry| registrable(entry.host()).is_none())
        })
        .map(|(index, _)| at("hosts", index))
        .collect()
}

/// Whether a sandbox may reach the page.
fn reaches(spec: &Value, page: &str) -> bool {
    reached(list(spec, "hosts").map(|(_, entry)| entry), page)
}

fn list<'v>(spec: &'v Value, path: &str) -> impl Iterator<Item = (usize, &'v str)> {
    let items = json_path::at(spec, path).and_then(Value::as_array);
    let items = items.into_iter().flatten().enumerate();
    items.filter_map(|(index, item)| Some((index, item.as_str()?)))
}

fn at(path: &str, index: usize) -> Flaw {
    Flaw {
        field: format!(".{path}[{index}]"),
        detail: None,
    }
}
