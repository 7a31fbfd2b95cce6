//! Each layer alone: the API server's own rules, its policy, and the webhook name the same rules in
//! the same words. Does I/O.
//!
//! Every layer is held to the same table: what CRD or policy names must be among a case's broken
//! rules, the webhook must name all of them, and each in the words of the rule's row. So whatever
//! one layer names, the webhook names too, with the same id and sentence.

use std::collections::BTreeSet;

use kube::core::Status;
use sandgate_e2e::Outcome;
use sandgate_e2e::binaries::Version;
use sandgate_e2e::installation::Layers;
use sandgate_shared::corpus::Case;
use sandgate_shared::rules::{Layer, Row, table};

use crate::corpus::{Answer, Desk, broken, case, every_case, named, of, until};
use crate::layers::layers_alone;

/// What the API server's own layers must answer: no rule of another layer, all or one of theirs.
fn names_its_own(case: &Case, answer: &Answer, layer: Layer) -> Result<(), String> {
    let expected = broken(case, of(layer));
    let named = named(answer)?;
    if case.breaks_the_schema() {
        return refused_by_the_schema(answer, &named, &expected);
    }
    let right = match layer {
        // The API server reports every broken rule of a schema, but a policy's first one only.
        Layer::Crd => named == expected,
        Layer::Policy => named.is_subset(&expected) && named.is_empty() == expected.is_empty(),
        Layer::Webhook => named.is_empty() && expected.is_empty(),
    };
    if right && answer.is_some() != expected.is_empty() {
        Ok(())
    } else {
        Err(format!("should name {expected:?}"))
    }
}

/// What breaks the schema is refused whatever the rules say, and some rules are not even asked.
fn refused_by_the_schema(
    answer: &Answer,
    named: &BTreeSet<&str>,
    expected: &BTreeSet<&str>,
) -> Result<(), String> {
    match answer {
        Some(status) if status.code == 422 && named.is_subset(expected) => Ok(()),
        _ => Err("should be refused by the schema with 422".to_owned()),
    }
}

/// The rules in the CRDs alone, on an API server of this version.
async fn the_crds_alone(version: Version) -> Outcome {
    let layers = Layers {
        schema_rules: true,
        ..Layers::NONE
    };
    let (_cluster, namespace, writers) = layers_alone(layers, version).await?;
    let desk = Desk::new(&namespace, &writers);
    every_case(&desk, |case, answer| {
        names_its_own(case, answer, Layer::Crd)?;
        match answer {
            Some(status) if status.code != 422 => Err("should be refused with 422".to_owned()),
            _ => Ok(()),
        }
    })
    .await
}

/// The policy alone, on an API server of this version.
async fn the_policy_alone(version: Version) -> Outcome {
    let layers = Layers {
        policy: true,
        ..Layers::NONE
    };
    let (_cluster, namespace, writers) = layers_alone(layers, version).await?;
    let desk = Desk::new(&namespace, &writers);
    let forbidden = case("a target path by a user");
    let ask = || desk.answer(0, &forbidden);
    until("the policy is in force", ask, Option::is_some).await?;
    every_case(&desk, |case, answer| {
        names_its_own(case, answer, Layer::Policy)?;
        match answer {
            Some(_) if case.breaks_the_schema() => Ok(()),
            Some(status) if status.code != 403 => Err("should be refused with 403".to_owned()),
            _ => Ok(()),
        }
    })
    .await
}

/// The webhook alone, asked by an API server of this version.
async fn the_webhook_alone(version: Version) -> Outcome {
    let layers = Layers {
        webhook: true,
        ..Layers::NONE
    };
    let (_cluster, namespace, writers) = layers_alone(layers, version).await?;
    let desk = Desk::new(&namespace, &writers);
    every_case(&desk, |case, answer| {
        let expected = broken(case, |_| true);
        let named = named(answer)?;
        let Some(status) = answer else {
            return if case.refused.is_empty() {
                Ok(())
            } else {
                Err(format!("should name {:?}", case.refused))
            };
        };
        let missed = |id: &&String| !status.message.contains(&format!("[{id}]"));
        if named != expected || case.refused.iter().any(|id| missed(&id)) {
            return Err(format!("should name {:?}", case.refused));
        }
        if !status.message.starts_with("admission webhook \"") {
            return Err("should be refused by a webhook".to_owned());
        }
        let only_the_writer = !case.breaks_the_schema() && named == named_of(&named, Layer::Policy);
        let code = if only_the_writer { 403 } else { 422 };
        if status.code != code {
            return Err(format!("should be refused with {code}"));
        }
        table()
            .filter(|row| named.contains(row.id))
            .try_for_each(|row| points_at_its_field(status, row))
    })
    .await
}

fn named_of(named: &BTreeSet<&'static str>, layer: Layer) -> BTreeSet<&'static str> {
    let of_layer = table().filter(|row| row.layer == layer).map(|row| row.id);
    of_layer.filter(|id| named.contains(id)).collect()
}

/// A refusal has a cause for each rule, on the field the rule is about.
fn points_at_its_field(status: &Status, row: &Row) -> Result<(), String> {
    let causes = status.details.as_ref().map(|details| &details.causes);
    let mut fields: Vec<String> = row
        .nodes
        .iter()
        .map(|node| {
            format!("{}{}", node.path, row.field)
                .trim_start_matches('.')
                .to_owned()
        })
        .collect();
    if fields.is_empty() {
        fields.push(row.field.to_owned());
    }
    let of_this_rule = causes
        .into_iter()
        .flatten()
        .filter(|cause| cause.message.contains(&format!("[{}]", row.id)));
    let mut any = false;
    for cause in of_this_rule {
        any = true;
        let field = without_indices(&cause.field);
        if !fields.contains(&field) || cause.reason != row.reason.as_str() {
            return Err(format!(
                "should have a {} on {fields:?}",
                row.reason.as_str()
            ));
        }
    }
    if any {
        Ok(())
    } else {
        Err(format!("should have a cause for {}", row.id))
    }
}

/// `spec.mounts[0].role` as `spec.mounts.role`.
fn without_indices(field: &str) -> String {
    let mut depth = 0;
    let outside = field.chars().filter(|character| {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => return depth == 0,
        }
        false
    });
    outside.collect()
}

// Proves: W-003, W-009, W-010, W-011, W-020, W-021, W-022, W-024, W-025
// Proves: T-007, T-008, T-009, T-010, T-011, T-012, T-013, T-014, T-015, T-016, T-017, T-018, T-019, T-020, T-021, T-022, T-023, T-024, T-025, T-027, T-028, T-037, T-038, T-039, T-040, T-041, T-042, T-043, T-044, T-047, T-048, T-049, T-053, T-054, T-056, T-057, T-058, T-061, T-062, T-063, T-064, T-065, T-066, T-068, T-069, T-070, T-072, T-074, T-075, T-076, T-077, T-078, T-079
#[tokio::test]
async fn the_rules_in_the_crds_alone_refuse_what_breaks_them_by_id_and_nothing_else() -> Outcome {
    the_crds_alone(Version::default()).await
}

// Proves: W-003, W-012, W-013, W-014, W-015, W-016, W-017, W-018, P-002, P-003, P-004, P-031
#[tokio::test]
async fn the_policy_alone_refuses_what_is_the_operators_by_id_and_nothing_else() -> Outcome {
    Box::pin(the_policy_alone(Version::default())).await
}

// Proves: T-046, W-001, W-002, W-003, W-009, W-010, W-011, W-012, W-013, W-014, W-015, W-016, W-017, W-018, W-020, W-021, W-022, W-024, W-025
#[tokio::test]
async fn the_webhook_alone_names_every_broken_rule_and_says_whether_object_or_writer_is_wrong()
-> Outcome {
    the_webhook_alone(Version::default()).await
}

mod slow {
    use rstest::rstest;
    use sandgate_e2e::Outcome;
    use sandgate_e2e::binaries::Version;

    use super::{the_crds_alone, the_policy_alone, the_webhook_alone};

    // Proves: W-003, W-009, W-010, W-011, W-020, W-021, W-022, W-024, W-025
    // Proves: T-007, T-008, T-009, T-010, T-011, T-012, T-013, T-014, T-015, T-016, T-017, T-018, T-019, T-020, T-021, T-022, T-023, T-024, T-025, T-027, T-028, T-037, T-038, T-039, T-040, T-041, T-042, T-043, T-044, T-047, T-048, T-049, T-053, T-054, T-056, T-057, T-058, T-061, T-062, T-063, T-064, T-065, T-066, T-068, T-069, T-070, T-072, T-074, T-075, T-076, T-077, T-078, T-079
    #[rstest]
    #[case::v1_33(Version::V1_33)]
    #[case::v1_30(Version::V1_30)]
    #[tokio::test]
    async fn slow_the_rules_in_the_crds_refuse_the_same_on_an_older_api_server(
        #[case] version: Version,
    ) -> Outcome {
        the_crds_alone(version).await
    }

    // Proves: W-003, W-012, W-013, W-014, W-015, W-016, W-017, W-018, P-002, P-003, P-004, P-031
    #[rstest]
    #[case::v1_33(Version::V1_33)]
    #[case::v1_30(Version::V1_30)]
    #[tokio::test]
    async fn slow_the_policy_refuses_the_same_on_an_older_api_server(
        #[case] version: Version,
    ) -> Outcome {
        Box::pin(the_policy_alone(version)).await
    }

    // Proves: T-046, W-001, W-002, W-003, W-009, W-010, W-011, W-012, W-013, W-014, W-015, W-016, W-017, W-018, W-020, W-021, W-022, W-024, W-025
    #[rstest]
    #[case::v1_33(Version::V1_33)]
    #[case::v1_30(Version::V1_30)]
    #[tokio::test]
    async fn slow_the_webhook_refuses_the_same_for_an_older_api_server(
        #[case] version: Version,
    ) -> Outcome {
        the_webhook_alone(version).await
    }
}
