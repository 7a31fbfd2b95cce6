//! The manifests that come out of the types and the rule table. Pure.

mod crds;
mod denials;
mod installation;
mod policy;
mod rbac;
mod webhooks;

pub(crate) use crds::spec_schema;
pub use crds::{crds, outside_crds};
pub use denials::{Shown, denials};
pub use installation::{Installation, WebhookEndpoint};
pub use policy::admission_policy;
pub use rbac::{namespace, rbac};
pub use webhooks::webhook_configurations;
