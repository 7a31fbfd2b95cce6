//! The report on a terminal. Pure.

use std::fmt::Write as _;

use super::held::{Held, Holder, Right, Standing};
use super::report::Report;
use super::standing::Check;

/// How a piece of text is coloured.
#[derive(Clone, Copy)]
enum Ink {
    Good,
    Bad,
    Faint,
    Bold,
}

/// The report as text, with colours or without.
pub fn render(report: &Report, colour: bool) -> String {
    let paper = Paper { colour };
    let mut text = String::new();
    let looked = &report.installation;
    let _ = writeln!(
        text,
        "Release {} in namespace {}, as ServiceAccount {}, on Kubernetes {}\n",
        looked.release, looked.namespace, looked.service_account, looked.kubernetes
    );
    for check in &report.checks {
        paper.check(&mut text, check);
    }
    paper.findings(&mut text, report);
    paper.expected(&mut text, report);
    let ink = if report.sound { Ink::Good } else { Ink::Bad };
    let sign = if report.sound { '✓' } else { '✗' };
    let line = format!("{sign} {}", report.sentence);
    let _ = writeln!(text, "\n{}", paper.paint(ink, &line));
    text
}

struct Paper {
    colour: bool,
}

impl Paper {
    fn paint(&self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Good => "32",
            Ink::Bad => "1;31",
            Ink::Faint => "2",
            Ink::Bold => "1",
        };
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn check(&self, text: &mut String, check: &Check) {
        let (ink, sign) = if check.holds {
            (Ink::Good, '✓')
        } else {
            (Ink::Bad, '✗')
        };
        let line = format!("{sign} {}", check.title);
        let _ = write!(text, "{}", self.paint(ink, &line));
        match check.said.as_slice() {
            [one] if check.holds => {
                let _ = writeln!(text, ": {one}");
            }
            many => {
                text.push('\n');
                for said in many {
                    let _ = writeln!(text, "    {said}");
                }
            }
        }
    }

    /// Those whom nobody expects, with everything about each right.
    fn findings(&self, text: &mut String, report: &Report) {
        let found: Vec<&Holder> = of(report, Standing::Finding).collect();
        if found.is_empty() {
            return;
        }
        let title = "Who could forge a claim or switch off its proof";
        let _ = writeln!(text, "\n{}", self.paint(Ink::Bold, title));
        for holder in found {
            let _ = writeln!(
                text,
                "\n  {}",
                self.paint(Ink::Bad, &holder.subject.to_string())
            );
            for held in &holder.held {
                let _ = writeln!(text, "    may {}", held.allows);
                let _ = writeln!(text, "      by {}", rights(held));
                for path in &held.paths {
                    let _ = writeln!(text, "      {}", self.paint(Ink::Faint, path));
                }
            }
        }
    }

    /// Those whom somebody expects, in a line each.
    fn expected(&self, text: &mut String, report: &Report) {
        for (standing, title) in [
            (Standing::Accepted, "Accepted by --accept"),
            (
                Standing::Administrator,
                "Administrators, who may do everything",
            ),
            (Standing::BuiltIn, "Kubernetes itself"),
            (Standing::Sandgate, "Sandgate itself"),
        ] {
            let mut holders = of(report, standing).peekable();
            if holders.peek().is_none() {
                continue;
            }
            let _ = writeln!(text, "\n{}", self.paint(Ink::Bold, title));
            for holder in holders {
                let powers: Vec<&str> = holder.held.iter().map(|held| &*held.power).collect();
                let why = match (standing, holder.held.first()) {
                    (Standing::Administrator, Some(held)) => held.paths.join(", "),
                    _ => powers.join(", "),
                };
                let why = self.paint(Ink::Faint, &why);
                let _ = writeln!(text, "  {}: {why}", holder.subject);
            }
        }
        let title = "What no role says";
        let _ = writeln!(text, "\n{}", self.paint(Ink::Bold, title));
        for sentence in &report.beyond {
            let _ = writeln!(text, "  {}", self.paint(Ink::Faint, sentence));
        }
    }
}

fn of(report: &Report, standing: Standing) -> impl Iterator<Item = &Holder> {
    let holders = report.holders.iter();
    holders.filter(move |holder| holder.standing == standing)
}

/// `create, update on pods, deployments.apps; only sandgate-a`.
fn rights(held: &Held) -> String {
    let mut by_verbs: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for resource in resources(&held.rights) {
        let of_resource = held.rights.iter().filter(|right| right.on() == resource);
        let verbs: Vec<&str> = of_resource.map(|right| right.verb.as_str()).collect();
        match by_verbs.iter_mut().find(|(known, _)| *known == verbs) {
            Some((_, resources)) => resources.push(resource),
            None => by_verbs.push((verbs, vec![resource])),
        }
    }
    let parts: Vec<String> = by_verbs
        .iter()
        .map(|(verbs, resources)| format!("{} on {}", verbs.join(", "), resources.join(", ")))
        .collect();
    let mut text = parts.join("; ");
    if !held.names.is_empty() {
        let _ = write!(text, "; only {}", held.names.join(", "));
    }
    text
}

fn resources(rights: &[Right]) -> Vec<String> {
    let mut resources: Vec<String> = Vec::new();
    for right in rights {
        let resource = right.on();
        if !resources.contains(&resource) {
            resources.push(resource);
        }
    }
    resources
}

#[cfg(test)]
mod tests;
