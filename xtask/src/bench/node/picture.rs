//! The timeline of one claim as a picture. Pure.

use std::time::Duration;

use sandgate_cli::canvas::{Area, Canvas};

use super::timeline::{Span, Timeline};

const MARGIN: usize = 28;
const WIDTH: usize = 980;
/// Where bars may begin: left of it stands what is waited for.
const BARS_AT: usize = 350;
/// How wide they are together; right of the last one there is room for its length.
const BARS: usize = 520;
const ROW: usize = 34;
const BAR: usize = 20;
/// Lines that carry a time.
const TICKS: u128 = 5;

const STYLE: &str = ".ours{fill:#0072b2}.theirs{fill:#e69f00}.middle{text-anchor:middle}
";

/// Draws the claim's timeline. `measured` says how many claims it is the median of, `machine` on what.
pub fn render(timeline: &Timeline, measured: usize, machine: &str) -> String {
    let mut canvas = Canvas::new(WIDTH, STYLE);
    let whole = timeline.whole();
    canvas.text(
        MARGIN,
        44,
        "title",
        &format!(
            "From a claim to a sandbox that can be dialled: {} ms",
            millis(whole)
        ),
    );
    let ours = millis(timeline.ours());
    let what = format!(
        "the median of {measured} claims, one after the other, its image present; Sandgate's own parts: {ours} ms"
    );
    canvas.text(MARGIN, 68, "", &what);
    canvas.text(MARGIN, 88, "small", machine);
    legend(&mut canvas, 104);

    let top = 156;
    let bottom = top + timeline.spans().len() * ROW;
    axis(&mut canvas, whole, top, bottom);
    for (index, span) in timeline.spans().iter().enumerate() {
        row(&mut canvas, span, whole, top + index * ROW);
    }
    canvas.finish(bottom + MARGIN)
}

fn legend(canvas: &mut Canvas, y: usize) {
    for (x, class, words) in [
        (MARGIN, "ours", "Sandgate"),
        (MARGIN + 130, "theirs", "Kubernetes"),
    ] {
        let area = Area {
            x,
            y,
            width: 26,
            height: 14,
        };
        canvas.block(class, area, "", None);
        canvas.text(x + 34, y + 12, "", words);
    }
}

fn axis(canvas: &mut Canvas, whole: Duration, top: usize, bottom: usize) {
    let step = step(whole.as_millis());
    let ticks = (0..).map(|tick| tick * step);
    for tick in ticks.take_while(|tick| *tick <= whole.as_millis()) {
        let at = Duration::from_millis(u64::try_from(tick).unwrap_or(u64::MAX));
        let x = BARS_AT + share(at, whole);
        canvas.line((x, top - 8), (x, bottom));
        let words = if tick == 0 {
            "0 ms".to_owned()
        } else {
            tick.to_string()
        };
        canvas.text(x, top - 14, "small middle", &words);
    }
}

fn row(canvas: &mut Canvas, span: &Span, whole: Duration, y: usize) {
    let part = span.part;
    canvas.text(MARGIN, y + 19, "", part.name());
    canvas.text(MARGIN + 90, y + 19, "small", part.end());
    let (from, to) = (share(span.from, whole), share(span.to, whole));
    let class = if part.is_ours() { "ours" } else { "theirs" };
    let area = Area {
        x: BARS_AT + from,
        y: y + 5,
        // What took next to no time is seen, too.
        width: (to - from).max(2),
        height: BAR,
    };
    let length = format!("{} ms", millis(span.length()));
    let about = format!("{}: {length}, until {}", part.name(), part.end());
    canvas.block(class, area, "", Some(&about));
    canvas.text(area.x + area.width + 8, y + 19, "", &length);
}

/// Where on the way from 0 to `whole` this moment is drawn.
fn share(moment: Duration, whole: Duration) -> usize {
    let width = u128::try_from(BARS).unwrap_or_default();
    let at = moment.as_micros() * width / whole.as_micros().max(1);
    usize::try_from(at).unwrap_or(BARS).min(BARS)
}

/// The shortest round step that needs at most [`TICKS`] lines after the first.
fn step(whole: u128) -> u128 {
    let round = |scale: u32| [1, 2, 5].map(|digit| digit * 10_u128.pow(scale));
    let mut steps = (0..9).flat_map(round);
    steps
        .find(|step| whole / step <= TICKS)
        .unwrap_or(whole.max(1))
}

/// In whole milliseconds, rounded.
fn millis(duration: Duration) -> u128 {
    (duration.as_micros() + 500) / 1000
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::timeline::tests::ended;
    use super::*;

    #[rstest]
    #[case::nothing(0, 1)]
    #[case::five_lines(1000, 200)]
    #[case::beyond_five(1200, 500)]
    #[case::long(12_345, 5000)]
    fn the_axis_has_round_steps_and_few_lines(#[case] whole: u128, #[case] expected: u128) {
        assert_eq!(step(whole), expected);
    }

    #[test]
    fn the_picture_is_well_formed_whatever_the_machine_is_called() {
        let text = render(&ended([1; 7]), 1, "a <fast> & \"new\" CPU");
        let document = roxmltree::Document::parse(&text).unwrap();
        let said = document.descendants().filter_map(|node| node.text());
        assert!(said.into_iter().any(|text| text.contains("<fast> &")));
    }

    #[test]
    fn a_claim_that_took_no_time_is_drawn() {
        let text = render(&ended([0; 7]), 1, "a machine");
        assert!(roxmltree::Document::parse(&text).is_ok());
    }

    #[test]
    fn the_picture_of_a_claim() {
        let timeline = ended([9, 62, 85, 93, 871, 1204, 1219]);
        insta::assert_snapshot!(render(
            &timeline,
            30,
            "2026-01-02T03:04:05Z, 2 cores of a CPU"
        ));
    }
}
