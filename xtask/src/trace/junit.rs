//! What the last test runs said, from the `JUnit` reports that cargo-nextest leaves. Pure.

use std::collections::BTreeMap;

use anyhow::Context;

use super::Proof;

/// Results by binary and test name, one entry a test (or a case of one).
#[derive(Debug, Default)]
pub struct Runs(BTreeMap<(String, String), bool>);

/// Why a proof does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It ran and failed.
    Failed,
    /// It did not run at all.
    DidNotRun,
}

impl Runs {
    /// Adds a report; what it says of a test replaces what was there, so add the newest last.
    pub fn add(&mut self, report: &str) -> anyhow::Result<()> {
        let document =
            roxmltree::Document::parse(report).context("failed to read the JUnit report")?;
        for case in document
            .descendants()
            .filter(|node| node.has_tag_name("testcase"))
        {
            let suite = case.parent().and_then(|suite| suite.attribute("name"));
            let (Some(suite), Some(name)) = (suite, case.attribute("name")) else {
                continue;
            };
            let has = |tag| case.children().any(|child| child.has_tag_name(tag));
            if !has("skipped") {
                let passed = !has("failure") && !has("error");
                self.0.insert((suite.to_owned(), name.to_owned()), passed);
            }
        }
        Ok(())
    }

    /// Whether any test of the slow tier is among the results.
    pub fn include_slow(&self) -> bool {
        self.0.keys().any(|(_, name)| is_slow(name))
    }

    /// Why `proof` does not hold, if so. A table test holds when each of its cases passed.
    pub fn doubt(&self, proof: &Proof) -> Option<Doubt> {
        let first = (proof.binary.clone(), proof.name.clone());
        let mut cases = self
            .0
            .range(first..)
            .take_while(|((binary, name), _)| {
                *binary == proof.binary && name.starts_with(&proof.name)
            })
            .filter(|((_, name), _)| {
                let case = name.strip_prefix(&proof.name);
                case.is_some_and(|case| case.is_empty() || case.starts_with("::"))
            })
            .peekable();
        if cases.peek().is_none() {
            return Some(Doubt::DidNotRun);
        }
        cases.any(|(_, passed)| !passed).then_some(Doubt::Failed)
    }
}

/// Whether a test belongs to the slow tier, which a usual run leaves out.
pub fn is_slow(name: &str) -> bool {
    name.split("::").any(|segment| segment == "slow")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="6" failures="2" errors="0">
  <testsuite name="shared" tests="6" disabled="0" errors="0" failures="2">
    <testcase name="a::passes" classname="shared"><system-out>failure &lt;failure/&gt;</system-out></testcase>
    <testcase name="a::fails" classname="shared"><failure type="test failure">no</failure></testcase>
    <testcase name="a::table::case_1_one" classname="shared"/>
    <testcase name="a::table::case_2_two" classname="shared"><error type="abort"/></testcase>
    <testcase name="a::good_table::case_1" classname="shared"/>
    <testcase name="a::skipped" classname="shared"><skipped/></testcase>
  </testsuite>
  <testsuite name="e2e::claims"><testcase name="passes_too" classname="e2e::claims"/></testsuite>
</testsuites>"#;

    fn proof(binary: &str, name: &str) -> Proof {
        Proof {
            binary: binary.to_owned(),
            name: name.to_owned(),
            file: String::new(),
            line: 1,
            proves: Vec::new(),
        }
    }

    #[test]
    fn a_proof_holds_only_when_all_its_cases_passed() {
        let mut runs = Runs::default();
        runs.add(REPORT).unwrap();
        for (binary, name, expected) in [
            ("shared", "a::passes", None),
            ("shared", "a::fails", Some(Doubt::Failed)),
            ("shared", "a::table", Some(Doubt::Failed)),
            ("shared", "a::good_table", None),
            ("shared", "a::skipped", Some(Doubt::DidNotRun)),
            ("shared", "a::pass", Some(Doubt::DidNotRun)),
            ("e2e::claims", "passes_too", None),
            ("e2e::claims", "a::passes", Some(Doubt::DidNotRun)),
        ] {
            assert_eq!(
                runs.doubt(&proof(binary, name)),
                expected,
                "{binary} {name}"
            );
        }
    }

    #[test]
    fn the_newest_report_has_the_last_word() {
        let mut runs = Runs::default();
        runs.add(REPORT).unwrap();
        runs.add(
            r#"<testsuites><testsuite name="shared"><testcase name="a::fails"/></testsuite></testsuites>"#,
        )
        .unwrap();
        assert_eq!(runs.doubt(&proof("shared", "a::fails")), None);
        assert_eq!(runs.doubt(&proof("shared", "a::passes")), None);
    }

    #[test]
    fn a_report_that_was_cut_short_is_an_error() {
        let cut = REPORT.get(..400).unwrap();
        assert!(Runs::default().add(cut).is_err());
    }

    #[test]
    fn the_slow_tier_is_told_by_its_module() {
        assert!(is_slow("slow::slow_soak"));
        assert!(is_slow("claims::slow::slow_seeds"));
        assert!(!is_slow("claims::slowly"));
    }
}
