//! Tries the policy: dry-run creates as a ServiceAccount that may do nothing else, each on a connection
//! of its own, so that every API server behind an address has a chance to be asked. Does I/O.

use std::time::Duration;

use kube::Config;
use kube::config::AuthInfo;
use kube::core::DynamicObject;
use sandgate_shared::names;
use sandgate_shared::trust::{Answer, Call, Expected, probe_claim};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api_server::{self, ApiServer, CallError};
use crate::cause::Chain;
use crate::kind::Kind;
use crate::metrics::Metrics;

/// How many refusals in a row are one proof.
const TURNS: usize = 5;
/// How long a token is asked to be good for, and for how much of that it is used.
const TOKEN: Duration = Duration::from_mins(10);
/// Longest wait for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Why the policy could not be tried.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProbeError {
    /// No token.
    #[error("failed to get a token of ServiceAccount {account}")]
    Token {
        /// Whose.
        account: String,
        /// Why.
        #[source]
        source: CallError,
    },
    /// No connection could be prepared.
    #[error("failed to set up a connection as the probe")]
    Client(#[source] kube::Error),
    /// The token or the claim could not be expressed.
    #[error("failed to express a request of the probe")]
    Express(#[source] serde_json::Error),
}

/// Who tries.
#[derive(Debug)]
pub(super) struct Probe {
    api: ApiServer,
    metrics: Metrics,
    namespace: String,
    account: String,
    /// How the API server is reached, by nobody yet.
    reach: Config,
    /// The same as the probe, and until when.
    identified: Option<(Config, Instant)>,
}

impl Probe {
    /// The probe of a release. `reach` says how the API server is reached; whom it identifies is of no
    /// matter here.
    pub(super) fn new(
        api: &ApiServer,
        metrics: Metrics,
        reach: &Config,
        release: &str,
        namespace: &str,
    ) -> Self {
        let mut reach = reach.clone();
        reach.auth_info = AuthInfo::default();
        Self {
            api: api.clone(),
            metrics,
            namespace: namespace.to_owned(),
            account: names::probe(release),
            reach,
            identified: None,
        }
    }

    /// Tries the policy until it has refused five times in a row, or somebody else has answered.
    pub(super) async fn ask(&mut self, expected: &Expected) -> Result<Answer, ProbeError> {
        let claim = probe_claim(&self.namespace);
        let claim: DynamicObject = serde_json::from_value(claim).map_err(ProbeError::Express)?;
        let config = self.config().await?;
        for _ in 0..TURNS {
            let (client, _) = api_server::client(config.clone()).map_err(ProbeError::Client)?;
            let api = ApiServer::new(client, self.metrics.clone()).answering_within(ANSWER_WITHIN);
            let namespace = Some(self.namespace.as_str());
            let answer = match api
                .would_create(Kind::SandboxClaim, namespace, &claim)
                .await
            {
                Ok(_) => Answer::Admitted,
                Err(CallError::Refused(status)) => Answer::of(&status.message, expected),
                Err(error) => Answer::Other(Chain(&error).to_string()),
            };
            if answer != Answer::Ours {
                return Ok(self.told_apart(answer).await);
            }
        }
        Ok(Answer::Ours)
    }

    /// How the API server is reached as the probe.
    async fn config(&mut self) -> Result<Config, ProbeError> {
        let now = Instant::now();
        if let Some((config, _)) = self.identified.as_ref().filter(|(_, until)| now < *until) {
            return Ok(config.clone());
        }
        let token = self.api.token(&self.namespace, &self.account, TOKEN).await;
        let token = token.map_err(|source| ProbeError::Token {
            account: self.account.clone(),
            source,
        })?;
        let token = token.status.map(|status| status.token).unwrap_or_default();
        let mut config = self.reach.clone();
        config.auth_info =
            serde_json::from_value(json!({"token": token})).map_err(ProbeError::Express)?;
        self.identified = Some((config.clone(), now + TOKEN / 2));
        Ok(config)
    }

    /// Whether a webhook that answered is called before the policy or after it.
    async fn told_apart(&self, answer: Answer) -> Answer {
        let Answer::Webhook {
            name,
            call: Call::Unknown,
        } = answer
        else {
            return answer;
        };
        let mut call = Call::Unknown;
        for (kind, its) in [
            (Kind::ValidatingWebhookConfiguration, Call::Validating),
            (Kind::MutatingWebhookConfiguration, Call::Mutating),
        ] {
            match self.api.list(kind, None).await {
                Ok(found) if found.iter().any(|it| holds(it, &name)) => call = its,
                Ok(_) => {}
                Err(error) => {
                    let error = Chain(&error);
                    tracing::info!(%error, "webhook configurations could not be listed");
                }
            }
        }
        Answer::Webhook { name, call }
    }
}

/// Whether a configuration holds a webhook of this name.
fn holds(configuration: &DynamicObject, name: &str) -> bool {
    let webhooks = configuration.data.get("webhooks").and_then(Value::as_array);
    let mut webhooks = webhooks.into_iter().flatten();
    webhooks.any(|webhook| webhook.get("name").and_then(Value::as_str) == Some(name))
}
