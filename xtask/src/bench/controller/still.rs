//! Waits for things that have no event to come to rest. Keeps time.

use std::time::{Duration, Instant};

use anyhow::bail;

use super::{LOOK_EVERY, PATIENCE};

/// What has not changed for so long is at rest.
const STILL: Duration = Duration::from_secs(3);

/// Asks whether something has `changed` since it was asked last, until it has not for [`STILL`]. `what` has not
/// come to rest where it never does.
pub async fn until_still(
    what: &str,
    mut changed: impl AsyncFnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let mut since = Instant::now();
    let mut turn = tokio::time::interval(LOOK_EVERY);
    while since.elapsed() < STILL {
        turn.tick().await;
        if changed().await? {
            since = Instant::now();
        }
        if Instant::now() >= deadline {
            bail!("{what} still after {} s", PATIENCE.as_secs());
        }
    }
    Ok(())
}
