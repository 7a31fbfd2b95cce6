//! A run that was killed.

use std::path::Path;
use std::time::Duration;

use sandgate_e2e::process::{Process, Program, tail};
use sandgate_e2e::real_node::{Options, RealNode};
use sandgate_e2e::{Failure, Outcome};

use crate::leftovers::{Marks, marks, processes, shared_by_all, things};

/// What the run that will be killed says before its marks.
const STARTED: &str = "a node was started: ";

/// Another process is looked at this often: neither what it says nor how it dies is an event here.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long the kernel may take to end what has lost its owner.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

#[tokio::test]
#[ignore = "runs until it is killed, by the test below"]
async fn a_run_that_is_killed() -> Outcome {
    let node = Box::pin(RealNode::start(Options::default())).await?;
    println!("{STARTED}{}", serde_json::to_string(&marks(&node)?)?);
    std::future::pending().await
}

#[tokio::test]
async fn what_a_killed_run_left_ends_with_it_and_the_rest_with_the_next_start() -> Outcome {
    let before = shared_by_all()?;
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    let this = std::env::current_exe()?;
    let victim = [
        "--exact",
        "own_crash::a_run_that_is_killed",
        "--ignored",
        "--nocapture",
    ];
    let mut victim = Process::start("the run", &Program::new(&this, victim), &log)?;
    let marks = started(&mut victim, &log).await?;
    assert!(processes(&marks)?.len() > 10, "{:?}", processes(&marks));

    victim.kill();

    let ended = async {
        let mut turn = tokio::time::interval(LOOK_EVERY);
        while !processes(&marks)?.is_empty() {
            turn.tick().await;
        }
        Ok::<_, std::io::Error>(())
    };
    if tokio::time::timeout(ENDS_WITHIN, ended).await.is_err() {
        let left = processes(&marks)?;
        return Err(Failure::saying(format!("{left:?} outlived their owner")));
    }
    assert!(things(&marks)?.len() > 1, "{:?}", things(&marks));
    let next = Box::pin(RealNode::start(Options::default())).await?;
    assert_eq!(things(&marks)?, [""; 0]);
    drop(next);
    assert_eq!(shared_by_all()?, before);
    Ok(())
}

/// Waits for the marks of the run's node.
async fn started(run: &mut Process, log: &Path) -> Outcome<Marks> {
    let mut turn = tokio::time::interval(LOOK_EVERY);
    loop {
        turn.tick().await;
        run.check()?;
        let said = tail(log, 20);
        let marks = said.lines().find_map(|line| line.split_once(STARTED));
        if let Some((_, marks)) = marks {
            return Ok(serde_json::from_str(marks)?);
        }
    }
}
