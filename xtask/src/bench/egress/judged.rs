//! What came of the proxies, as figures: medians of the rounds, ours held to its budgets. Pure.

use anyhow::Context;

use super::super::figure::{Figure, median};
use super::super::latency::Latencies;
use super::super::number;
use super::Results;
use super::load::{IDLE, PACE};
use super::proxy::Proxy;

/// A round of one proxy, or of none.
#[derive(Debug, Default)]
pub struct Measured {
    /// Tunnels a second, all clients busy.
    pub rate: f64,
    /// What a tunnel took at [`PACE`].
    pub paced: Latencies,
    /// MiB a second through one tunnel.
    pub throughput: f64,
    /// Resident KiB of an idle tunnel.
    pub tunnel: f64,
    /// What went wrong, in the order of [`Check::ALL`].
    pub faults: [Option<String>; 3],
}

/// What must be right however fast it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// An end of one direction leaves the other.
    HalfClose,
    /// What comes with the CONNECT reaches the origin.
    EarlyBytes,
    /// Every tunnel that is asked for stands, and carries.
    Tunnels,
}

impl Check {
    /// In the order of [`Measured::faults`].
    pub const ALL: [Self; 3] = [Self::HalfClose, Self::EarlyBytes, Self::Tunnels];

    const fn name(self) -> &'static str {
        match self {
            Self::HalfClose => "half_close",
            Self::EarlyBytes => "early_bytes",
            Self::Tunnels => "all_tunnels",
        }
    }
}

/// What must be met: tunnels a second, MiB a second, how often the best of the others that may be
/// instead, KiB an idle tunnel, and milliseconds that the slowest percent takes longer.
const RATE: f64 = 8000.0;
const THROUGHPUT: f64 = 2500.0;
const TIMES_THE_BEST: f64 = 1.5;
const TUNNEL: f64 = 4.0;
const ADDED_P99: f64 = 1.0;

/// One that was measured, in few words.
struct Row {
    who: Option<Proxy>,
    rate: f64,
    p50: f64,
    p99: f64,
    throughput: f64,
    tunnel: f64,
    faults: [Option<String>; 3],
}

impl Row {
    fn of(who: Option<Proxy>, rounds: &[Measured]) -> Option<Self> {
        let each = |of: fn(&Measured) -> Option<f64>| median(rounds.iter().filter_map(of));
        // What went wrong once is wrong.
        let fault = |at: usize| {
            let mut all = rounds
                .iter()
                .filter_map(|round| round.faults.get(at)?.clone());
            all.next()
        };
        Some(Self {
            who,
            rate: each(|round| Some(round.rate))?,
            p50: each(|round| round.paced.millis(50)).unwrap_or(f64::INFINITY),
            p99: each(|round| round.paced.millis(99)).unwrap_or(f64::INFINITY),
            throughput: each(|round| Some(round.throughput))?,
            tunnel: each(|round| Some(round.tunnel))?,
            faults: [fault(0), fault(1), fault(2)],
        })
    }

    fn is_ours(&self) -> bool {
        self.who == Some(Proxy::Sandgate)
    }

    fn named(&self, what: &str) -> String {
        format!("egress_{what}_{}", self.who.map_or("direct", Proxy::name))
    }
}

/// How a figure is held to a budget.
type Held = fn(String, f64, &'static str, f64) -> Figure;

/// One measure of all rows that have it, ours held to a budget.
fn compared(
    rows: &[Row],
    what: &str,
    unit: &'static str,
    of: impl Fn(&Row) -> Option<f64>,
    (held, budget): (Held, f64),
) -> Vec<Figure> {
    let figure = |row: &Row| {
        let (name, value) = (row.named(what), of(row)?);
        Some(if row.is_ours() {
            held(name, value, unit, budget)
        } else {
            Figure::shown(name, value, unit)
        })
    };
    rows.iter().filter_map(figure).collect()
}

/// All of it, one measure after the other, so that those who are compared stand together.
pub fn figures(results: &Results) -> anyhow::Result<Vec<Figure>> {
    let rows: Vec<Row> = results
        .iter()
        .filter_map(|(who, rounds)| Row::of(*who, rounds))
        .collect();
    let direct = rows.iter().find(|row| row.who.is_none());
    let direct = direct.context("nothing was measured without a proxy")?;
    let proxies = || rows.iter().filter(|row| row.who.is_some());
    let best = proxies()
        .filter(|row| !row.is_ours())
        .map(|row| row.throughput);
    let enough = best
        .reduce(f64::max)
        .map_or(THROUGHPUT, |best| THROUGHPUT.min(best * TIMES_THE_BEST));

    let mut figures = Vec::new();
    let (at_least, within): (Held, Held) = (Figure::at_least, Figure::within);
    let rate = |row: &Row| Some(row.rate);
    figures.extend(compared(
        &rows,
        "connect_rate",
        "1/s",
        rate,
        (at_least, RATE),
    ));
    for row in &rows {
        for (percent, value) in [(50, row.p50), (99, row.p99)] {
            let name = row.named(&format!("connect_p{percent}_at_{PACE}"));
            figures.push(Figure::shown(name, value, "ms"));
        }
    }
    let name = format!("added_p99_at_{PACE}");
    let added = |row: &Row| row.who.map(|_| row.p99 - direct.p99);
    figures.extend(compared(&rows, &name, "ms", added, (within, ADDED_P99)));
    let throughput = |row: &Row| Some(row.throughput);
    figures.extend(compared(
        &rows,
        "one_tunnel",
        "MiB/s",
        throughput,
        (at_least, enough),
    ));
    let name = format!("tunnel_of_{IDLE}_idle");
    let tunnel = |row: &Row| row.who.map(|_| row.tunnel);
    figures.extend(compared(&rows, &name, "KiB", tunnel, (within, TUNNEL)));
    for (check, at) in Check::ALL.iter().zip(0..) {
        for row in &rows {
            let fault = row.faults.get(at).cloned().flatten();
            let verdict = fault.map_or_else(|| "yes".to_owned(), |why| format!("no: {why}"));
            figures.push(Figure::text(row.named(check.name()), verdict));
        }
    }
    if let Some(ours) = rows.iter().find(|row| row.is_ours()) {
        let faults = ours.faults.iter().flatten().count();
        figures.push(Figure::counted(
            ours.named("faults"),
            number(faults),
            "faults",
            0.0,
        ));
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn round(rate: f64, millis: u64, throughput: f64) -> Measured {
        Measured {
            rate,
            paced: [Duration::from_millis(millis)].into_iter().collect(),
            throughput,
            tunnel: 3.0,
            faults: [None, None, None],
        }
    }

    fn told(results: &Results) -> Vec<String> {
        let figures = figures(results).unwrap();
        figures
            .iter()
            .map(|figure| serde_json::to_string(figure).unwrap())
            .collect()
    }

    fn has(told: &[String], words: &str) {
        assert!(
            told.iter().any(|line| line.contains(words)),
            "{words}: {told:#?}"
        );
    }

    #[test]
    fn medians_are_told_and_ours_is_held_to_its_budgets() {
        let direct = vec![round(9000.0, 1, 5000.0)];
        let ours = [7000.0, 8500.0, 9000.0].map(|rate| round(rate, 3, 2600.0));
        let results = Results::from([(None, direct), (Some(Proxy::Sandgate), ours.into())]);
        let told = told(&results);
        has(
            &told,
            r#""egress_connect_rate_sandgate","value":8500.0,"unit":"1/s","budget":8000.0,"met":true"#,
        );
        has(
            &told,
            r#""egress_added_p99_at_500_sandgate","value":2.0,"unit":"ms","budget":1.0,"met":false"#,
        );
        has(
            &told,
            r#""egress_one_tunnel_sandgate","value":2600.0,"unit":"MiB/s","budget":2500.0"#,
        );
        has(&told, r#""egress_faults_sandgate","value":0.0"#);
    }

    #[test]
    fn half_as_much_again_as_the_best_of_the_others_is_enough() {
        let of = |throughput| vec![round(9000.0, 1, throughput)];
        let results = Results::from([
            (None, of(5000.0)),
            (Some(Proxy::Sandgate), of(1600.0)),
            (Some(Proxy::Squid), of(1000.0)),
            (Some(Proxy::Tinyproxy), of(500.0)),
        ]);
        has(
            &told(&results),
            r#""value":1600.0,"unit":"MiB/s","budget":1500.0,"met":true"#,
        );
    }

    #[test]
    fn what_went_wrong_once_is_told_and_is_a_fault_if_it_is_ours() {
        let mut wrong = round(9000.0, 1, 3000.0);
        wrong.faults = [Some("0 of 200000 bytes came".to_owned()), None, None];
        let results = Results::from([
            (None, vec![round(9000.0, 1, 5000.0)]),
            (Some(Proxy::Sandgate), vec![round(9000.0, 1, 3000.0), wrong]),
        ]);
        let told = told(&results);
        has(
            &told,
            r#""egress_half_close_sandgate","value":"no: 0 of 200000 bytes came""#,
        );
        has(&told, r#""egress_early_bytes_sandgate","value":"yes""#);
        has(
            &told,
            r#""egress_faults_sandgate","value":1.0,"unit":"faults","budget":0.0,"met":false"#,
        );
    }
}
