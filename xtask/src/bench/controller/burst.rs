//! How many sandboxes a second come of a burst: made by hand, of claims and of agent-sandbox's Sandboxes, in
//! turns. Does I/O.

use std::collections::BTreeMap;

use anyhow::Context;

use super::super::figure::{Figure, median};
use super::contender::Contender;
use super::lane::Lane;
use super::ring::Ring;

/// Each contender is measured this often; the median is told.
const ROUNDS: u32 = 3;

/// Of the rate of what is made by hand.
const SHARE: f64 = 0.8;

/// Measures bursts of `count`.
pub async fn measure(ring: &mut Ring, count: u32) -> anyhow::Result<Vec<Figure>> {
    let mut rates: BTreeMap<Contender, Vec<f64>> = BTreeMap::new();
    for _ in 0..ROUNDS {
        for contender in Contender::ALL {
            ring.turn(contender).await?;
            let mut lane = Lane::open(&ring.cluster, contender).await?;
            let took = lane.burst("burst", count).await?;
            let rate = f64::from(count) / took.as_secs_f64();
            rates.entry(contender).or_default().push(rate);
            lane.close().await?;
        }
    }
    figures(&rates, count)
}

fn figures(rates: &BTreeMap<Contender, Vec<f64>>, count: u32) -> anyhow::Result<Vec<Figure>> {
    let rate = |of: Contender| {
        let all = rates.get(&of).and_then(|all| median(all.iter().copied()));
        all.with_context(|| format!("no burst of {} was measured", of.name()))
    };
    let (bare, claims, peer) = (
        rate(Contender::Bare)?,
        rate(Contender::Claims)?,
        rate(Contender::Sandboxes)?,
    );
    Ok(vec![
        Figure::shown("burst_size", f64::from(count), "sandboxes"),
        Figure::shown("burst_bare_rate", bare, "ready/s"),
        Figure::shown("burst_claims_rate", claims, "bound/s"),
        Figure::shown("burst_agent_sandbox_rate", peer, "ready/s"),
        Figure::at_least("burst_claims_share_of_bare_rate", claims / bare, "", SHARE),
        Figure::at_least(
            "burst_claims_rate_against_agent_sandbox",
            claims,
            "bound/s",
            peer,
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_round_of_each_there_is_no_comparison() {
        let rates = BTreeMap::from([
            (Contender::Bare, vec![26.0]),
            (Contender::Claims, vec![22.0]),
        ]);
        let error = figures(&rates, 10).unwrap_err().to_string();
        assert_eq!(error, "no burst of sandboxes was measured");
    }
}
