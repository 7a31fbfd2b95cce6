//! An error together with what caused it, in one line for a log or a message. Pure.

use std::error::Error;
use std::fmt;

use kube::core::Status;
use kube::runtime::watcher;

/// Displays an error and its sources, joined by colons; a source whose text the line already holds
/// is not repeated.
pub struct Chain<'a>(pub &'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = self.0.to_string();
        let mut source = self.0.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            if !line.contains(&text) {
                line = format!("{line}: {text}");
            }
            source = cause.source();
        }
        f.write_str(&without_values(&line))
    }
}

/// What the words of serde quote: the value that did not fit, which can be a Secret's.
const QUOTES: [(&str, char); 4] = [
    ("invalid type: string \"", '"'),
    ("invalid value: string \"", '"'),
    ("unknown variant `", '`'),
    ("invalid value: character `", '`'),
];

/// The line without the values that serde quotes in it: what was expected says enough.
fn without_values(line: &str) -> String {
    let mut clean = line.to_owned();
    for (words, mark) in QUOTES {
        let mut from = 0;
        while let Some(found) = clean.get(from..).and_then(|rest| rest.find(words)) {
            let begins = from + found + words.len();
            let ends = begins + clean.get(begins..).map_or(0, |rest| closing(rest, mark));
            clean.replace_range(begins..ends, "…");
            from = begins;
        }
    }
    clean
}

/// Where a quotation ends: at its mark, unless that is escaped.
fn closing(rest: &str, mark: char) -> usize {
    let mut escaped = false;
    for (at, one) in rest.char_indices() {
        if escaped {
            escaped = false;
        } else if one == '\\' {
            escaped = true;
        } else if one == mark {
            return at;
        }
    }
    rest.len()
}

/// What the API server answered where a watch broke, if it answered.
pub fn answer_of_watch(error: &watcher::Error) -> Option<&Status> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => Some(status),
        _ => None,
    }
}

/// Why a watch broke, in the API server's own words where there are any.
pub fn of_watch(error: &watcher::Error) -> String {
    match answer_of_watch(error) {
        Some(status) => format!(
            "the API server answered {} {}: {}",
            status.code, status.reason, status.message
        ),
        None => Chain(error).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use serde_json::json;

    use super::Chain;

    #[derive(Debug, thiserror::Error)]
    #[error("failed to {0}")]
    struct Step(&'static str, #[source] Option<Box<Step>>);

    #[test]
    fn a_line_names_every_cause_once() {
        let root = Step("dial", None);
        let middle = Step("dial", Some(Box::new(root)));
        let top = Step("write the status", Some(Box::new(middle)));
        assert_eq!(
            Chain(&top).to_string(),
            "failed to write the status: failed to dial"
        );
    }

    #[test]
    fn a_line_never_quotes_a_value_that_did_not_fit() {
        let value = r#"s3cret", expected `a "map"#;
        let wrong = [
            serde_json::from_value::<ConfigMap>(json!({"data": value})).unwrap_err(),
            serde_json::from_value::<Pod>(json!({"metadata": {"generation": value}})).unwrap_err(),
            serde_json::from_value::<std::net::IpAddr>(json!(value)).unwrap_err(),
            serde_json::from_value::<Option<char>>(json!(value)).unwrap_err(),
        ];
        for error in wrong {
            let said = Chain(&error).to_string();
            assert!(!said.contains("s3cret"), "{said}");
            let wrapped = kube::Error::SerdeError(error);
            let said = Chain(&wrapped).to_string();
            assert!(!said.contains("s3cret"), "{said}");
        }
    }

    #[test]
    fn a_line_still_says_what_was_expected() {
        let error = serde_json::from_value::<u32>(json!("five")).unwrap_err();
        let said = "invalid type: string \"…\", expected u32";
        assert_eq!(Chain(&error).to_string(), said);
    }
}
