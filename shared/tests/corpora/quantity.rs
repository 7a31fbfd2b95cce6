//! Any texts as quantities, one a line: they are ordered, a sign turns the order round, and short ones
//! are what plain arithmetic makes of them.

use std::cmp::Ordering;

use sandgate_shared::quantity::Quantity;

/// The most digits that plain arithmetic holds with every suffix.
const FEW_DIGITS: usize = 9;

/// Asserts the law; whether every line of `text` is a quantity.
pub fn holds(text: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(text) else {
        return false;
    };
    let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').take(3).collect();
    let mut all = Vec::new();
    for line in &lines {
        let Ok(quantity) = line.parse::<Quantity>() else {
            assert_eq!(billionths(line), None, "{line:?} is refused");
            return false;
        };
        alone(line, &quantity);
        all.push(quantity);
    }
    for ours in &all {
        for theirs in &all {
            assert_eq!(ours.cmp(theirs), theirs.cmp(ours).reverse());
            assert_eq!(ours == theirs, ours.cmp(theirs) == Ordering::Equal);
        }
    }
    let mut sorted = all;
    sorted.sort();
    assert!(sorted.is_sorted(), "the order is none");
    true
}

/// What is true of each by itself.
fn alone(line: &str, quantity: &Quantity) {
    let unsigned = line.strip_prefix(['-', '+']).unwrap_or(line);
    let read = |text: String| text.parse::<Quantity>().expect("a sign or a zero more");
    let (plus, minus) = (read(format!("+{unsigned}")), read(format!("-{unsigned}")));
    assert_eq!(
        &if line.starts_with('-') {
            minus.clone()
        } else {
            plus.clone()
        },
        quantity
    );
    let nothing = Quantity::default();
    assert_eq!(plus.cmp(&nothing), nothing.cmp(&minus));
    assert!(plus >= nothing, "{unsigned:?} is below nothing");
    assert_eq!(read(format!("0{unsigned}")), plus);
    if let Some(billionths) = billionths(line) {
        assert_eq!(&read(format!("{billionths}n")), quantity, "{line:?}");
    }
}

/// The value of a short number in decimal notation with a suffix, in billionths, away from zero; `None`
/// if it is none.
fn billionths(text: &str) -> Option<i128> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = unsigned.find(|it: char| !it.is_ascii_digit() && it != '.');
    let (number, suffix) = unsigned.split_at(end.unwrap_or(unsigned.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    let few = (1..=FEW_DIGITS).contains(&digits.len());
    if !few || fraction.contains('.') {
        return None;
    }
    let billion = 10_i128.pow(9);
    let factor = match suffix {
        "n" => 1,
        "u" => 10_i128.pow(3),
        "m" => 10_i128.pow(6),
        "" => billion,
        "k" => billion * 10_i128.pow(3),
        "M" => billion * 10_i128.pow(6),
        "G" => billion * 10_i128.pow(9),
        "T" => billion * 10_i128.pow(12),
        "P" => billion * 10_i128.pow(15),
        "E" => billion * 10_i128.pow(18),
        "Ki" => billion << 10,
        "Mi" => billion << 20,
        "Gi" => billion << 30,
        "Ti" => billion << 40,
        "Pi" => billion << 50,
        "Ei" => billion << 60,
        _ => return None,
    };
    let value = digits.parse::<i128>().ok()? * factor;
    let parts = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    let up = i128::from(value % parts != 0);
    Some(sign * (value / parts + up))
}
