//! Bad writes as people make them, and what the pinned `kubectl` prints of the refusal, word for
//! word. Does I/O.
//!
//! `SANDGATE_REWRITE_GOLDEN=1` writes the pages anew instead of comparing with them.

mod claim;
mod class;
mod connection;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use futures::StreamExt;
use sandgate_e2e::{Cluster, Failure, Namespace, Outcome};
use sandgate_shared::render::{Installation, admission_policy};
use serde_json::{Value, json};

const REWRITE: &str = "SANDGATE_REWRITE_GOLDEN";

/// Stands for the test's namespace on a page.
const PLACE: &str = "NAMESPACE";

/// One bad write.
struct Attempt {
    /// What is tried, as a heading.
    title: &'static str,
    /// What `kubectl` is called with; [`PLACE`] stands for the namespace.
    arguments: Vec<String>,
    /// What it reads from its standard input.
    input: Option<Value>,
}

/// Applies a merge patch to a manifest.
fn with(base: &Value, change: &Value) -> Value {
    let mut manifest = base.clone();
    json_patch::merge(&mut manifest, change);
    manifest
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// `kubectl <arguments> -f -`, given `manifest`.
fn sent(title: &'static str, arguments: &[&str], manifest: Value) -> Attempt {
    let mut arguments = words(arguments);
    arguments.extend(words(&["-f", "-"]));
    Attempt {
        title,
        arguments,
        input: Some(manifest),
    }
}

fn created(title: &'static str, manifest: Value) -> Attempt {
    sent(title, &["create"], manifest)
}

fn replaced(title: &'static str, manifest: Value) -> Attempt {
    sent(title, &["replace"], manifest)
}

fn applied(title: &'static str, manifest: Value) -> Attempt {
    sent(title, &["apply", "--server-side"], manifest)
}

/// `kubectl patch <resource> <name> <arguments> -p <patch>`.
fn patched(title: &'static str, target: [&str; 2], arguments: &[&str], patch: &Value) -> Attempt {
    let mut all = words(&["patch"]);
    all.extend(words(&target));
    all.extend(words(arguments));
    all.extend(["-p".to_owned(), patch.to_string()]);
    Attempt {
        title,
        arguments: all,
        input: None,
    }
}

impl Attempt {
    /// The section of the page: the command and what it printed.
    async fn section(&self, namespace: &Namespace) -> Outcome<String> {
        let real = |text: &str| text.replace(PLACE, namespace.name());
        let arguments: Vec<String> = self.arguments.iter().map(|it| real(it)).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let input = self.input.as_ref().map(|input| real(&input.to_string()));
        let said = namespace.kubectl(&arguments, input.as_deref()).await?;
        if said.success {
            let title = self.title;
            return Err(Failure::saying(format!(
                "{title}: was not refused: {said:?}"
            )));
        }
        let mut section = format!("# {}\n$ kubectl", self.title);
        for argument in &self.arguments {
            let quote = if argument.contains([' ', '{', '[']) {
                "'"
            } else {
                ""
            };
            write!(section, " {quote}{argument}{quote}")?;
        }
        let printed = format!("{}{}", said.stdout, said.stderr);
        let printed = printed.replace(namespace.name(), PLACE);
        let printed = printed.replace(&policy(), "POLICY");
        write!(section, "\n{}\n", printed.trim_end())?;
        Ok(section)
    }
}

/// The policy's name, which every change of its rules changes.
fn policy() -> String {
    let [policy, _] = admission_policy(&Installation::default());
    policy["metadata"]["name"].as_str().unwrap().to_owned()
}

/// Makes every attempt, in a namespace where `standing` stands, and compares the page.
async fn reads_as(page: &str, standing: &Value, attempts: Vec<Attempt>) -> Outcome {
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("denials").await?;
    let standing = standing.to_string().replace(PLACE, namespace.name());
    let standing: Value = serde_json::from_str(&standing)?;
    namespace.accepts(&standing).await?;
    let sections = futures::stream::iter(&attempts).map(|attempt| attempt.section(&namespace));
    let sections: Vec<Outcome<String>> = sections.buffered(4).collect().await;
    let sections: Vec<String> = sections.into_iter().collect::<Outcome<_>>()?;
    let text = sections.join("\n");
    if standing["metadata"].get("namespace").is_none() {
        let name = standing["metadata"]["name"].as_str().unwrap();
        let api = namespace.api_of(&standing).await?;
        api.delete(name, &kube::api::DeleteParams::default())
            .await?;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/denials");
    let file = folder.join(format!("{page}.txt"));
    if std::env::var_os(REWRITE).is_some() {
        fs::create_dir_all(&folder)?;
        fs::write(&file, text)?;
        return Ok(());
    }
    let golden = fs::read_to_string(&file).unwrap_or_default();
    if golden == text {
        return Ok(());
    }
    let mut differing = String::new();
    let (mut old, mut new) = (golden.lines(), text.lines());
    loop {
        match (old.next(), new.next()) {
            (None, None) => break,
            (old, new) if old == new => {}
            (old, new) => {
                let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
                write!(differing, "\n- {old}\n+ {new}")?;
            }
        }
    }
    let page = file.display();
    Err(Failure::saying(format!(
        "kubectl no longer prints what {page} holds; {REWRITE}=1 writes it anew:{differing}"
    )))
}

/// Metadata of an object of the test's namespace.
fn here(name: &str) -> Value {
    json!({ "name": name, "namespace": PLACE })
}
