//! Where the API server reaches the webhook. Pure.

/// Reads a URL that an API server would take: https, a host, and nothing after the port, since each
/// webhook has a path of its own.
pub(super) fn url(text: &str) -> Result<String, String> {
    let wrong = || "must be https://HOST[:PORT], such as https://127.0.0.1:9443".to_owned();
    let url: hyper::Uri = text.parse().map_err(|_| wrong())?;
    let authority = url.authority().ok_or_else(wrong)?;
    let sound = url.scheme_str() == Some("https")
        && !authority.host().is_empty()
        && !authority.as_str().contains('@')
        && matches!(url.path(), "" | "/")
        && url.query().is_none();
    sound
        .then(|| format!("https://{authority}"))
        .ok_or_else(wrong)
}
