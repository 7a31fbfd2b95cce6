//! What the marks of cells look like. Pure.

use crate::canvas::{Area, Canvas};
use crate::isolation::grid::Mark;

/// Colours that colour-blind people tell apart (Okabe and Ito's); shapes say the same again.
pub(super) const STYLE: &str =
    ".open{fill:#009e73}.shut{fill:#0072b2}.leak{fill:#d55e00}.blocked{fill:#e69f00}
.either{fill:#eef1f4;stroke:#8c959f}.unmeasured{fill:#f0e442}.absent{fill:#f6f8fa}
.sign{fill:none;stroke:#fff;stroke-width:2}.dark{fill:none;stroke:#57606a;stroke-width:1.6}
.full{fill:#fff}
";

/// A filled cell with the shape of its mark, and what it tells when pointed at.
pub(super) fn draw(canvas: &mut Canvas, area: Area, mark: Mark, about: Option<&str>) {
    let shape = shape(mark, area.x + area.width / 2, area.y + area.height / 2);
    canvas.block(class(mark), area, &shape, about);
}

fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::Open => "open",
        Mark::Shut => "shut",
        Mark::Leak => "leak",
        Mark::Blocked => "blocked",
        Mark::EitherOpen | Mark::EitherShut => "either",
        Mark::Unmeasured => "unmeasured",
        Mark::Absent => "absent",
    }
}

/// A ring or disc is open, a bar is shut, a cross leaks: told apart without colour.
pub(super) fn shape(mark: Mark, x: usize, y: usize) -> String {
    match mark {
        Mark::Open => format!("<circle class=\"full\" cx=\"{x}\" cy=\"{y}\" r=\"5\"/>"),
        Mark::Shut => format!(
            "<rect class=\"full\" x=\"{}\" y=\"{}\" width=\"14\" height=\"4\"/>",
            x - 7,
            y - 2
        ),
        Mark::Leak => format!(
            "<path class=\"sign\" d=\"M{} {}l10 10m0-10l-10 10\"/>",
            x - 5,
            y - 5
        ),
        Mark::Blocked => format!("<path class=\"sign\" d=\"M{x} {}v7m0 2v3\"/>", y - 6),
        Mark::EitherOpen => format!("<circle class=\"dark\" cx=\"{x}\" cy=\"{y}\" r=\"5\"/>"),
        Mark::EitherShut => format!(
            "<rect class=\"dark\" x=\"{}\" y=\"{}\" width=\"14\" height=\"4\"/>",
            x - 7,
            y - 2
        ),
        Mark::Unmeasured => format!(
            "<path class=\"dark\" d=\"M{} {}a4 4 0 1 1 5 4q-1 .6-1 2m0 2v2\"/>",
            x - 4,
            y - 3
        ),
        Mark::Absent => format!("<path class=\"dark\" d=\"M{} {y}h6\"/>", x - 3),
    }
}
