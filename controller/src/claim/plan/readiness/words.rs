//! The words of kubelet and runtime as they are told on. Pure.

/// A run of hex digits this long is a name nobody reads: of a container, of an image's content.
const ID_LENGTH: usize = 32;

/// The words without what differs from one try to the next, such as the pod's name and the ids of
/// containers, and without what no terminal should get.
pub(in crate::claim::plan) fn told(words: &str) -> String {
    let words = match words.strip_prefix("rpc error: code = ") {
        Some(rest) => rest.split_once("desc = ").map_or(rest, |(_, words)| words),
        None => words,
    };
    let words = words.split(" (pod: \"").next().unwrap_or(words);
    let words = without_source_ports(words);
    let mut told = String::with_capacity(words.len());
    let mut id = String::new();
    for letter in words.chars() {
        if letter.is_ascii_hexdigit() {
            id.push(letter);
            continue;
        }
        finish(&mut id, &mut told);
        told.push(if letter.is_control() { ' ' } else { letter });
    }
    finish(&mut id, &mut told);
    told
}

/// `read udp 10.0.0.5:34567->10.0.0.10:53` without the port of whoever asked.
fn without_source_ports(words: &str) -> String {
    let mut parts: Vec<&str> = words.split("->").collect();
    let last = parts.pop().unwrap_or_default();
    let mut told = String::with_capacity(words.len());
    for part in parts {
        let asked = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
        told.push_str(asked.strip_suffix(':').unwrap_or(part));
        told.push_str("->");
    }
    told.push_str(last);
    told
}

fn finish(id: &mut String, told: &mut String) {
    if id.len() >= ID_LENGTH {
        told.push('…');
    } else {
        told.push_str(id);
    }
    id.clear();
}

/// What comes first, which is what is wrong: how much of it there was follows, and differs each time.
pub(super) fn first_sentence(words: &str) -> String {
    let first = words.split(". ").next().unwrap_or(words);
    told(first.trim_end_matches(['.', ' ']))
}
