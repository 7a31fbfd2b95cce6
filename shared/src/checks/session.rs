//! The arguments that a bound browser session adds to those of its class (O-021, B-009, C-006). Pure.

use super::{Failure, environment::escaped, roles::Role};
use crate::{
    api::{ConnectionSpec, connection::CredentialKind},
    reason,
    template::{Data, Template},
};

/// The longest argument, in bytes: what Linux takes (`MAX_ARG_STRLEN`), with the end of the text.
const LONGEST_ARGUMENT: usize = 128 * 1024 - 1;

/// The URLs that say nobody is signed in.
pub(super) fn signed_out_pages(found: &ConnectionSpec) -> impl Iterator<Item = &str> {
    let session = found.credential.browser_session.as_ref();
    let signed_out = session.and_then(|session| session.signed_out_when.as_ref());
    let pages = signed_out.and_then(|it| it.url_prefixes.as_deref());
    pages.unwrap_or_default().iter().map(String::as_str)
}

/// The arguments that `role` adds; those that render empty are left out.
pub(super) fn arguments(role: &Role<'_>) -> Result<Vec<String>, Failure> {
    let found = role.bound.found;
    let found = found.filter(|it| it.credential.kind == CredentialKind::BrowserSession);
    let delivery = role.declared.and_then(|entry| entry.session.as_ref());
    let (Some(found), Some(delivery)) = (found, delivery) else {
        return Ok(Vec::new());
    };
    // The kubelet reads `$(NAME)` in an argument as a variable, and a URL may hold that.
    let pages: Vec<_> = signed_out_pages(found).map(escaped).collect();
    let pages = pages.join(",");
    let data: Data<'_> = [
        ("Connection", role.bound.connection),
        ("SignedOutPrefixes", &pages),
        (
            "StateFile",
            delivery.state_file.as_deref().unwrap_or_default(),
        ),
    ]
    .into_iter()
    .map(|(name, value)| (name, value.as_bytes()))
    .collect();
    let mut arguments = Vec::new();
    for (index, source) in delivery.args.iter().flatten().enumerate() {
        let rendered = rendered(source, &data).map_err(|told| Failure {
            reason: reason::INVALID_CLASS,
            message: format!(
                "session.args[{index}] of role {:?} of the class does not render for {}: {told}; correct it in the class",
                role.bound.role,
                role.words()
            ),
        })?;
        if !rendered.is_empty() {
            arguments.push(rendered);
        }
    }
    Ok(arguments)
}

fn rendered(source: &str, data: &Data<'_>) -> Result<String, String> {
    let template =
        Template::parse(source).map_err(|error| format!("{}: {}", error.at, error.fault))?;
    let bytes = template
        .run(data, LONGEST_ARGUMENT)
        .map_err(|error| format!("{}: {}", error.at, error.fault))?;
    let text = String::from_utf8(bytes).map_err(|_| "it renders to no text".to_owned())?;
    if text.contains('\0') {
        return Err("it renders to a text with a NUL character".to_owned());
    }
    Ok(text)
}
