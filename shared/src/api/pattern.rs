//! The patterns of the schemas, each with the words for whoever breaks it. Data only.
//!
//! The API server can only quote a pattern; the webhook says what it means.

/// A DNS-1123 label: lower case letters, digits and `-`, at most 63 characters.
pub(crate) const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// A DNS-1123 subdomain: what objects are called.
pub(crate) const DNS_SUBDOMAIN: &str =
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// A host of a Connection: at least two labels, the last no number, with or without `*.` before them
/// (T-059, Q11).
pub(crate) const HOST: &str =
    "^([*][.])?([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?[.])+[a-z]([-a-z0-9]{0,61}[a-z0-9])?$";
/// A label value that is not empty (T-010, Q9).
pub(crate) const LABEL_VALUE: &str = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";
/// The name of an environment variable.
pub(crate) const VARIABLE: &str = "^[A-Za-z_][A-Za-z0-9_.-]*$";
/// A path on an HTTP server.
pub(crate) const HTTP_PATH: &str = "^/";
/// Kubernetes' own pattern for a quantity.
pub(crate) const QUANTITY: &str = "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";

/// What a value that breaks `pattern` should have been; the pattern itself if it is none of ours.
pub(crate) fn in_words(pattern: &str) -> String {
    let words = match pattern {
        DNS_LABEL => {
            "lower-case letters, digits and '-', with a letter or digit at both ends; write it like my-name"
        }
        LABEL_VALUE => {
            "letters, digits, '-', '_' and '.', with a letter or digit at both ends; write it like session-7"
        }
        VARIABLE => {
            "letters, digits, '_', '-' and '.', not starting with a digit, '-' or '.'; write it like GH_TOKEN"
        }
        DNS_SUBDOMAIN => {
            "lower-case letters, digits, '-' and '.', with a letter or digit at both ends of each part; write it like my-name"
        }
        HOST => {
            return "must be a host name in lower case with at least two labels, no address, port or scheme; write it like api.example.com or *.example.com"
                .to_owned();
        }
        HTTP_PATH => return "must start with '/'; write it like /healthz".to_owned(),
        QUANTITY => return "must be a quantity; write it like 500m or 4Gi".to_owned(),
        other => return format!("must match {other}"),
    };
    format!("must hold only {words}")
}
