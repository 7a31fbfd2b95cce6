//! What a sandbox reaches, by its egress proxy and past it: told by its own shell. Does I/O.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

use sandgate_e2e::namespace::DEADLINE;
use sandgate_e2e::scene::Scene;
use sandgate_e2e::{Failure, Outcome};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

/// How long a tunnel may take to bring an answer; the proxy gives up a host sooner.
const ANSWERED_WITHIN: Duration = Duration::from_secs(15);

/// Connects standard input and output to the proxy that the sandbox was told of, until that hangs up. Each
/// way has a `dd` of its own: `nc` may read what has nothing to read and then no longer looks at what is to
/// be sent, and `cat` has the kernel splice, which keeps the pipe from whoever reads its other end.
const TO_THE_PROXY: &str = "p=${HTTPS_PROXY#http://}; exec 3<&0 4>&1; busybox nc ${p%:*} ${p##*:} -e \
    busybox sh -c 'busybox dd bs=4k <&3 2>/dev/null & busybox dd bs=4k >&4 2>/dev/null; kill $!'";

/// What is printed once the proxy, or who is behind it, hung up.
const HUNG_UP: &str = "hung-up";

/// What the claim's proxy answers to `request`, and what follows.
pub async fn asked(scene: &Scene, claim: &str, request: &str) -> Outcome<String> {
    let deployment = format!("deploy/{claim}-sandbox");
    let command = ["exec", "-i", &deployment, "--", "sh", "-c", TO_THE_PROXY];
    Ok(scene.kubectl(&command, Some(request)).await?.stdout)
}

/// What a page at `authority` says, or why there is none.
pub async fn page(scene: &Scene, claim: &str, authority: &str) -> Outcome<String> {
    let request = format!("{}GET / HTTP/1.0\r\n\r\n", connect(authority));
    asked(scene, claim, &request).await
}

/// Fails unless the page at port 443 of `host` is the one of this name.
pub async fn gets(scene: &Scene, claim: &str, host: &str, name: &str) -> Outcome {
    let said = page(scene, claim, &format!("{host}:443")).await?;
    if said.starts_with("HTTP/1.1 200 ") && said.ends_with(&format!("\r\n\r\n{name}\n")) {
        return Ok(());
    }
    Err(Failure::saying(format!("{claim} got of {host}: {said:?}")))
}

/// The same until it is so; how long after `began` that was.
pub async fn comes_to_get(
    scene: &Scene,
    claim: &str,
    host: &str,
    name: &str,
    began: Instant,
) -> Outcome<Duration> {
    loop {
        match gets(scene, claim, host, name).await {
            Ok(()) => return Ok(began.elapsed()),
            Err(last) if began.elapsed() > DEADLINE => return Err(last),
            Err(_) => {}
        }
    }
}

/// Fails unless the proxy refuses `authority` with this status and reason.
pub async fn is_refused(scene: &Scene, claim: &str, authority: &str, with: (u16, &str)) -> Outcome {
    let said = page(scene, claim, authority).await?;
    refusal(&format!("{claim} to {authority}"), &said, with)
}

/// Fails unless an answer is a refusal with this status and reason.
pub fn refusal(what: &str, said: &str, (status, reason): (u16, &str)) -> Outcome {
    let told = format!("\r\nX-Omnia-Egress-Refused: {reason}\r\n");
    if said.starts_with(&format!("HTTP/1.1 {status} ")) && said.contains(&told) {
        return Ok(());
    }
    Err(Failure::saying(format!(
        "{what} should be {status} {reason}, and is {said:?}"
    )))
}

fn connect(authority: &str) -> String {
    format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n")
}

/// Which of `targets`, a label and a shell command each, succeed when they are tried at once in `pod`.
pub async fn succeed(
    scene: &Scene,
    pod: &str,
    targets: &[(&str, String)],
) -> Outcome<BTreeSet<String>> {
    let tries = targets.iter().map(|(label, command)| {
        format!("(busybox timeout 3 {command} </dev/null >/dev/null 2>&1 && echo {label}) &\n")
    });
    let script = format!("{}wait; echo tried", tries.collect::<String>());
    let said = scene
        .kubectl(&["exec", pod, "--", "sh", "-c", &script], None)
        .await?;
    let mut lines: BTreeSet<String> = said.stdout.lines().map(str::to_owned).collect();
    if lines.remove("tried") {
        return Ok(lines);
    }
    Err(Failure::saying(format!("{pod} tried nothing: {said:?}")))
}

/// A tunnel of a sandbox to a host that sends back what it hears.
pub struct Tunnel {
    host: String,
    process: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    words: u32,
}

impl Tunnel {
    /// Opens one through the claim's proxy, and hears from the other end.
    pub async fn open(scene: &Scene, claim: &str, host: &str) -> Outcome<Self> {
        let script = format!("{{ {TO_THE_PROXY}; echo {HUNG_UP}; }}");
        let deployment = format!("deploy/{claim}-sandbox");
        let inside = ["exec", "-i", &deployment, "--", "sh", "-c", &script];
        let mut process = scene
            .cluster()
            .kubectl_command(&[&["--namespace", scene.name()], &inside[..]].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing = || Failure::saying("kubectl has no standard input and output");
        let stdin = process.stdin.take().ok_or_else(missing)?;
        let stdout = process.stdout.take().ok_or_else(missing)?;
        let mut this = Self {
            host: host.to_owned(),
            process,
            stdin,
            lines: BufReader::new(stdout).lines(),
            words: 0,
        };
        let request = connect(&format!("{host}:443"));
        this.stdin.write_all(request.as_bytes()).await?;
        let head = this.line().await?;
        if !head.is_some_and(|head| head.starts_with("HTTP/1.1 200 ")) {
            return Err(this.odd("did not open"));
        }
        while this.line().await?.is_some_and(|line| !line.is_empty()) {}
        this.carries().await?;
        Ok(this)
    }

    /// Fails unless what is said now comes back.
    pub async fn carries(&mut self) -> Outcome {
        self.words += 1;
        let word = format!("word-{}", self.words);
        self.stdin.write_all(format!("{word}\n").as_bytes()).await?;
        match self.line().await? {
            Some(line) if line == word => Ok(()),
            line => Err(self.odd(&format!("gave back {line:?} for {word:?}"))),
        }
    }

    /// Waits until it is cut; fails if that is not so `within` a time from `since`, or if the sandbox ends
    /// first. How long it took.
    pub async fn comes_to_be_cut(self, since: Instant, within: Duration) -> Outcome<Duration> {
        let what = self.odd("ended with its sandbox");
        match self.ends(since, within).await? {
            (took, true) => Ok(took),
            (_, false) => Err(what),
        }
    }

    /// The same where the sandbox may end first; also whether the proxy hung up before that.
    pub async fn ends(mut self, since: Instant, within: Duration) -> Outcome<(Duration, bool)> {
        let end = (since + within).into();
        let hung_up = match tokio::time::timeout_at(end, self.lines.next_line()).await {
            Ok(Ok(Some(line))) if line == HUNG_UP => true,
            Ok(Ok(None)) => false,
            Ok(line) => return Err(self.odd(&format!("ended with {line:?}"))),
            Err(_) => return Err(self.odd(&format!("is open after {} s", within.as_secs()))),
        };
        let took = since.elapsed();
        self.process.kill().await?;
        Ok((took, hung_up))
    }

    async fn line(&mut self) -> Outcome<Option<String>> {
        match tokio::time::timeout(ANSWERED_WITHIN, self.lines.next_line()).await {
            Ok(line) => Ok(line?),
            Err(_) => Err(self.odd(&format!("is silent after {} words", self.words))),
        }
    }

    fn odd(&self, what: &str) -> Failure {
        Failure::saying(format!("the tunnel to {} {what}", self.host))
    }
}
