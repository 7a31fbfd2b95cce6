//! A measured figure, its budget, and how both are printed. Writes to standard output; the rest is
//! pure.

use std::io::{Write, stdout};

use anyhow::{Context, bail};
use serde::Serialize;

/// What came out of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum Amount {
    Number(f64),
    Text(String),
}

/// One line of the result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    name: String,
    value: Amount,
    unit: &'static str,
    /// What the value may be at most, or must be at least; there for comparison only if absent.
    budget: Option<f64>,
    met: Option<bool>,
    /// Whether more is better.
    #[serde(skip)]
    at_least: bool,
    /// Whether it comes out the same wherever it is measured, so that a miss is a fault.
    #[serde(skip)]
    repeatable: bool,
}

/// The middle one of several rounds, so that a disturbed one moves nothing; none of none.
pub fn median(rounds: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = rounds.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

impl Figure {
    /// A number without a budget.
    pub fn shown(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self {
            name: name.into(),
            value: Amount::Number(rounded(value)),
            unit,
            budget: None,
            met: None,
            at_least: false,
            repeatable: false,
        }
    }

    /// A number that depends on the machine and must not exceed `budget`.
    pub fn within(name: impl Into<String>, value: f64, unit: &'static str, budget: f64) -> Self {
        Self {
            budget: Some(rounded(budget)),
            met: Some(value <= budget),
            ..Self::shown(name, value, unit)
        }
    }

    /// A number that depends on the machine and must be at least `budget`.
    pub fn at_least(name: impl Into<String>, value: f64, unit: &'static str, budget: f64) -> Self {
        Self {
            at_least: true,
            met: Some(value >= budget),
            ..Self::within(name, value, unit, budget)
        }
    }

    /// A number that is the same on every machine and must not exceed `budget`.
    pub fn counted(name: impl Into<String>, value: f64, unit: &'static str, budget: f64) -> Self {
        Self {
            repeatable: true,
            ..Self::within(name, value, unit, budget)
        }
    }

    /// Words that say what the numbers after it are to be read with.
    pub fn text(name: impl Into<String>, text: String) -> Self {
        Self {
            value: Amount::Text(text),
            ..Self::shown(name, 0.0, "text")
        }
    }

    fn for_people(&self) -> String {
        let name = &self.name;
        let value = match &self.value {
            Amount::Text(text) => return format!("{name}: {text}"),
            Amount::Number(value) => format!("{value} {}", self.unit),
        };
        let (sign, missed) = if self.at_least {
            ("≥", "below")
        } else {
            ("≤", "over")
        };
        let judged = match (self.budget, self.met) {
            (Some(budget), Some(true)) => format!("{sign} {budget}  ✓"),
            (Some(budget), _) => format!("{sign} {budget}  ✗ {missed} budget"),
            (None, _) => String::new(),
        };
        format!("  {name:<48} {value:>16}   {judged}")
            .trim_end()
            .to_owned()
    }
}

/// Prints figures as they come.
#[derive(Debug)]
pub struct Table {
    json: bool,
    missed: Vec<String>,
}

impl Table {
    /// For people, or as JSON.
    pub fn new(json: bool) -> Self {
        Self {
            json,
            missed: Vec::new(),
        }
    }

    /// Prints one.
    pub fn add(&mut self, figure: Figure) -> anyhow::Result<()> {
        let line = if self.json {
            serde_json::to_string(&figure)?
        } else {
            figure.for_people()
        };
        writeln!(stdout(), "{line}").context("failed to write to standard output")?;
        if figure.repeatable && figure.met == Some(false) {
            self.missed.push(figure.name);
        }
        Ok(())
    }

    /// Prints several.
    pub fn extend(&mut self, figures: impl IntoIterator<Item = Figure>) -> anyhow::Result<()> {
        figures.into_iter().try_for_each(|figure| self.add(figure))
    }

    /// An error if a figure that is the same everywhere missed its budget.
    pub fn finish(self) -> anyhow::Result<()> {
        if !self.missed.is_empty() {
            bail!("over budget on any machine: {}", self.missed.join(", "));
        }
        Ok(())
    }
}

/// Three digits after the point: more would be noise.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_disturbed_round_of_three_moves_no_median() {
        assert_eq!(median([24.0, 3.0, 25.0]), Some(24.0));
        assert_eq!(median([]), None);
    }

    #[test]
    fn a_figure_as_json_has_name_value_unit_budget_and_met() {
        let within = Figure::within("latency", 149.000_4, "µs", 150.0);
        assert_eq!(
            serde_json::to_string(&within).unwrap(),
            r#"{"name":"latency","value":149.0,"unit":"µs","budget":150.0,"met":true}"#
        );
        let shown = Figure::shown("rate", 2000.0, "1/s");
        assert_eq!(
            serde_json::to_string(&shown).unwrap(),
            r#"{"name":"rate","value":2000.0,"unit":"1/s","budget":null,"met":null}"#
        );
    }

    #[test]
    fn only_a_figure_that_is_the_same_everywhere_fails_the_run() {
        let mut table = Table::new(true);
        table.add(Figure::within("slow", 2.0, "ms", 1.0)).unwrap();
        table
            .add(Figure::counted("few", 1.0, "writes", 1.0))
            .unwrap();
        table.finish().unwrap();

        let mut table = Table::new(true);
        table
            .add(Figure::counted("many", 2.0, "writes", 1.0))
            .unwrap();
        let error = table.finish().unwrap_err().to_string();
        assert!(error.contains("many"), "{error}");
    }

    #[test]
    fn a_missed_budget_is_told_to_people() {
        let missed = Figure::within("latency", 151.0, "µs", 150.0).for_people();
        assert!(missed.contains("over budget"), "{missed}");
        let met = Figure::within("latency", 150.0, "µs", 150.0).for_people();
        assert!(met.ends_with('✓'), "{met}");
    }

    #[test]
    fn of_what_should_be_much_too_little_misses_the_budget() {
        let missed = Figure::at_least("rate", 0.79, "of the bare rate", 0.8).for_people();
        assert!(missed.contains("≥ 0.8  ✗ below budget"), "{missed}");
        let met = Figure::at_least("rate", 0.8, "of the bare rate", 0.8).for_people();
        assert!(met.ends_with("≥ 0.8  ✓"), "{met}");
    }
}
