//! The part of the story only a real node can tell: who reaches whom, in packets. Does I/O.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use kube::api::ListParams;
use sandgate_e2e::cluster::Said;
use sandgate_e2e::{Cluster, Failure, Outcome};
use sandgate_shared::names;

use super::story::{NAMESPACE, heading, say};

/// How long a fresh address may need until every part of the network knows it.
const PATIENCE: Duration = Duration::from_secs(15);

/// One connection that is tried, and whether it must be answered.
struct Dial {
    from: String,
    to: &'static str,
    target: String,
    open: bool,
}

/// Dials from inside the pods and prints who was answered; fails at the first that is not as promised.
/// `sandbox` is its published address, `host:port`; `outside` one beyond the cluster, `ip:port`.
pub async fn show(cluster: &Cluster, sandbox: &str, outside: &str) -> Outcome {
    until_ready(cluster).await?;
    let pods: Api<Pod> = Api::namespaced(cluster.client(), NAMESPACE);
    let address = format!("tcp:{sandbox}");
    let sandbox = sandbox_pod(&pods).await?;
    let neighbour = format!("tcp:{}:8080", pod_address(&pods, "neighbour").await?);
    let mirror = format!(
        "tcp:{}:8080",
        service_address(cluster, NAMESPACE, "package-mirror").await?
    );
    let dns = service_address(cluster, "kube-system", "kube-dns").await?;
    let dns = format!("dns:{dns}:53/kubernetes.default.svc.cluster.local");
    let outside = format!("tcp:{outside}");

    heading("Who reaches the sandbox, in packets")?;
    for (from, open) in [
        ("support-agent", true),
        ("other-agent", false),
        ("neighbour", false),
    ] {
        let to = "the address on the claim";
        try_it(
            cluster,
            &Dial {
                from: from.to_owned(),
                to,
                target: address.clone(),
                open,
            },
        )
        .await?;
    }
    heading("What the sandbox reaches, and what the pod beside it does")?;
    for (to, target, open) in [
        ("Service package-mirror", &mirror, true),
        ("pod neighbour", &neighbour, false),
        ("cluster DNS", &dns, false),
        ("outside", &outside, false),
    ] {
        let dial = |from: &str, open| Dial {
            from: from.to_owned(),
            to,
            target: target.clone(),
            open,
        };
        try_it(cluster, &dial(&sandbox, open)).await?;
        // Shut means something only where somebody else gets through.
        try_it(cluster, &dial("other-agent", true)).await?;
    }
    Ok(())
}

async fn try_it(cluster: &Cluster, dial: &Dial) -> Outcome {
    let target = format!("it={}", dial.target);
    let command = [
        "-n",
        NAMESPACE,
        "exec",
        &dial.from,
        "--",
        "/sandgate-probe",
        "get",
        "--target",
        &target,
    ];
    let began = Instant::now();
    let (said, answered) = loop {
        let said = cluster.kubectl(&command, None).await?;
        let Some(answered) = answered(&said) else {
            return Err(not_tried(cluster, dial, &said).await);
        };
        if !may_come(dial.open, answered, began.elapsed()) {
            break (said, answered);
        }
    };
    let verdict = if answered { "answers" } else { "no answer" };
    say(format!("    {:<32} → {:<26} {verdict}", dial.from, dial.to))?;
    if answered == dial.open {
        return Ok(());
    }
    Err(Failure::saying(format!(
        "{} dialled {}: that must {}, and did not:\n{}{}",
        dial.from,
        dial.target,
        if dial.open {
            "be answered"
        } else {
            "stay without an answer"
        },
        said.stdout,
        said.stderr
    )))
}

/// What the probe in the pod found; nothing if it did not run: then nothing was shown to be shut.
fn answered(said: &Said) -> Option<bool> {
    let tried = said.stdout.contains(": no answer after ");
    (said.success || tried).then_some(said.success)
}

/// Whether an answer is still to be expected: a node's Services follow their pods a moment later, and nobody
/// tells when. What must be shut is shut from the first dial on.
fn may_come(open: bool, answered: bool, waited: Duration) -> bool {
    open && !answered && waited < PATIENCE
}

/// Why a dial was not even made, with what became of the pod that was to make it.
async fn not_tried(cluster: &Cluster, dial: &Dial, said: &Said) -> Failure {
    let pod = format!("pod/{}", dial.from);
    let describe = ["-n", NAMESPACE, "describe", &pod];
    let described = match cluster.kubectl(&describe, None).await {
        Ok(described) => described.stdout + &described.stderr,
        Err(failure) => failure.to_string(),
    };
    Failure::saying(format!(
        "{} could not dial {}:\n{}{}\n{described}",
        dial.from, dial.target, said.stdout, said.stderr
    ))
}

/// The pods of the neighbourhood are ready and have addresses.
async fn until_ready(cluster: &Cluster) -> Outcome {
    let seconds = format!("--timeout={}s", PATIENCE.as_secs());
    let wait = [
        "-n",
        NAMESPACE,
        "wait",
        "--for=condition=Ready",
        "pod",
        "--all",
        &seconds,
    ];
    let said = cluster.kubectl(&wait, None).await?;
    if said.success {
        return Ok(());
    }
    Err(Failure::saying(format!(
        "the pods around the sandbox are not ready: {}",
        said.stderr
    )))
}

async fn sandbox_pod(pods: &Api<Pod>) -> Outcome<String> {
    let ours = ListParams::default().labels(&format!("{}=true", names::LABEL_SANDBOX_POD));
    let listed = pods.list(&ours).await?;
    let name = listed.items.into_iter().find_map(|pod| pod.metadata.name);
    name.ok_or_else(|| Failure::saying("the claim is Bound and has no pod"))
}

async fn pod_address(pods: &Api<Pod>, name: &str) -> Outcome<String> {
    let status = pods.get(name).await?.status;
    let address = status.and_then(|status| status.pod_ip);
    address.ok_or_else(|| Failure::saying(format!("pod {name} has no address")))
}

async fn service_address(cluster: &Cluster, namespace: &str, name: &str) -> Outcome<String> {
    let services: Api<Service> = Api::namespaced(cluster.client(), namespace);
    let spec = services.get(name).await?.spec;
    let address = spec.and_then(|spec| spec.cluster_ip);
    address.ok_or_else(|| Failure::saying(format!("Service {name} has no address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::late(true, false, Duration::ZERO, true)]
    #[case::too_late(true, false, PATIENCE, false)]
    #[case::there(true, true, Duration::ZERO, false)]
    #[case::shut(false, false, Duration::ZERO, false)]
    #[case::a_leak(false, true, Duration::ZERO, false)]
    fn only_an_answer_that_must_come_is_waited_for(
        #[case] open: bool,
        #[case] answered: bool,
        #[case] waited: Duration,
        #[case] expected: bool,
    ) {
        assert_eq!(may_come(open, answered, waited), expected);
    }

    #[rstest::rstest]
    #[case(true, "it: answered after 1.2 ms\n", "", Some(true))]
    #[case(
        false,
        "it: no answer after 2000.1 ms: timed out\n",
        "command terminated with exit code 1",
        Some(false)
    )]
    #[case(
        false,
        "it: could not be tried: no such name\n",
        "command terminated with exit code 1",
        None
    )]
    #[case(
        false,
        "",
        "error: cannot exec into a container in a completed pod",
        None
    )]
    fn only_a_dial_that_was_made_shows_that_something_is_shut(
        #[case] success: bool,
        #[case] stdout: &str,
        #[case] stderr: &str,
        #[case] expected: Option<bool>,
    ) {
        let said = Said {
            success,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        };
        assert_eq!(answered(&said), expected);
    }
}
