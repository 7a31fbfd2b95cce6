//! The report's cells as rows and columns, and the marks they bear on terminal and picture. Pure.

use super::report::{Cell, Report};
use super::verdict::{Measured, Outcome};

/// What stands in a cell: a symbol that needs no colour, and a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// Open, as it should be.
    Open,
    /// Shut, as it should be.
    Shut,
    /// Open, and should not be.
    Leak,
    /// Shut, and should not be.
    Blocked,
    /// Kubernetes leaves it open; here it is open.
    EitherOpen,
    /// Kubernetes leaves it open; here it is shut.
    EitherShut,
    /// Nothing can be said.
    Unmeasured,
    /// There is nothing to reach here.
    Absent,
}

impl Mark {
    /// All, in the order of the legend.
    pub const ALL: [Self; 8] = [
        Self::Open,
        Self::Shut,
        Self::Leak,
        Self::Blocked,
        Self::EitherOpen,
        Self::EitherShut,
        Self::Unmeasured,
        Self::Absent,
    ];

    /// Of a cell.
    pub fn of(outcome: Outcome, measured: Measured) -> Self {
        let open = measured == Measured::Open;
        match outcome {
            Outcome::AsExpected if open => Self::Open,
            Outcome::AsExpected => Self::Shut,
            Outcome::Leak => Self::Leak,
            Outcome::Blocked => Self::Blocked,
            Outcome::ImplementationDefined if open => Self::EitherOpen,
            Outcome::ImplementationDefined => Self::EitherShut,
            Outcome::Unmeasured => Self::Unmeasured,
            Outcome::Absent => Self::Absent,
        }
    }

    /// One character.
    pub fn symbol(self) -> char {
        match self {
            Self::Open => '●',
            Self::Shut => '■',
            Self::Leak => '✗',
            Self::Blocked => '!',
            Self::EitherOpen => '○',
            Self::EitherShut => '□',
            Self::Unmeasured => '?',
            Self::Absent => '–',
        }
    }

    /// What the legend says.
    pub fn words(self) -> &'static str {
        match self {
            Self::Open => "open, as it should be",
            Self::Shut => "shut, as it should be",
            Self::Leak => "LEAK: open and should be shut",
            Self::Blocked => "BLOCKED: shut and should be open",
            Self::EitherOpen => "open; Kubernetes leaves it to the network plugin",
            Self::EitherShut => "shut; Kubernetes leaves it to the network plugin",
            Self::Unmeasured => "not measured",
            Self::Absent => "nothing to reach here",
        }
    }
}

/// A matrix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid<'a> {
    /// What stands above the columns.
    pub columns: Vec<&'a str>,
    /// The rows.
    pub rows: Vec<Row<'a>>,
}

/// A row of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'a> {
    /// What it is about.
    pub title: &'a str,
    /// How it is dialled; empty where the columns say so.
    pub how: String,
    /// A cell for each column; `None` where nothing was tried.
    pub cells: Vec<Option<&'a Cell>>,
}

/// What sandboxes reach: a row for each destination, a column for each scenario.
pub fn egress(report: &Report) -> Grid<'_> {
    let of = |id: &str| {
        let cells = report.cells.iter();
        let cells: Vec<&Cell> = cells.filter(|cell| cell.scenario == id).collect();
        cells
    };
    let tried = report.scenarios.iter().filter(|it| it.id != "ingress");
    let columns: Vec<(&str, Vec<&Cell>)> = tried
        .map(|tried| (tried.title.as_str(), of(&tried.id)))
        .filter(|(_, cells)| !cells.is_empty())
        .collect();
    // The widest column has all destinations in their order; a run of a few scenarios may have none
    // that wide.
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut by_width: Vec<&Vec<&Cell>> = columns.iter().map(|(_, cells)| cells).collect();
    by_width.sort_by_key(|cells| std::cmp::Reverse(cells.len()));
    let mut known: Vec<&str> = Vec::new();
    for cell in by_width.into_iter().flatten() {
        if known.contains(&cell.destination.as_str()) {
            continue;
        }
        known.push(&cell.destination);
        let cells = columns.iter().map(|(_, cells)| {
            let mut cells = cells.iter().copied();
            cells.find(|other| other.destination == cell.destination)
        });
        rows.push(Row {
            title: &cell.to,
            how: how(cell),
            cells: cells.collect(),
        });
    }
    Grid {
        columns: columns.into_iter().map(|(title, _)| title).collect(),
        rows,
    }
}

/// Who reaches a sandbox: a row for each caller and kind of address, a column for each door.
pub fn ingress(report: &Report) -> Grid<'_> {
    let cells: Vec<&Cell> = report
        .cells
        .iter()
        .filter(|cell| cell.scenario == "ingress")
        .collect();
    let distinct = |of: fn(&Cell) -> &str| {
        let mut all: Vec<&str> = Vec::new();
        for cell in &cells {
            if !all.contains(&of(cell)) {
                all.push(of(cell));
            }
        }
        all
    };
    let callers = distinct(|cell| &cell.from);
    let doors = distinct(|cell| &cell.destination);
    let columns = callers.clone();
    let rows = doors.into_iter().filter_map(|door| {
        let any = cells.iter().find(|cell| cell.destination == door)?;
        let of_caller = callers.iter().map(|caller| {
            let mut cells = cells.iter().copied();
            cells.find(|cell| cell.from == *caller && cell.destination == door)
        });
        Some(Row {
            title: &any.to,
            how: how(any),
            cells: of_caller.collect(),
        })
    });
    Grid {
        rows: rows.collect(),
        columns,
    }
}

/// `pod IP, TCP`
pub fn how(cell: &Cell) -> String {
    let six = match cell.family {
        super::facts::Family::IPv4 => "",
        super::facts::Family::IPv6 => ", IPv6",
    };
    format!("{}, {}{six}", cell.via.name(), cell.protocol.name())
}

impl Cell {
    /// What it bears.
    pub fn mark(&self) -> Mark {
        Mark::of(self.outcome, self.measured)
    }

    /// What was seen, in a few words: `12 of 430 dials answered or arrived, from 1.2 to 27.4 ms`.
    pub fn seen(&self) -> String {
        let evidence = &self.evidence;
        let (reached, pods) = (evidence.reached, evidence.pods);
        let through = evidence.times_reached();
        let mut parts = Vec::new();
        if pods > 1 {
            parts.push(format!("{reached} of {pods} pods got through"));
        }
        parts.push(match evidence.attempts {
            0 => format!("{through} arrived"),
            attempts => format!("{through} of {attempts} dials answered or arrived"),
        });
        if let (Some(first), Some(last)) = (evidence.first_reached_ms, evidence.last_reached_ms) {
            parts.push(format!("from {first} to {last} ms"));
        }
        parts.join(", ")
    }
}
