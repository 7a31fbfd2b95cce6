use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::{Instant, timeout};

use super::{BACK_OFF_LONGEST, Next, Queue, back_off};

const MOMENT: Duration = Duration::from_millis(1);

fn open() -> Queue<&'static str> {
    let queue = Queue::default();
    queue.open();
    queue
}

async fn nothing_comes(queue: &Queue<&'static str>) -> bool {
    timeout(MOMENT, queue.next()).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn a_key_pushed_often_comes_once() {
    let queue = open();
    for _ in 0..5 {
        queue.push("a");
    }
    queue.push("b");
    assert_eq!(queue.next().await, "a");
    assert_eq!(queue.next().await, "b");
    assert!(nothing_comes(&queue).await);
}

#[tokio::test(start_paused = true)]
async fn a_key_in_work_does_not_come_to_a_second_worker_but_again_afterwards() {
    let queue = open();
    queue.push("a");
    assert_eq!(queue.next().await, "a");
    queue.push("a");
    queue.push("a");
    assert!(nothing_comes(&queue).await);
    queue.done(&"a", Next::Settled);
    assert_eq!(queue.next().await, "a");
    queue.done(&"a", Next::Settled);
    assert!(nothing_comes(&queue).await);
}

#[tokio::test(start_paused = true)]
async fn a_key_comes_again_after_the_time_asked_for() {
    let queue = open();
    queue.push("a");
    queue.next().await;
    queue.done(&"a", Next::After(Duration::from_secs(30)));
    let begun = Instant::now();
    assert_eq!(queue.next().await, "a");
    assert_eq!(begun.elapsed(), Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn news_comes_before_the_time_asked_for_and_in_its_place() {
    let queue = open();
    queue.push("a");
    queue.next().await;
    queue.done(&"a", Next::After(Duration::from_secs(30)));
    queue.push("a");
    assert_eq!(queue.next().await, "a");
    queue.done(&"a", Next::Settled);
    assert!(timeout(Duration::from_mins(1), queue.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_failing_key_waits_longer_each_time_and_from_the_start_after_a_success() {
    let queue = open();
    queue.push("a");
    let mut waits = Vec::new();
    for _ in 0..3 {
        queue.next().await;
        queue.done(&"a", Next::Retry);
        let begun = Instant::now();
        queue.next().await;
        waits.push(begun.elapsed());
        // In work again; the next failure waits longer.
        queue.done(&"a", Next::Retry);
    }
    assert!(
        waits.is_sorted() && waits.first() < waits.last(),
        "{waits:?}"
    );
    queue.next().await;
    queue.done(&"a", Next::Settled);
    queue.push("a");
    queue.next().await;
    queue.done(&"a", Next::Retry);
    let begun = Instant::now();
    queue.next().await;
    assert_eq!(begun.elapsed(), back_off(0));
}

#[tokio::test(start_paused = true)]
async fn news_that_came_during_a_failure_waits_for_the_back_off() {
    let queue = open();
    queue.push("a");
    queue.next().await;
    queue.push("a");
    queue.done(&"a", Next::Retry);
    let begun = Instant::now();
    queue.next().await;
    assert_eq!(begun.elapsed(), back_off(0));
}

#[tokio::test(start_paused = true)]
async fn one_failing_key_holds_up_no_other() {
    let queue = open();
    queue.push("a");
    queue.next().await;
    queue.done(&"a", Next::Retry);
    queue.push("b");
    let begun = Instant::now();
    assert_eq!(queue.next().await, "b");
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn every_waiting_worker_gets_a_key_when_several_come_at_once() {
    let queue = Arc::new(open());
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let queue = Arc::clone(&queue);
        workers.spawn(async move { timeout(MOMENT, queue.next()).await });
    }
    tokio::task::yield_now().await;
    for key in ["a", "b", "c", "d"] {
        queue.push(key);
    }
    let mut got = Vec::new();
    while let Some(key) = workers.join_next().await {
        got.push(key.unwrap().unwrap());
    }
    got.sort_unstable();
    assert_eq!(got, ["a", "b", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_takes_nothing() {
    let queue = Queue::default();
    queue.push("a");
    assert!(queue.is_empty());
    queue.open();
    assert!(nothing_comes(&queue).await);
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_has_forgotten_keys_in_work_and_back_offs() {
    let queue = open();
    queue.push("a");
    queue.next().await;
    queue.push("b");
    queue.close();
    assert!(queue.is_empty());
    queue.open();
    // A worker of the term before may still report.
    queue.done(&"a", Next::Retry);
    assert!(timeout(BACK_OFF_LONGEST * 2, queue.next()).await.is_err());
    queue.push("a");
    assert_eq!(queue.next().await, "a");
}

proptest! {
    #[test]
    fn a_back_off_grows_and_is_bounded(failures in 0_u32..100) {
        prop_assert!(back_off(failures) <= back_off(failures + 1));
        prop_assert!(back_off(failures) <= BACK_OFF_LONGEST);
        prop_assert!(back_off(failures) > Duration::ZERO);
    }
}
