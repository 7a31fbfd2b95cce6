//! Reading what probes say, through the API server. Does I/O.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;
use sandgate_probe::line::{Contact, Line};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::evidence::Sighting;
use super::heard::Heard;
use super::ledger::Ledger;
use super::trouble::{Trouble, said};

/// How long is waited before a log that broke off is asked for again: nothing says when a kubelet is
/// back.
const AGAIN: Duration = Duration::from_millis(500);

/// Reads a dialling pod's log until it has said all, or for `patience`.
pub async fn listen(
    pods: Api<Pod>,
    pod: &str,
    name: &str,
    patience: Duration,
) -> Result<Sighting, Trouble> {
    let mut sighting = Sighting::default();
    let mut last = "(nothing)".to_owned();
    let mut trouble = None;
    let listened = async {
        loop {
            // From its beginning each time: the log of one sender is small.
            sighting = Sighting::of_pod(name);
            let read = each_line(&pods, pod, |line| {
                line.clone_into(&mut last);
                sighting.take_in(line)
            });
            match read.await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => trouble = Some(said(&error)),
            }
            tokio::time::sleep(AGAIN).await;
        }
    };
    if tokio::time::timeout(patience, listened).await.is_ok() {
        return Ok(sighting);
    }
    Err(match trouble {
        Some(message) => Trouble::NoLog {
            pod: pod.to_owned(),
            message,
        },
        None => Trouble::Mute {
            pod: pod.to_owned(),
            seconds: patience.as_secs(),
            last,
        },
    })
}

/// Listening to a pod that dials for ever, for as long as this lives.
pub struct Endless {
    heard: Arc<Mutex<Heard>>,
    listening: JoinHandle<()>,
}

impl Endless {
    /// Begins to listen.
    pub fn listen(pods: Api<Pod>, pod: &str, name: &str) -> Self {
        let heard = Arc::new(Mutex::new(Heard::of_pod(name)));
        let (pod, told) = (pod.to_owned(), Arc::clone(&heard));
        let listening = tokio::spawn(async move {
            loop {
                // It tells its sums again and again, so that a log read twice does no harm.
                let read = each_line(&pods, &pod, |line| {
                    let now = Instant::now();
                    told.lock().is_ok_and(|mut heard| heard.take_in(line, now))
                });
                drop(read.await);
                tokio::time::sleep(AGAIN).await;
            }
        });
        Self { heard, listening }
    }

    /// What it has said so far, and when.
    pub fn heard(&self) -> Heard {
        let heard = self.heard.lock();
        heard.map(|heard| heard.clone()).unwrap_or_default()
    }

    /// What it has said so far.
    pub fn sighting(&self) -> Sighting {
        self.heard().sighting
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Follows a log, line by line, until `enough` or its end; `true` if it was enough.
async fn each_line(
    pods: &Api<Pod>,
    pod: &str,
    mut enough: impl FnMut(&str) -> bool,
) -> Result<bool, kube::Error> {
    let follow = LogParams {
        follow: true,
        ..LogParams::default()
    };
    let log = pods.log_stream(pod, &follow).await?;
    let mut lines = log.lines();
    // A connection that breaks off is the same as a log that ends: it is asked for again.
    while let Ok(Some(line)) = lines.try_next().await {
        if enough(&line) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The receivers of a run: what reaches them is in one ledger, as it comes.
pub struct Receivers {
    ledger: watch::Sender<Ledger>,
    listening: Vec<JoinHandle<()>>,
}

impl Receivers {
    /// Of a run; nobody is listened to yet.
    pub fn of_run(run: &str) -> Self {
        Self {
            ledger: watch::Sender::new(Ledger::of_run(run)),
            listening: Vec::new(),
        }
    }

    /// Listens to a receiver from now on. A log that breaks off is read again from its beginning;
    /// the ledger takes in the same line once.
    pub fn listen(&mut self, pods: Api<Pod>, pod: &str) {
        let ledger = self.ledger.clone();
        let pod = pod.to_owned();
        self.listening.push(tokio::spawn(async move {
            loop {
                let read = each_line(&pods, &pod, |line| {
                    enter(&ledger, line);
                    false
                });
                drop(read.await);
                tokio::time::sleep(AGAIN).await;
            }
        }));
    }

    /// Takes in what was heard another way.
    pub fn take_in(&self, contacts: &[Contact]) {
        self.ledger.send_modify(|ledger| {
            for contact in contacts {
                ledger.enter(contact);
            }
        });
    }

    /// Waits until something of this sender has arrived for this label.
    pub async fn hear(&self, sender: &str, label: &str, patience: Duration) -> Result<(), Trouble> {
        let mut ledger = self.ledger.subscribe();
        let heard = ledger.wait_for(|ledger| ledger.heard(sender, label));
        match tokio::time::timeout(patience, heard).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(Trouble::NothingArrives {
                sender: sender.to_owned(),
                label: label.to_owned(),
                seconds: patience.as_secs(),
            }),
        }
    }

    /// Says that something may have arrived and not be told.
    pub fn miss(&self, why: &str) {
        self.ledger
            .send_modify(|ledger| ledger.missing = Some(why.to_owned()));
    }

    /// What has arrived so far.
    pub fn ledger(&self) -> Ledger {
        self.ledger.borrow().clone()
    }
}

impl Drop for Receivers {
    fn drop(&mut self) {
        for listening in &self.listening {
            listening.abort();
        }
    }
}

fn enter(ledger: &watch::Sender<Ledger>, line: &str) {
    match serde_json::from_str(line) {
        Ok(Line::Contact(contact)) => ledger.send_modify(|ledger| ledger.enter(&contact)),
        Ok(Line::LeftOut { left_out }) => ledger.send_modify(|ledger| {
            ledger.missing = Some(format!("a receiver left {left_out} lines out of its log"));
        }),
        _ => {}
    }
}
