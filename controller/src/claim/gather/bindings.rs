//! Reads the Connections of a claim and their Secrets. Does I/O.
//!
//! Both are read from the API server each time they are needed: a watch that lags must neither end a
//! claim nor restart a sandbox, and a value is kept no longer than it takes to decide.

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use sandgate_shared::{
    api::{Connection, ConnectionSpec, SandboxClaim},
    checks::SecretKeys,
};

use super::{Gather, GatherError, parse};
use crate::api_server::Place;
use crate::claim::observed::Binding;
use crate::kind::Kind;

impl Gather {
    /// What stands of each Connection that the claim binds.
    ///
    /// # Errors
    /// A read that went unanswered says nothing about what stands (K-025, Q43).
    pub async fn bindings(&self, claim: &SandboxClaim) -> Result<Vec<Binding>, GatherError> {
        let namespace = claim.namespace().unwrap_or_default();
        let mut bindings = Vec::new();
        for binding in claim.spec.connections.iter().flatten() {
            let place = Place::namespaced(Kind::Connection, &namespace, &binding.connection);
            let found = match self.get(place).await? {
                Some(object) => Some(parse::<Connection>(place, object)?.spec),
                None => None,
            };
            bindings.push(Binding {
                role: binding.role.clone(),
                connection: binding.connection.clone(),
                secret: self.secret_of(found.as_ref(), &namespace).await?,
                found,
            });
        }
        Ok(bindings)
    }

    async fn secret_of(
        &self,
        connection: Option<&ConnectionSpec>,
        namespace: &str,
    ) -> Result<Option<SecretKeys>, GatherError> {
        let named = connection.and_then(|connection| connection.credential.secret_ref.as_ref());
        let Some(named) = named else { return Ok(None) };
        let place = Place::namespaced(Kind::Secret, namespace, &named.name);
        let Some(object) = self.get(place).await? else {
            return Ok(None);
        };
        let unreadable = |_| GatherError::UnreadableSecret(named.name.clone());
        let secret: Secret = parse(place, object).map_err(unreadable)?;
        let values = secret.data.into_iter().flatten();
        Ok(Some(SecretKeys {
            name: named.name.clone(),
            values: values.map(|(key, value)| (key, value.0.into())).collect(),
        }))
    }
}
