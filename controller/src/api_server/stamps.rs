//! Which objects of a kind stand, in which version. Does I/O.

use kube::api::{ListParams, ObjectList};
use kube::core::Request;
use serde::Deserialize;

use super::{ApiServer, CallError};
use crate::key::Key;
use crate::kind::Kind;
use crate::metrics::{Outcome, Verb};

/// How many are listed at once. They are read as the answer comes and kept as these few bytes each, so that a page
/// may have more of them than one of whole objects.
const PAGE: u32 = 500;

/// Name and version of an object.
#[derive(Clone, Debug, Deserialize)]
pub struct Stamp {
    metadata: Names,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Names {
    #[serde(default)]
    namespace: String,
    name: String,
    #[serde(default)]
    resource_version: String,
}

impl Stamp {
    /// Which object.
    pub fn key(&self) -> Key {
        Key::new(&self.metadata.namespace, &self.metadata.name)
    }

    /// Its resourceVersion.
    pub fn version(&self) -> &str {
        &self.metadata.resource_version
    }
}

impl ApiServer {
    /// Names and versions of all objects of a kind, everywhere, as they stand at one moment and not as a cache of
    /// the API server has them; and the resourceVersion of that moment.
    ///
    /// # Errors
    /// A page of them could not be read.
    pub async fn stamps(&self, kind: Kind) -> Result<(Vec<Stamp>, String), CallError> {
        let mut all = Vec::new();
        let mut from = None;
        loop {
            let page = self.stamps_page(kind, from).await?;
            all.extend(page.items);
            from = page.metadata.continue_.filter(|token| !token.is_empty());
            if from.is_none() {
                return Ok((all, page.metadata.resource_version.unwrap_or_default()));
            }
        }
    }

    async fn stamps_page(
        &self,
        kind: Kind,
        from: Option<String>,
    ) -> Result<ObjectList<Stamp>, CallError> {
        let params = ListParams {
            limit: Some(PAGE),
            continue_token: from,
            ..ListParams::default()
        };
        let request = Request::new(self.objects(kind, None).resource_url());
        let asked = async {
            let request = request.list_metadata(&params);
            let request = request.map_err(kube::Error::BuildRequest)?;
            self.client.request(request).await
        };
        let limited = tokio::time::timeout(self.limit, asked).await;
        self.judge(Verb::List, kind, limited, |_| Outcome::Done)
    }
}
