//! `docs/metrics.md` lists every metric of all processes and no other, and its alerts ask for what there is.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failing test stops where it stands"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;
use sandgate_controller::admission_queue::Limit;
use sandgate_controller::kind::Kind;
use sandgate_controller::metrics::{Outcome, Reconciled, Verb, exposition};
use sandgate_shared::render::{Installation, admission_policy, webhook_configurations};
use sandgate_webhook::review;
use serde_json::Value;
use tracing_appender::non_blocking::NonBlocking;

/// What the page says of a metric: type, unit, labels, meaning.
type Cells = [String; 4];

fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    std::fs::read_to_string(root.join("docs/metrics.md")).unwrap()
}

/// What scrapers read of a webhook once every metric has a value.
fn webhook() -> String {
    let metrics = sandgate_webhook::metrics::Metrics::new();
    metrics.answered(&review::too_large(b"", 0), Duration::ZERO);
    metrics.encode().unwrap()
}

/// The same of a controller.
fn controller() -> String {
    let mut registry = Registry::default();
    let metrics = sandgate_controller::metrics::Metrics::register(&mut registry);
    metrics.request(Verb::Get, Kind::Pod, Outcome::Done);
    metrics.reconciled(Reconciled::Done);
    metrics.undecodable(Kind::SandboxClaim);
    metrics.watch_failed(Kind::Pod);
    metrics.healed(Kind::Service);
    metrics.held_back(Limit::Runtime, 0);
    metrics.configuration_sound(Kind::ValidatingWebhookConfiguration, true);
    metrics.foreign_mutators(Kind::MutatingWebhookConfiguration, 0);
    exposition(&Arc::new(registry)).unwrap()
}

/// The same of an egress proxy.
fn egress() -> String {
    let (log, _writer) = NonBlocking::new(std::io::sink());
    let metrics = sandgate_egress::metrics::Metrics::new(Some(log.error_counter()));
    metrics.encode().unwrap()
}

/// The names of the labels of a sample, but for a bucket's.
fn labels(sample: &str) -> BTreeSet<&str> {
    let Some((_, rest)) = sample.split_once('{') else {
        return BTreeSet::new();
    };
    let pairs = rest.split_once('}').unwrap().0.split(',');
    let names = pairs.filter_map(|pair| Some(pair.split_once('=')?.0));
    names.filter(|name| *name != "le").collect()
}

/// What an exposition tells of each metric. One without any sample fails: its labels would not show.
fn told(exposition: &str) -> BTreeMap<String, Cells> {
    let mut told: BTreeMap<String, Cells> = BTreeMap::new();
    let mut sampled = BTreeSet::new();
    for line in exposition.lines() {
        if let Some((what, rest)) = line.strip_prefix("# ").and_then(|it| it.split_once(' ')) {
            let (name, text) = rest.split_once(' ').unwrap();
            let cells = told.entry(name.to_owned()).or_default();
            let cell = ["TYPE", "UNIT", "LABELS", "HELP"]
                .iter()
                .position(|it| *it == what);
            text.trim_end_matches('.')
                .clone_into(&mut cells[cell.unwrap()]);
        } else if let Some(name) = told.keys().find(|name| line.starts_with(name.as_str())) {
            // Each metric's samples follow its head, and no name begins with another.
            sampled.insert(name.clone());
            let quoted: Vec<String> = labels(line).iter().map(|it| format!("`{it}`")).collect();
            let name = name.clone();
            told.get_mut(&name).unwrap()[2] = quoted.join(", ");
        }
    }
    let named: BTreeSet<String> = told.keys().cloned().collect();
    assert_eq!(named, sampled, "give each metric a value above");
    told
}

/// What the page tells of each metric whose name begins so.
fn listed(page: &str, prefix: &str) -> BTreeMap<String, Cells> {
    let rows = page.lines().filter_map(|line| {
        let row = line.strip_prefix("| `")?.strip_suffix(" |")?;
        let (name, rest) = row.split_once("` | ")?;
        let cells: Vec<String> = format!("{rest} ")
            .splitn(4, "| ")
            .map(|cell| cell.trim().to_owned())
            .collect();
        Some((name.to_owned(), cells.try_into().unwrap()))
    });
    rows.filter(|(name, _)| name.starts_with(prefix)).collect()
}

/// A row as the page has it.
fn row((name, [kind, unit, labels, meaning]): (&String, &Cells)) -> String {
    let cell = |text: &str| match text {
        "" => String::new(),
        text => format!("{text} "),
    };
    format!(
        "| `{name}` | {kind} | {}| {}| {meaning} |",
        cell(unit),
        cell(labels)
    )
}

#[test]
fn the_page_lists_every_metric_of_all_processes_and_no_other() {
    let page = page();
    for (prefix, exposition) in [
        ("sandgate_webhook_", webhook()),
        ("sandgate_controller_", controller()),
        ("sandgate_egress_", egress()),
    ] {
        let told = told(&exposition);
        let rows: Vec<String> = told.iter().map(row).collect();
        assert_eq!(
            listed(&page, prefix),
            told,
            "docs/metrics.md should have these rows:\n{}\n",
            rows.join("\n")
        );
    }
}

/// The alerts of the page.
fn alerts(page: &str) -> Vec<Value> {
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let rules: Value = serde_saphyr::from_str(text).unwrap();
    rules["groups"][0]["rules"].as_array().unwrap().clone()
}

#[test]
fn every_alert_is_whole_and_asks_for_series_that_there_are() {
    let exposition = webhook() + &controller() + &egress();
    let series: BTreeSet<&str> = exposition
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split([' ', '{']).next().unwrap())
        .collect();
    let alerts = alerts(&page());
    assert!(!alerts.is_empty());
    for alert in alerts {
        let name = alert["alert"].as_str().unwrap();
        let expr = alert["expr"].as_str().unwrap();
        assert!(name.starts_with("Sandgate"), "{name}");
        assert!(["critical", "warning"].contains(&alert["labels"]["severity"].as_str().unwrap()));
        assert!(alert["annotations"]["summary"].is_string(), "{name}");
        let word = |byte: char| !(byte.is_ascii_alphanumeric() || byte == '_');
        for metric in expr.split(word).filter(|it| it.starts_with("sandgate_")) {
            assert!(series.contains(metric), "{name} asks for {metric}");
        }
    }
}

#[test]
fn alerts_on_the_api_servers_own_metrics_ask_for_our_webhooks_and_policy() {
    let page = page();
    let installation = Installation::default();
    for configuration in webhook_configurations(&installation) {
        let name = configuration["webhooks"][0]["name"].as_str().unwrap();
        let (verb, rest) = name.split_once('.').unwrap();
        assert!(["mutate", "validate"].contains(&verb), "{name}");
        let asked = format!("name=~\"(mutate|validate).{rest}\"");
        assert_eq!(page.matches(&asked).count(), 2, "{asked}");
    }
    let [policy, _] = admission_policy(&installation);
    let name = policy["metadata"]["name"].as_str().unwrap();
    let hash = name.strip_prefix("sandgate-sandbox-claim-").unwrap();
    assert!(
        hash.len() == 10 && hash.bytes().all(|it| it.is_ascii_hexdigit()),
        "{name}"
    );
    assert!(page.contains("policy=~\".+-sandbox-claim-[0-9a-f]{10}\""));
}
