//! The layers that judge a write, each of which a test can leave out. Pure.

use sandgate_shared::render::{self, Installation as Names};
use serde_json::Value;

/// Which layers judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layers {
    /// CEL rules in the CRDs.
    pub schema_rules: bool,
    /// The `ValidatingAdmissionPolicy`.
    pub policy: bool,
    /// Both webhooks.
    pub webhook: bool,
}

impl Default for Layers {
    fn default() -> Self {
        Self {
            schema_rules: true,
            policy: true,
            webhook: true,
        }
    }
}

impl Layers {
    /// No layer: what the schema alone admits.
    pub const NONE: Self = Self {
        schema_rules: false,
        policy: false,
        webhook: false,
    };

    /// The `CustomResourceDefinition`s of an installation with these layers.
    pub fn kinds(self) -> Vec<Value> {
        let mut kinds = render::crds();
        if !self.schema_rules {
            kinds.iter_mut().for_each(without_rules);
        }
        kinds.extend(render::outside_crds());
        kinds
    }

    /// All manifests of an installation with these layers, in the order to apply them.
    /// `policies_served` tells whether the API server knows policies at all.
    pub fn manifests(self, names: &Names, policies_served: bool) -> Vec<Value> {
        let mut all = self.kinds();
        all.push(render::namespace(names));
        all.extend(render::rbac(names));
        if self.policy && policies_served {
            all.extend(render::admission_policy(names));
        }
        if self.webhook {
            all.extend(render::webhook_configurations(names));
        }
        all
    }
}

/// Takes every rule out of a `CustomResourceDefinition`.
pub fn without_rules(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("x-kubernetes-validations");
            fields.values_mut().for_each(without_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(without_rules),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(layers: Layers, policies_served: bool) -> String {
        serde_json::to_string(&layers.manifests(&Names::default(), policies_served)).unwrap()
    }

    #[test]
    fn a_layer_that_is_off_leaves_no_trace_in_the_manifests() {
        let signs = [
            "x-kubernetes-validations",
            "\"ValidatingAdmissionPolicy\"",
            "WebhookConfiguration\"",
        ];
        let (all, none) = (text(Layers::default(), true), text(Layers::NONE, true));
        for sign in signs {
            assert!(all.contains(sign), "{sign}");
            assert!(!none.contains(sign), "{sign}");
        }
        assert!(!text(Layers::default(), false).contains("\"ValidatingAdmissionPolicy\""));
    }
}
