//! The few shapes the picture is made of. Pure.

use std::fmt::Write as _;

use crate::isolation::grid::Mark;

/// A picture that grows downwards.
pub(super) struct Canvas {
    width: usize,
    body: String,
}

/// Colours that colour-blind people tell apart (Okabe and Ito's); shapes say the same again.
const STYLE: &str = "
text{font:13px system-ui,sans-serif;fill:#1b1f24}
.title{font-size:22px;font-weight:600}.section{font-size:16px;font-weight:600}
.small{font-size:12px;fill:#57606a}.good{font-weight:600;fill:#00664b}.bad{font-weight:600;fill:#b33c00}
.rule{stroke:#d8dee4}.open{fill:#009e73}.shut{fill:#0072b2}.leak{fill:#d55e00}.blocked{fill:#e69f00}
.either{fill:#eef1f4;stroke:#8c959f}.unmeasured{fill:#f0e442}.absent{fill:#f6f8fa}
.sign{fill:none;stroke:#fff;stroke-width:2}.dark{fill:none;stroke:#57606a;stroke-width:1.6}
.full{fill:#fff}
";

impl Canvas {
    pub(super) fn new(width: usize) -> Self {
        Self {
            width,
            body: String::new(),
        }
    }

    pub(super) fn text(&mut self, x: usize, y: usize, class: &str, text: &str) {
        let class = if class.is_empty() {
            String::new()
        } else {
            format!(" class=\"{class}\"")
        };
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\"{class}>{}</text>",
            escaped(text)
        );
    }

    pub(super) fn slanted(&mut self, x: usize, y: usize, text: &str) {
        let _ = writeln!(
            self.body,
            "<text transform=\"translate({x} {y}) rotate(-48)\">{}</text>",
            escaped(text)
        );
    }

    pub(super) fn line(&mut self, from: usize, y: usize, to: usize) {
        let _ = writeln!(
            self.body,
            "<line class=\"rule\" x1=\"{from}\" y1=\"{y}\" x2=\"{to}\" y2=\"{y}\"/>"
        );
    }

    /// A filled cell with the shape of its mark, and what it tells when pointed at.
    pub(super) fn mark(
        &mut self,
        x: usize,
        y: usize,
        width: usize,
        height: usize,
        mark: Mark,
        about: Option<&str>,
    ) {
        let about = about.map_or_else(String::new, |about| {
            format!("<title>{}</title>", escaped(about))
        });
        let (x_mid, y_mid) = (x + width / 2, y + height / 2);
        let _ = writeln!(
            self.body,
            "<g>{about}<rect class=\"{}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"3\"/>{}</g>",
            class(mark),
            shape(mark, x_mid, y_mid),
        );
    }

    pub(super) fn finish(self, height: usize) -> String {
        let width = self.width;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n<style>{STYLE}</style>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{}</svg>\n",
            self.body
        )
    }
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

/// For text and attributes of XML; control characters, which XML may not hold, are left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out
}
