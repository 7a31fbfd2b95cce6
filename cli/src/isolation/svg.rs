//! The report as a picture: an SVG text that needs nothing from elsewhere. Each cell has a shape of
//! its own besides its colour, and tells its figures when pointed at. Pure.

mod marks;

use super::grid::{self, Grid, Mark};
use super::report::{Cell, Report};
use super::terminal::{ended_in_words, ending_mark};
use crate::canvas::{Area, Canvas};

const MARGIN: usize = 28;
const CELL_WIDTH: usize = 34;
const CELL_HEIGHT: usize = 22;
/// Where cells begin: left of it stand the titles of rows.
const CELLS_AT: usize = 430;
/// Where words on how a row is dialled begin.
const HOW_AT: usize = 278;
/// Height of slanted column titles.
const HEAD: usize = 128;
const WIDTH: usize = 980;
/// How far apart the columns of what containers see are.
const HARDENED_WIDTH: usize = 330;
/// How many characters of the sentence fit on a line.
const LINE: usize = 105;

/// Draws the report.
pub fn render(report: &Report) -> String {
    let mut canvas = Canvas::new(WIDTH, marks::STYLE);
    let mut y = heading(&mut canvas, report);
    y = legend(&mut canvas, report, y);
    for (title, grid) in [
        ("What sandboxes reach", grid::egress(report)),
        ("Who reaches a sandbox", grid::ingress(report)),
    ] {
        if !grid.rows.is_empty() {
            y = matrix(&mut canvas, title, &grid, y);
        }
    }
    y = endings(&mut canvas, report, y);
    y = hardening(&mut canvas, report, y);
    canvas.finish(y + MARGIN)
}

fn heading(canvas: &mut Canvas, report: &Report) -> usize {
    canvas.text(MARGIN, 44, "title", "Sandgate: isolation, measured");
    let class = if report.passed { "good" } else { "bad" };
    let mut y = 68;
    for line in wrapped(&report.sentence, LINE) {
        canvas.text(MARGIN, y, class, &line);
        y += 20;
    }
    let cluster = &report.cluster;
    let day = report.began.get(..10).unwrap_or(&report.began);
    let mut where_from = format!(
        "{day} · Kubernetes {} · {} · {} · Linux {} · {}, {} CPUs",
        cluster.kubernetes,
        cluster.container_runtime,
        cluster.os,
        cluster.kernel,
        cluster.architecture,
        cluster.cpus,
    );
    if let Some(variant) = &report.variant {
        where_from.push_str(" · ");
        where_from.push_str(variant);
    }
    canvas.text(MARGIN, y, "small", &where_from);
    y + 24
}

/// The text in lines of at most this many characters, broken between words.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > most {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

fn legend(canvas: &mut Canvas, report: &Report, y: usize) -> usize {
    let shown: Vec<Mark> = report.marks().collect();
    for (index, mark) in shown.iter().enumerate() {
        let x = MARGIN + (index % 2) * (WIDTH / 2 - MARGIN);
        let row = y + (index / 2) * CELL_HEIGHT;
        marks::draw(canvas, area(x, row, 20, 16), *mark, None);
        canvas.text(x + 30, row + 13, "", mark.words());
    }
    y + shown.len().div_ceil(2) * CELL_HEIGHT + 16
}

fn matrix(canvas: &mut Canvas, title: &str, grid: &Grid<'_>, y: usize) -> usize {
    canvas.text(MARGIN, y + 20, "section", title);
    let top = y + HEAD;
    for (index, column) in grid.columns.iter().enumerate() {
        let x = CELLS_AT + index * CELL_WIDTH + CELL_WIDTH / 2;
        canvas.slanted(x, top - 8, column);
    }
    let mut above = "";
    for (index, row) in grid.rows.iter().enumerate() {
        let line = top + index * CELL_HEIGHT;
        if row.title != above {
            let end = CELLS_AT + grid.columns.len() * CELL_WIDTH;
            canvas.line((MARGIN, line), (end, line));
            canvas.text(MARGIN, line + 15, "", row.title);
            above = row.title;
        }
        canvas.text(HOW_AT, line + 15, "small", &row.how);
        for (column, cell) in row.cells.iter().enumerate() {
            if let Some(cell) = cell {
                let x = CELLS_AT + column * CELL_WIDTH + 2;
                let about = pointed_at(cell);
                let at = area(x, line + 2, CELL_WIDTH - 4, CELL_HEIGHT - 4);
                marks::draw(canvas, at, cell.mark(), Some(&about));
            }
        }
    }
    top + grid.rows.len() * CELL_HEIGHT + 24
}

fn area(x: usize, y: usize, width: usize, height: usize) -> Area {
    Area {
        x,
        y,
        width,
        height,
    }
}

/// What a cell tells when pointed at.
fn pointed_at(cell: &Cell) -> String {
    let mut words = format!(
        "{} → {} ({}): {}",
        cell.from,
        cell.to,
        grid::how(cell),
        cell.mark().words()
    );
    let seen = (cell.evidence.pods > 0).then(|| cell.seen());
    for more in seen.iter().chain(&cell.reason) {
        words.push_str("; ");
        words.push_str(more);
    }
    words
}

fn endings(canvas: &mut Canvas, report: &Report, mut y: usize) -> usize {
    if report.endings.is_empty() {
        return y;
    }
    let title = "How sandboxes end, while their workload ignores SIGTERM and dials on";
    canvas.text(MARGIN, y + 20, "section", title);
    y += 34;
    for ended in &report.endings {
        marks::draw(
            canvas,
            area(MARGIN, y, 30, 18),
            ending_mark(ended),
            ended.reason.as_deref(),
        );
        let title = report.title(&ended.scenario);
        canvas.text(MARGIN + 40, y + 14, "", title);
        canvas.text(HOW_AT, y + 14, "small", &ended_in_words(ended));
        y += CELL_HEIGHT;
    }
    y + 16
}

/// A row for each thing looked at, a column for each container; what is not as it should be says so.
fn hardening(canvas: &mut Canvas, report: &Report, y: usize) -> usize {
    if report.hardening.is_empty() {
        return y;
    }
    canvas.text(
        MARGIN,
        y + 20,
        "section",
        "What the container sees of itself",
    );
    let top = y + 46;
    let mut rows = 1;
    for (column, hardened) in report.hardening.iter().enumerate() {
        let x = HOW_AT + column * HARDENED_WIDTH;
        canvas.text(x, top, "", report.title(&hardened.scenario));
        if hardened.checks.is_empty() {
            canvas.text(x, top + CELL_HEIGHT, "bad", "it said nothing");
        }
        for (index, check) in hardened.checks.iter().enumerate() {
            let line = top + (index + 1) * CELL_HEIGHT;
            if column == 0 {
                canvas.text(MARGIN, line, "", &check.about);
            }
            if check.holds {
                canvas.text(x, line, "small", &format!("✓ {}", check.found));
            } else {
                let found = format!("✗ {}, should be {}", check.found, check.expected);
                canvas.text(x, line, "bad", &found);
            }
        }
        rows = rows.max(hardened.checks.len() + 1);
    }
    top + rows * CELL_HEIGHT
}

#[cfg(test)]
mod tests;
