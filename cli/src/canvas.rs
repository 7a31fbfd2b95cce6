//! The few shapes our pictures are made of: SVG texts that need nothing from elsewhere. Pure.

use std::fmt::Write as _;

/// A picture that grows downwards.
#[derive(Debug)]
pub struct Canvas {
    width: usize,
    style: &'static str,
    body: String,
}

/// Where a block is, and how large.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// Its left edge.
    pub x: usize,
    /// Its upper edge.
    pub y: usize,
    /// From left to right.
    pub width: usize,
    /// From top to bottom.
    pub height: usize,
}

/// What all pictures have in common.
const STYLE: &str = "
text{font:13px system-ui,sans-serif;fill:#1b1f24}
.title{font-size:22px;font-weight:600}.section{font-size:16px;font-weight:600}
.small{font-size:12px;fill:#57606a}.good{font-weight:600;fill:#00664b}.bad{font-weight:600;fill:#b33c00}
.rule{stroke:#d8dee4}";

impl Canvas {
    /// An empty one; `style` says what its own classes look like.
    pub fn new(width: usize, style: &'static str) -> Self {
        Self {
            width,
            style,
            body: String::new(),
        }
    }

    /// A line of words, of no class if that is empty.
    pub fn text(&mut self, x: usize, y: usize, class: &str, text: &str) {
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

    /// Words that rise to the right.
    pub fn slanted(&mut self, x: usize, y: usize, text: &str) {
        let _ = writeln!(
            self.body,
            "<text transform=\"translate({x} {y}) rotate(-48)\">{}</text>",
            escaped(text)
        );
    }

    /// A thin line.
    pub fn line(&mut self, (x1, y1): (usize, usize), (x2, y2): (usize, usize)) {
        let _ = writeln!(
            self.body,
            "<line class=\"rule\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        );
    }

    /// A filled block with a `shape` (which is SVG) on it, and what it tells when pointed at.
    pub fn block(&mut self, class: &str, area: Area, shape: &str, about: Option<&str>) {
        let about = about.map_or_else(String::new, |about| {
            format!("<title>{}</title>", escaped(about))
        });
        let Area {
            x,
            y,
            width,
            height,
        } = area;
        let _ = writeln!(
            self.body,
            "<g>{about}<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"3\"/>{shape}</g>",
        );
    }

    /// The SVG.
    pub fn finish(self, height: usize) -> String {
        let Self { width, style, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n<style>{STYLE}{style}</style>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{body}</svg>\n"
        )
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
