//! What a person reads of a claim that is not bound, word for word; and that each reason is reached.

use std::collections::BTreeSet;
use std::path::Path;

use sandgate_e2e::{Outcome, Stage};
use sandgate_shared::api::{ClaimPhase, SandboxClaim};
use sandgate_shared::reason;
use serde_json::{Value, json};

use crate::manifests::{self, claim_with, class_with, odd_runtime, service, with_workspace};
use crate::scene::{Scene, condition, phase, ready};

/// A claim, and the reason it comes to stand with.
struct Case {
    name: &'static str,
    reason: &'static str,
    class: Value,
    /// Laid over the claim's spec.
    fields: Value,
}

fn case(name: &'static str, reason: &'static str, class: Value) -> Case {
    let fields = json!({});
    Case {
        name,
        reason,
        class,
        fields,
    }
}

fn staged(reason: &'static str, name: &'static str, stage: Stage) -> Case {
    case(name, reason, manifests::class(name, stage))
}

impl Case {
    fn asking(self, fields: Value) -> Self {
        Self { fields, ..self }
    }

    fn of_runtime(self, name: &str) -> Self {
        self.asking(json!({ "agentRuntimeRef": { "name": name } }))
    }
}

fn cases() -> Vec<Case> {
    let ready = |name: &str| manifests::class(name, Stage::Ready);
    let scratch = json!({ "mounts": [{ "role": "scratch" }] });
    let picky = json!({ "nodeSelector": { "sandgate.dev/none": "yes" } });
    let mut configured = with_workspace(ready("unlisted"));
    configured["spec"]["mounts"] = json!([{ "role": "project" }]);
    vec![
        case("bound", reason::SANDBOX_READY, ready("bound")),
        staged(reason::SANDBOX_STARTING, "starting", Stage::NeverReady),
        staged(
            reason::IMAGE_PULL_FAILED,
            "imageless",
            Stage::ImagePullFailure,
        ),
        staged(reason::CRASH_LOOP, "crashing", Stage::CrashLoop),
        staged(reason::OOM_KILLED, "hungry", Stage::OutOfMemory),
        staged(
            reason::CONTAINER_CONFIG_ERROR,
            "rootless",
            Stage::ConfigError,
        ),
        case(
            "nodeless",
            reason::UNSCHEDULABLE,
            class_with("nodeless", Stage::Ready, &picky),
        ),
        case("disabled", reason::SANDBOXES_DISABLED, ready("disabled")).of_runtime("off"),
        case(
            "orphaned",
            reason::AGENT_RUNTIME_NOT_FOUND,
            ready("orphaned"),
        )
        .of_runtime("nobody"),
        case("classless", reason::CLASS_NOT_FOUND, ready("other")),
        case("taken", reason::NAME_CONFLICT, ready("taken")),
        case(
            "mounting",
            reason::WORKSPACE_NOT_SUPPORTED,
            ready("mounting"),
        )
        .asking(scratch.clone()),
        case("unlisted", reason::MOUNT_NOT_PERMITTED, configured).asking(scratch),
        case(
            "storeless",
            reason::NO_WORKSPACE_STORAGE,
            with_workspace(ready("storeless")),
        ),
        case("crowded", reason::CEILING_REACHED, ready("crowded")).of_runtime("full"),
        case(
            "talkative",
            reason::SESSION_LIMIT_REACHED,
            ready("talkative"),
        )
        .of_runtime("exclusive"),
    ]
}

/// One that asks for a Service which is not there, or for none any more.
fn unresolved() -> Value {
    let services = json!([{ "name": "mirror", "ports": [443] }]);
    let egress = json!({ "egress": { "allowedServices": services } });
    class_with("reaching", Stage::Ready, &egress)
}

// Proves: C-029, C-033
#[tokio::test]
async fn each_reason_tells_a_person_what_is_wrong_and_the_way_out_word_for_word() -> Outcome {
    let scene = Scene::shared("reasons").await?;
    for (name, sandbox) in [
        ("off", json!({})),
        ("full", json!({ "enabled": true, "maxConcurrent": 0 })),
        ("exclusive", json!({ "enabled": true, "maxPerSession": 0 })),
    ] {
        let runtime = odd_runtime(name, &json!({ "sandbox": sandbox }));
        scene.accepts(&runtime).await?;
    }
    let taken = json!([{ "name": "http", "port": 80 }]);
    scene.accepts(&service("taken-sandbox", &taken)).await?;
    let cases = cases();
    for case in &cases {
        scene.accepts(&case.class).await?;
        let claim = claim_with(case.name, case.name, &case.fields);
        scene.user().accepts(&claim).await?;
    }
    let mut told = Vec::new();
    for case in &cases {
        let sentence = format!("is told {}", case.reason);
        let claim = scene
            .becomes(case.name, &sentence, |claim: &SandboxClaim| {
                ready(claim).0 == case.reason
            })
            .await?;
        let (reason, message) = ready(&claim);
        let phase = phase(&claim).map_or("none", ClaimPhase::as_str);
        let message = message.replace(scene.name(), "NAMESPACE");
        told.push(format!("{phase} {reason}: {message}"));
        // What kstatus reads as failed for good, and nothing else is.
        let stalled = condition(&claim, "Stalled").map(|found| found.0);
        assert_eq!(
            stalled,
            (phase == "Failed").then_some("True"),
            "{}",
            case.name
        );
    }
    scene.claims_class("reaching", &unresolved()).await?;
    let reaching = scene.bound("reaching").await?;
    let (_, reason, message) = condition(&reaching, "AllowedServicesResolved").unwrap();
    assert_eq!(reason, "AllowedServiceUnresolved");
    let message = message.replace(scene.name(), "NAMESPACE");
    told.push(format!("Bound {reason}: {message}"));
    insta::assert_snapshot!(told.join("\n"), @r#"
    Bound SandboxReady: the sandbox answers at its addresses
    Pending SandboxStarting: the sandbox is being made; its pod has not reported ready yet
    Pending ImagePullFailed: image "sandgate.dev/stage/image-pull-failure:1" cannot be pulled: Back-off pulling image "sandgate.dev/stage/image-pull-failure:1": not found (ImagePullBackOff). It is tried again by itself; let the nodes reach and read its registry, or correct the class's image and make the claim again
    Pending CrashLoopBackOff: the sandbox's program ends by itself (Error, exit code 1) and is started again; see the pod's log, and the class's image, args and env
    Pending OOMKilled: the sandbox used more memory than resources.limits.memory allows and was killed; it is started again by itself. Raise the class's limit if its work needs more
    Pending CreateContainerConfigError: the container cannot be started: secret "missing" not found; correct the class, then make the claim again
    Pending Unschedulable: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
    Failed SandboxesDisabled: AgentRuntime "off" has no sandboxes: set its spec.sandbox.enabled to true, then make the claim again
    Failed AgentRuntimeNotFound: AgentRuntime "nobody" does not exist in the claim's namespace; create it there, then make the claim again
    Failed ClassNotFound: SandboxClass "classless" does not exist in the claim's namespace; create it, or name a ClusterSandboxClass by classRef.kind, then make the claim again
    Failed NameConflict: Service taken-sandbox exists and does not belong to this claim; it was left as it is. Delete or rename it, or make the claim again under another name
    Failed WorkspaceNotSupported: the claim sets mounts and class "mounting" has no filesystem.workspace to mount at; leave mounts out or name a class that has one, then make the claim again
    Failed MountNotPermitted: the class does not list role scratch in its mounts; add it there, or bind a role that it lists; then make the claim again
    Failed NoWorkspaceStorage: the class has a workspace, and no Workspace owns namespace NAMESPACE: make one whose spec.namespace.name it is, or name a class without filesystem.workspace; then make the claim again
    Queued CeilingReached: spec.sandbox.maxConcurrent of AgentRuntime "full" is 0, so nothing is admitted under it: raise it or take it out
    Queued SessionLimitReached: spec.sandbox.maxPerSession of AgentRuntime "exclusive" is 0, so nothing is admitted under it: raise it or take it out
    Bound AllowedServiceUnresolved: egress.allowedServices: Service NAMESPACE/mirror does not exist, so nothing is opened for it
    "#);
    Ok(())
}

// Proves: C-029, C-033
#[tokio::test]
async fn kubectl_waits_for_a_claim_and_describes_why_it_is_not_ready() -> Outcome {
    let scene = Scene::shared("waits").await?;
    scene.claims("late", Stage::Late).await?;
    let wait = |claim: &str, condition: &str, seconds: u8| {
        [
            "wait".to_owned(),
            format!("--for=condition={condition}"),
            format!("sandboxclaim/{claim}"),
            format!("--timeout={seconds}s"),
        ]
    };
    let waits = |arguments: [String; 4]| {
        let scene = &scene;
        async move {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            scene.kubectl(&arguments, None).await
        }
    };
    // It begins to wait before anything is there to wait for.
    let said = waits(wait("late", "Ready", 30)).await?;
    assert!(said.success, "{}", said.stderr);
    scene.bound("late").await?;

    scene
        .user()
        .accepts(&manifests::claim("classless", "no-such-class"))
        .await?;
    let said = waits(wait("classless", "Stalled", 30)).await?;
    assert!(said.success, "{}", said.stderr);
    let said = waits(wait("classless", "Ready", 1)).await?;
    assert!(said.stderr.contains("timed out"), "{}", said.stderr);
    let failed = scene.failed("classless", reason::CLASS_NOT_FOUND).await?;
    let describe = ["describe", "sandboxclaim", "classless"];
    let said = scene.kubectl(&describe, None).await?;
    let words: BTreeSet<&str> = said.stdout.lines().map(str::trim).collect();
    let line = |name: &str, value: &str| {
        let found = |line: &&&str| {
            let told = line.strip_prefix(name);
            told.is_some_and(|told| told.trim() == value)
        };
        assert!(
            words.iter().any(|it| found(&it)),
            "no {name} {value} in {}",
            said.stdout
        );
    };
    line("Phase:", "Failed");
    line("Reason:", "ClassNotFound");
    line("Message:", ready(&failed).1);
    // Its Event tells the same.
    let event = format!("ClassNotFound: {}", ready(&failed).1);
    let events = scene.events_about("classless").await;
    assert!(events.contains(&event), "{events:?}");
    Ok(())
}

/// Every reason is asked for by a test on a real API server, here or in another binary, by its text or by
/// the name of its constant.
#[test]
fn every_reason_of_a_claim_is_asked_for_on_a_real_api_server() {
    let mut sources = String::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    read_all(&tests, &mut sources);
    let asked = |reason: &str| {
        let quoted = format!("\"{reason}\"");
        let constant = format!("reason::{}", constant(reason));
        sources.contains(&quoted) || sources.contains(&constant)
    };
    let missing: Vec<_> = reason::CLAIM
        .iter()
        .filter(|reason| !asked(reason))
        .collect();
    assert!(
        missing.is_empty(),
        "no test on a real API server asks for {missing:?}"
    );
}

/// `ClassNotFound` as `CLASS_NOT_FOUND`.
fn constant(reason: &str) -> String {
    let mut name = String::new();
    for letter in reason.chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

/// The text of every test.
fn read_all(folder: &Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, sources);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            sources.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}
