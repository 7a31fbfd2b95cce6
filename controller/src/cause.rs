//! An error together with what caused it, in one line for a log or a message. Pure.

use std::error::Error;
use std::fmt;

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
        f.write_str(&line)
    }
}

/// Why a watch broke, in the API server's own words where there are any.
pub fn of_watch(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => {
            format!(
                "the API server answered {} {}: {}",
                status.code, status.reason, status.message
            )
        }
        other => Chain(other).to_string(),
    }
}

#[cfg(test)]
mod tests {
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
}
