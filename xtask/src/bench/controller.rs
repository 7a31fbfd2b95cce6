//! What claims cost: writes, reconciles, memory, the time from a ready pod to `Bound`, how many a second can
//! be made, and what a change of leaders and a credential that is gone cost in time; beside the same objects
//! made by hand, and beside agent-sandbox. On a control plane of its own, whose fake node makes pods ready at
//! once. Does I/O.

mod burst;
mod contender;
mod counters;
mod histogram;
mod lane;
mod leaders;
mod paced;
mod revocation;
mod ring;
mod standing;
mod still;

use std::time::Duration;

use sandgate_e2e::binaries::AgentSandbox;
use sandgate_e2e::own_binaries::OwnBinaries;
use sandgate_e2e::progress::Step;

use self::contender::Contender;
use self::lane::Lane;
use self::ring::Ring;
use super::figure::Table;

/// How long anything may take on this control plane that is not one of thousands.
const PATIENCE: Duration = Duration::from_mins(2);

/// How often it is looked at meanwhile what has no event.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How many of each are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Claims that stand in the end.
    claims: u32,
    /// Those with which it is compared how long a reconcile takes.
    few: u32,
    /// Those that are made to see it.
    probes: u32,
    /// Those whose memory is compared with that of as many Sandboxes.
    compared: u32,
    /// Those of one round.
    round: u32,
}

impl Scale {
    /// With so many claims in the end; of thousands, the others are as many as the budgets say.
    pub fn of(claims: u32) -> Self {
        Self {
            claims,
            few: (claims / 4).min(100),
            probes: (claims / 8).min(100),
            compared: (claims / 2).min(1_000),
            round: claims.min(200),
        }
    }
}

/// Measures everything about the controller in `own`, beside `peer`, and tells each figure once it is known.
pub async fn measure(
    own: &OwnBinaries,
    peer: &AgentSandbox,
    scale: Scale,
    table: &mut Table,
) -> anyhow::Result<()> {
    let mut ring = Ring::open(own, peer).await?;
    table.extend(standing::idle(&mut ring).await?)?;

    let step = Step::begin("measuring claims and Sandboxes at ten a second");
    table.extend(paced::measure(&mut ring, scale.round).await?)?;
    step.done();
    let step = Step::begin("measuring bursts of Deployments, claims and Sandboxes");
    table.extend(burst::measure(&mut ring, scale.round).await?)?;
    step.done();

    ring.turn(Contender::Claims).await?;
    let step = Step::begin("measuring how long a credential that is gone stays in pods");
    table.extend(revocation::measure(&ring.cluster).await?)?;
    step.done();
    let step = Step::begin("measuring changes of leaders");
    let mut lane = Lane::open(&ring.cluster, Contender::Claims).await?;
    lane.fill(scale.few).await?;
    table.extend(leaders::measure(&mut ring).await?)?;
    lane.close().await?;
    step.done();

    standing::measure(&mut ring, &scale, table).await?;
    ring.check()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_claims_are_compared_at_the_numbers_of_the_budgets() {
        let scale = Scale::of(10_000);
        assert_eq!((scale.few, scale.compared), (100, 1_000));
    }

    #[test]
    fn few_claims_and_their_probes_are_less_than_those_that_are_compared() {
        for claims in [100, 200, 1_000, 10_000] {
            let scale = Scale::of(claims);
            assert!(scale.few + scale.probes < scale.compared, "{scale:?}");
            assert!(scale.compared < scale.claims, "{scale:?}");
        }
    }
}
