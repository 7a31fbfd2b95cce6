//! The variables of a class as its sandbox will have them. Pure.

use std::collections::BTreeMap;

use crate::api::SandboxClassSpec;

/// The home directory of a sandbox of the class: what the class sets `HOME` to, if that is an absolute
/// path (K-024).
pub fn home(class: &SandboxClassSpec) -> Option<String> {
    let home = variables(class).remove("HOME")?;
    home.starts_with('/').then_some(home)
}

/// Each variable with its value: the kubelet replaces `$(NAME)` by what stands before it in the list.
pub(super) fn variables(class: &SandboxClassSpec) -> BTreeMap<&str, String> {
    let mut variables = BTreeMap::new();
    for variable in class.env.iter().flatten() {
        let written = variable.value.as_deref().unwrap_or_default();
        let value = expanded(written, &variables);
        variables.insert(variable.name.as_str(), value);
    }
    variables
}

/// As the kubelet does it: `$$` is one `$`, and a name that is not known stays as it is written.
fn expanded(written: &str, known: &BTreeMap<&str, String>) -> String {
    let mut out = String::new();
    let mut rest = written;
    while let Some((before, behind)) = rest.split_once('$') {
        out.push_str(before);
        let reference = behind.strip_prefix('(').and_then(|it| it.split_once(')'));
        if let Some((name, after)) = reference {
            match known.get(name) {
                Some(value) => out.push_str(value),
                None => out.extend(["$(", name, ")"]),
            }
            rest = after;
        } else {
            out.push('$');
            rest = behind.strip_prefix('$').unwrap_or(behind);
        }
    }
    out.push_str(rest);
    out
}

/// What the kubelet makes `text` of again.
pub(super) fn escaped(text: &str) -> String {
    text.replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("/a/b", "/a/b")]
    #[case::known("$(HOME)/go", "/home/agent/go")]
    #[case::twice("$(HOME):$(HOME)", "/home/agent:/home/agent")]
    #[case::unknown("$(NONE)/go", "$(NONE)/go")]
    #[case::escaped("$$(HOME)", "$(HOME)")]
    #[case::two_signs("$$", "$")]
    #[case::a_shell_s_notation("$HOME/${HOME}", "$HOME/${HOME}")]
    #[case::unclosed("$(HOME", "$(HOME")]
    #[case::one_sign_at_the_end("a$", "a$")]
    fn values_are_read_as_the_kubelet_reads_them(#[case] written: &str, #[case] expected: &str) {
        let known = BTreeMap::from([("HOME", "/home/agent".to_owned())]);
        assert_eq!(expanded(written, &known), expected);
        assert_eq!(expanded(&escaped(written), &known), written);
    }
}
