//! Manifests that come out of the types and the rule table.
