//! The command line. Pure.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::{Args, Parser, Subcommand};
use sandgate_shared::net::label::{self, is_label};

use crate::doctor::rbac::Subject;
use crate::isolation::Order;
use crate::isolation::facts::Outside;
use crate::isolation::pull_secret::PullSecret;
use crate::isolation::scenario::{SCENARIOS, Scenario, scenario};
use crate::isolation::stage::LONGEST_PREFIX;

/// Asks a cluster with Sandgate on it whether packets stay in its sandboxes, and who could forge a claim.
#[derive(Clone, Debug, Parser)]
#[command(name = "sandgate", version)]
pub struct Flags {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What can be asked.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Measure who reaches whom: makes sandboxes that dial everything from their first millisecond,
    /// in namespaces of its own, and takes them away again. Ends with 0 if all is as it should be,
    /// with 1 if not, with 2 if it could not be measured.
    ///
    /// What it dials with ends by itself, and Ctrl-C, SIGTERM and SIGHUP take everything away. After
    /// a run that was killed: kubectl delete namespace -l sandgate.dev/isolation-run
    Isolation(Isolation),
    /// Look whether the installation stands, and who could forge a claim or switch off what proves that
    /// nobody did. Only reads. Ends with 0 if all is sound, with 1 if something was found, with 2 if it
    /// could not be looked.
    Doctor(Doctor),
}

/// How to reach the cluster.
#[derive(Clone, Debug, Default, Args)]
pub struct Reach {
    /// Kubeconfig of the cluster; without it KUBECONFIG, then ~/.kube/config.
    #[arg(long, value_name = "PATH")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; without it the current one.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// Flags of `sandgate isolation`.
#[derive(Clone, Debug, Args)]
pub struct Isolation {
    /// How to reach the cluster.
    #[command(flatten)]
    pub reach: Reach,
    /// How the names of the run's namespaces begin.
    #[arg(
        long,
        default_value = "sandgate-isolation",
        value_name = "NAME",
        value_parser = prefix
    )]
    pub namespace_prefix: String,
    /// Image that holds /sandgate-probe; without it that of the installed operator.
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// Secret to pull that image by: NAMESPACE/NAME. It is copied into the run's namespaces, for
    /// every pod there.
    #[arg(long, value_name = "SECRET")]
    pub pull_secret: Option<PullSecret>,
    /// Node to measure on; without it the first Linux node that takes pods and has an architecture
    /// that the operator runs on.
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// A destination outside the cluster that answers: tcp:ADDR:PORT, udp:ADDR:PORT, icmp:ADDR or
    /// dns:ADDR:PORT/NAME; may be given more than once.
    #[arg(long, value_name = "DESTINATION")]
    pub outside: Vec<Outside>,
    /// Write the report to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw the report into this file as SVG.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Try this scenario only; may be given more than once.
    #[arg(long, value_name = "SCENARIO", value_parser = scenarios())]
    pub only: Vec<&'static Scenario>,
    /// How many sandboxes start at once in the scenario "parallel", 1 to 100.
    #[arg(long, default_value_t = 15, value_name = "N", value_parser = parallel)]
    pub parallel: usize,
    /// How long each sandbox dials, 1s to 60s; those whose end is watched dial until then.
    #[arg(long, default_value = "4s", value_name = "DURATION", value_parser = seconds)]
    pub dial_for: Duration,
    /// Leave everything in the cluster, to look at.
    #[arg(long)]
    pub keep: bool,
    /// Pass even if something could not be measured.
    #[arg(long)]
    pub allow_unmeasured: bool,
}

/// Flags of `sandgate doctor`.
#[derive(Clone, Debug, Args)]
pub struct Doctor {
    /// How to reach the cluster.
    #[command(flatten)]
    pub reach: Reach,
    /// Namespace of the operator, where there is more than one installation.
    #[arg(long, value_name = "NAME", value_parser = label::namespace)]
    pub namespace: Option<String>,
    /// Somebody who is expected to hold rights that matter: User:NAME, Group:NAME or
    /// ServiceAccount:NAMESPACE/NAME; may be given more than once.
    #[arg(long, value_name = "SUBJECT", value_parser = subject)]
    pub accept: Vec<Subject>,
    /// Write the report to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl Isolation {
    /// What the run is to do, for somebody without power over the node.
    pub fn order(&self) -> Order {
        let possible = SCENARIOS
            .iter()
            .filter(|scenario| !scenario.needs_the_node());
        let wanted = |scenario: &&Scenario| {
            self.only.is_empty() || self.only.iter().any(|only| only.id == scenario.id)
        };
        Order {
            namespace_prefix: self.namespace_prefix.clone(),
            image: self.image.clone(),
            pull_secret: self.pull_secret.clone(),
            node: self.node.clone(),
            outside: self.outside.clone(),
            scenarios: possible.filter(wanted).collect(),
            parallel: self.parallel,
            period: self.dial_for,
            keep: self.keep,
            allow_unmeasured: self.allow_unmeasured,
            variant: None,
        }
    }
}

/// Those that need no power over the node.
fn scenarios() -> impl clap::builder::TypedValueParser<Value = &'static Scenario> {
    let possible = SCENARIOS
        .iter()
        .filter(|scenario| !scenario.needs_the_node());
    PossibleValuesParser::new(possible.map(|scenario| scenario.id))
        .try_map(|id| scenario(&id).ok_or("no such scenario"))
}

fn prefix(text: &str) -> Result<String, String> {
    let sound = is_label(text) && text.len() <= LONGEST_PREFIX;
    sound.then(|| text.to_owned()).ok_or_else(|| {
        format!(
            "must be at most {LONGEST_PREFIX} lower-case letters, digits and '-', no '-' first or last: names of namespaces begin with it"
        )
    })
}

fn subject(text: &str) -> Result<Subject, String> {
    let wrong = || "write User:NAME, Group:NAME or ServiceAccount:NAMESPACE/NAME".to_owned();
    let (kind, name) = text.split_once(':').ok_or_else(wrong)?;
    let (namespace, name) = match kind {
        "User" | "Group" => (None, name),
        "ServiceAccount" => {
            let (namespace, name) = name.split_once('/').ok_or_else(wrong)?;
            (Some(namespace), name)
        }
        _ => return Err(wrong()),
    };
    if name.is_empty() || namespace.is_some_and(str::is_empty) {
        return Err(wrong());
    }
    Ok(Subject {
        kind: kind.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    })
}

fn parallel(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=100) => Ok(count),
        _ => Err("must be 1 to 100".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.strip_suffix('s').unwrap_or(text).parse() {
        Ok(seconds @ 1..=60) => Ok(Duration::from_secs(seconds)),
        _ => Err("must be 1s to 60s, in whole seconds".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn isolation(arguments: &[&str]) -> Result<Isolation, String> {
        let words = ["sandgate", "isolation"].iter().chain(arguments);
        let flags = Flags::try_parse_from(words).map_err(|error| error.to_string())?;
        match flags.command {
            Command::Isolation(isolation) => Ok(isolation),
            Command::Doctor(_) => Err("another command".to_owned()),
        }
    }

    fn doctor(arguments: &[&str]) -> Result<Doctor, String> {
        let words = ["sandgate", "doctor"].iter().chain(arguments);
        let flags = Flags::try_parse_from(words).map_err(|error| error.to_string())?;
        match flags.command {
            Command::Doctor(doctor) => Ok(doctor),
            Command::Isolation(_) => Err("another command".to_owned()),
        }
    }

    #[test]
    fn whom_a_doctor_accepts_is_told_as_rbac_names_subjects() {
        let flags = doctor(&[
            "--accept=User:system:alice",
            "--accept=ServiceAccount:cert-manager/cainjector",
        ]);
        let accepted: Vec<String> = flags
            .unwrap()
            .accept
            .iter()
            .map(Subject::to_string)
            .collect();
        assert_eq!(
            accepted,
            [
                "User system:alice",
                "ServiceAccount cert-manager/cainjector"
            ]
        );
        for wrong in ["alice", "Role:a", "ServiceAccount:cainjector", "Group:"] {
            let error = doctor(&["--accept", wrong]).unwrap_err();
            assert!(error.contains("write User:NAME"), "{error}");
        }
    }

    #[test]
    fn without_flags_everything_is_tried_that_needs_no_power_over_the_node() {
        let order = isolation(&[]).unwrap().order();
        let tried: Vec<&str> = order.scenarios.iter().map(|it| it.id).collect();
        assert_eq!(
            tried,
            [
                "deny-all",
                "dns",
                "numbered-port",
                "named-port",
                "other-namespace",
                "parallel",
                "restart",
                "ingress",
                "claim-deleted-background",
                "claim-deleted-foreground",
                "policy-deleted",
                "claim-failed",
                "pod-deleted-by-force",
                "namespace-deleted",
            ]
        );
        assert_eq!(order.parallel, 15);
    }

    #[test]
    fn only_what_is_named_is_tried_in_the_order_of_the_table() {
        let order = isolation(&["--only", "restart", "--only", "dns"]);
        let order = order.unwrap().order();
        let tried: Vec<&str> = order.scenarios.iter().map(|it| it.id).collect();
        assert_eq!(tried, ["dns", "restart"]);
    }

    #[test]
    fn a_scenario_that_is_none_is_answered_with_those_that_are() {
        for wrong in ["nonsense", "enforcer-restarted"] {
            let error = isolation(&["--only", wrong]).unwrap_err();
            assert!(error.contains("deny-all"), "{error}");
        }
    }

    #[test]
    fn a_destination_outside_is_told_how_to_be_written() {
        let error = isolation(&["--outside", "example.com"]).unwrap_err();
        assert!(error.contains("write tcp:ADDR:PORT"), "{error}");
    }
}
