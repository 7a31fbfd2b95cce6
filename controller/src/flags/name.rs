//! Names that objects are made and looked for by: what the API server would refuse later, or never
//! find, is refused at start. Pure.

use sandgate_shared::net::label::{is_label, is_name};

/// The longest release name: what Helm allows, and what leaves room for the longest of our suffixes.
const LONGEST_RELEASE: usize = 53;

/// Reads the name of the installation, which a Service's begins with.
pub(super) fn release(text: &str) -> Result<String, String> {
    let sound = is_label(text)
        && text.len() <= LONGEST_RELEASE
        && text.starts_with(|first: char| first.is_ascii_lowercase());
    accepted(text, sound, || {
        format!(
            "must be at most {LONGEST_RELEASE} lower-case letters, digits and '-', a letter first and no '-' last, such as sandgate: names of objects begin with it"
        )
    })
}

/// Reads the name of a ServiceAccount.
pub(super) fn service_account(text: &str) -> Result<String, String> {
    accepted(text, is_name(text), || {
        "must be the name of a ServiceAccount, such as sandgate-controller, without its namespace"
            .to_owned()
    })
}

/// Reads the domain that names of Services end in.
pub(super) fn domain(text: &str) -> Result<String, String> {
    accepted(text, is_name(text), || {
        "must be a DNS name in lower case, without a dot first or last, such as cluster.local"
            .to_owned()
    })
}

fn accepted(text: &str, sound: bool, must_be: impl Fn() -> String) -> Result<String, String> {
    sound.then(|| text.to_owned()).ok_or_else(must_be)
}
