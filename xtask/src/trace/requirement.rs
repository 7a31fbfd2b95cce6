//! The list of requirements, `docs/requirements.tsv`: one a line, `id`, priority and text separated
//! by tabs. Pure.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, bail, ensure};

/// The groups in the order they are printed, and what each is about.
pub const GROUPS: [(char, &str); 16] = [
    ('T', "Types and CRDs"),
    ('W', "Admission webhook"),
    ('P', "Provenance and the admission policy"),
    ('C', "Claim controller"),
    ('O', "Objects built for a claim"),
    ('E', "Egress proxy"),
    ('K', "Connections"),
    ('M', "Mounts"),
    ('A', "Sandbox API"),
    ('R', "Reaping, release, sync-back"),
    ('N', "Enrolment"),
    ('B', "Browser sessions"),
    ('G', "Git hosts and git sources"),
    ('D', "Dashboard"),
    ('S', "Spicebox sessions"),
    ('X', "Chart, deployment, RBAC, flags"),
];

/// A requirement's id, such as `T-007`. Ids are never renumbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// The group's letter.
    pub group: char,
    /// Its number in the group, from 1.
    pub number: u16,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:03}", self.group, self.number)
    }
}

impl FromStr for Id {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let id = text.split_once('-').and_then(|(group, number)| {
            let mut letters = group.chars();
            let letter = letters.next().filter(char::is_ascii_uppercase)?;
            let digits = number.len() == 3 && number.bytes().all(|b| b.is_ascii_digit());
            let number = number
                .parse()
                .ok()
                .filter(|_| digits && letters.next().is_none())?;
            Some(Self {
                group: letter,
                number,
            })
        });
        id.with_context(|| format!("`{text}` is not an id such as T-007"))
    }
}

/// How much of the product needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Types, webhook, controller, egress proxy.
    Core,
    /// Sandbox API, enrolment, reaping, session tokens.
    Extended,
    /// What stands around the operator.
    Outer,
}

impl Priority {
    /// All, most needed first.
    pub const ALL: [Self; 3] = [Self::Core, Self::Extended, Self::Outer];

    /// As written in the list.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Extended => "extended",
            Self::Outer => "outer",
        }
    }
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Its id.
    pub id: Id,
    /// Its priority.
    pub priority: Priority,
    /// What is required, in Markdown.
    pub text: String,
}

/// Reads the list. Fails, naming the line, where one has another shape or repeats an id.
pub fn parse(list: &str) -> anyhow::Result<Vec<Requirement>> {
    let mut requirements: Vec<Requirement> = Vec::new();
    for (index, line) in list.lines().enumerate() {
        let requirement = parse_line(line).with_context(|| format!("line {}", index + 1))?;
        let id = requirement.id;
        ensure!(
            !requirements.iter().any(|known| known.id == id),
            "line {}: {id} is there twice; ids are never reused",
            index + 1
        );
        requirements.push(requirement);
    }
    Ok(requirements)
}

fn parse_line(line: &str) -> anyhow::Result<Requirement> {
    let mut columns = line.split('\t');
    let (Some(id), Some(priority), Some(text), None) = (
        columns.next(),
        columns.next(),
        columns.next(),
        columns.next(),
    ) else {
        bail!("expected id, priority and text, separated by tabs");
    };
    let id: Id = id.parse()?;
    ensure!(
        GROUPS.iter().any(|(group, _)| *group == id.group),
        "`{id}` belongs to no group known to the trace"
    );
    let priority = Priority::ALL
        .into_iter()
        .find(|known| known.as_str() == priority)
        .with_context(|| format!("`{priority}` is not core, extended or outer"))?;
    ensure!(!text.trim().is_empty(), "{id} has no text");
    Ok(Requirement {
        id,
        priority,
        text: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_print_as_they_are_written() {
        for text in ["T-001", "X-017", "W-999"] {
            assert_eq!(text.parse::<Id>().unwrap().to_string(), text);
        }
        for text in [
            "", "T", "T-1", "T-0001", "t-001", "TT-001", "T_001", "T-00a", "T-+01", "-001",
        ] {
            assert!(text.parse::<Id>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_line_of_another_shape_is_refused_by_number() {
        let good = "T-001\tcore\tFour kinds.";
        assert_eq!(parse(good).unwrap().len(), 1);
        for (bad, says) in [
            ("T-002 core text", "separated by tabs"),
            ("T-002\tcore\ttext\tmore", "separated by tabs"),
            ("T-002\tvital\ttext", "`vital` is not core"),
            ("Z-002\tcore\ttext", "no group"),
            ("T-002\tcore\t ", "no text"),
            (good, "twice"),
        ] {
            let error = format!("{:#}", parse(&format!("{good}\n{bad}\n")).unwrap_err());
            assert!(error.starts_with("line 2"), "{error}");
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn the_list_of_the_repository_is_well_formed() {
        let requirements = parse(include_str!("../../../docs/requirements.tsv")).unwrap();
        assert!(requirements.len() >= 496);
    }
}
