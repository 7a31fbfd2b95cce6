//! The report on a terminal. Pure.

use std::fmt::Write as _;

use super::grid::{self, Grid, Mark};
use super::report::{Cell, Ended, Report};
use super::verdict::Outcome;

/// How wide the titles of rows are.
const TITLE: usize = 36;
/// How wide the words on how a row is dialled are.
const HOW: usize = 22;

/// The report as text, with colours or without.
pub fn render(report: &Report, colour: bool) -> String {
    let paper = Paper { colour };
    let mut text = String::new();
    let egress = grid::egress(report);
    if !egress.rows.is_empty() {
        text.push_str("What sandboxes reach\n\n");
        paper.matrix(&mut text, &egress);
    }
    let ingress = grid::ingress(report);
    if !ingress.rows.is_empty() {
        text.push_str("Who reaches a sandbox\n\n");
        paper.matrix(&mut text, &ingress);
    }
    paper.legend(&mut text, report);
    paper.endings(&mut text, report);
    paper.hardening(&mut text, report);
    paper.findings(&mut text, report);
    let mark = if report.passed {
        Mark::Open
    } else {
        Mark::Leak
    };
    let sign = if report.passed { '✓' } else { '✗' };
    let line = format!("{sign} {}", report.sentence);
    let _ = writeln!(text, "{}", paper.paint(mark, &line));
    text
}

struct Paper {
    colour: bool,
}

impl Paper {
    fn paint(&self, mark: Mark, text: &str) -> String {
        let code = match mark {
            Mark::Open => "32",
            Mark::Shut => "34",
            Mark::Leak => "1;31",
            Mark::Blocked | Mark::Unmeasured => "1;33",
            Mark::EitherOpen | Mark::EitherShut | Mark::Absent => "2",
        };
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Columns are lettered, and the letters explained below: titles are wider than cells.
    fn matrix(&self, text: &mut String, grid: &Grid<'_>) {
        let letters = ('A'..='Z').take(grid.columns.len());
        let head: String = letters
            .clone()
            .flat_map(|letter| [' ', letter, ' '])
            .collect();
        let head = format!("  {:TITLE$}  {:HOW$} {head}", "", "");
        let _ = writeln!(text, "{}", head.trim_end());
        let mut above = "";
        for row in &grid.rows {
            let title = if row.title == above { "" } else { row.title };
            above = row.title;
            let _ = write!(text, "  {title:TITLE$}  {:HOW$} ", row.how);
            for cell in &row.cells {
                let symbol = cell.map_or_else(
                    || " ".to_owned(),
                    |cell| self.paint(cell.mark(), &cell.mark().symbol().to_string()),
                );
                let _ = write!(text, " {symbol} ");
            }
            let end = text.trim_end_matches(' ').len();
            text.truncate(end);
            text.push('\n');
        }
        text.push('\n');
        for (letter, title) in letters.zip(&grid.columns) {
            let _ = writeln!(text, "  {letter}  {title}");
        }
        text.push('\n');
    }

    fn legend(&self, text: &mut String, report: &Report) {
        for mark in report.marks() {
            let symbol = self.paint(mark, &mark.symbol().to_string());
            let _ = writeln!(text, "  {symbol}  {}", mark.words());
        }
        text.push('\n');
    }

    fn endings(&self, text: &mut String, report: &Report) {
        if report.endings.is_empty() {
            return;
        }
        text.push_str("How sandboxes end, while their workload ignores SIGTERM and dials on\n\n");
        for ended in &report.endings {
            let mark = ending_mark(ended);
            let symbol = self.paint(mark, &mark.symbol().to_string());
            let title = report.title(&ended.scenario);
            let _ = writeln!(text, "  {symbol}  {title:28} {}", ended_in_words(ended));
        }
        text.push('\n');
    }

    fn hardening(&self, text: &mut String, report: &Report) {
        if report.hardening.is_empty() {
            return;
        }
        text.push_str("What the container sees of itself\n\n");
        for hardened in &report.hardening {
            let title = report.title(&hardened.scenario);
            let good = hardened.checks.iter().filter(|check| check.holds).count();
            let all = hardened.checks.len();
            let mark = if all > 0 && good == all {
                Mark::Open
            } else {
                Mark::Leak
            };
            let line = if all == 0 {
                "it said nothing".to_owned()
            } else {
                format!("{good} of {all} as the restricted profile and the class ask")
            };
            let symbol = self.paint(mark, &mark.symbol().to_string());
            let _ = writeln!(text, "  {symbol}  {title:28} {line}");
            for check in hardened.checks.iter().filter(|check| !check.holds) {
                let _ = writeln!(
                    text,
                    "       {}: {}, should be {}",
                    check.about, check.found, check.expected
                );
            }
        }
        text.push('\n');
    }

    /// What is wrong or unknown, one line each; of a scenario that broke off one line in all.
    fn findings(&self, text: &mut String, report: &Report) {
        let mut lines = Vec::new();
        for tried in &report.scenarios {
            let ending = report.endings.iter().any(|it| it.scenario == tried.id);
            if let (false, Some(trouble)) = (ending, &tried.trouble) {
                lines.push((Mark::Unmeasured, format!("{}: {trouble}", tried.title)));
            }
            let cells = report.cells.iter().filter(|cell| {
                let told = cell.reason.is_some() && cell.reason == tried.trouble;
                cell.scenario == tried.id && cell.outcome.fails(false) && !told
            });
            let found = cells.map(|cell| (cell.mark(), finding(&tried.title, cell)));
            lines.extend(found);
        }
        for (mark, line) in &lines {
            let symbol = self.paint(*mark, &mark.symbol().to_string());
            let _ = writeln!(text, "  {symbol}  {line}");
        }
        if !lines.is_empty() {
            text.push('\n');
        }
    }
}

fn finding(title: &str, cell: &Cell) -> String {
    let from = match cell.from.as_str() {
        "sandbox" => String::new(),
        other => format!("{other} → "),
    };
    let why = cell.reason.clone().unwrap_or_else(|| seen(cell));
    format!("{title}: {from}{} ({}): {why}", cell.to, grid::how(cell))
}

fn seen(cell: &Cell) -> String {
    match &cell.evidence.last_error {
        Some(error) if cell.outcome == Outcome::Blocked => format!("{} ({error})", cell.seen()),
        _ => cell.seen(),
    }
}

/// The mark of an ending.
pub fn ending_mark(ended: &Ended) -> Mark {
    match ended.outcome {
        Outcome::Leak => Mark::Leak,
        Outcome::Unmeasured => Mark::Unmeasured,
        Outcome::ImplementationDefined if ended.forbidden_arrivals > 0 => Mark::EitherOpen,
        Outcome::ImplementationDefined => Mark::EitherShut,
        _ => Mark::Shut,
    }
}

/// An ending in words.
pub fn ended_in_words(ended: &Ended) -> String {
    if let (Outcome::Unmeasured, Some(reason)) = (ended.outcome, &ended.reason) {
        return reason.clone();
    }
    let mut words = match (ended.forbidden_arrivals, ended.window_seconds) {
        (0, _) => "nothing got where it may not".to_owned(),
        (count, window) => format!(
            "{count} got where they may not, over {:.1} s",
            window.unwrap_or_default()
        ),
    };
    if ended.forbidden_before_end > 0 {
        let before = ended.forbidden_before_end;
        let _ = write!(words, ", {before} of them before its end began");
    }
    if let Some(seconds) = ended.lived_on_seconds {
        let _ = write!(words, "; it lived on for {seconds:.1} s");
    }
    if let Some(seconds) = ended.healed_after_seconds {
        let _ = write!(words, "; the policy was back after {seconds:.2} s");
    }
    if let Some(seconds) = ended.allowed_silent_seconds {
        let _ = write!(
            words,
            "; the allowed Service was out of reach for {seconds:.2} s"
        );
    }
    words
}

impl Report {
    /// The marks that cells and endings bear, in the order of the legend.
    pub fn marks(&self) -> impl Iterator<Item = Mark> {
        let endings = self.endings.iter().map(ending_mark);
        let used: Vec<Mark> = self.cells.iter().map(Cell::mark).chain(endings).collect();
        Mark::ALL
            .into_iter()
            .filter(move |mark| used.contains(mark))
    }

    /// The short title of a scenario.
    pub fn title<'a>(&'a self, id: &'a str) -> &'a str {
        let tried = self.scenarios.iter().find(|tried| tried.id == id);
        tried.map_or(id, |tried| &tried.title)
    }
}

#[cfg(test)]
mod tests;
