//! `Connection`: hosts a sandbox may reach and a credential for them (T-005, T-059 to T-076).
//! Data only.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An external service: where it lives, and what signs a sandbox in to it.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "omnia.altairalabs.ai",
    version = "v1alpha1",
    kind = "Connection",
    plural = "connections",
    shortname = "conn",
    namespaced,
    doc = "Connection names the hosts of an external service and the credential a sandbox bound to it gets.",
    printcolumn(
        name = "Kind",
        type_ = "string",
        json_path = ".spec.credential.kind",
        description = "The kind of credential."
    ),
    printcolumn(
        name = "Hosts",
        type_ = "string",
        json_path = ".spec.hosts",
        description = "The hosts it opens."
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since creation."
    )
)]
pub struct ConnectionSpec {
    /// Hosts a bound sandbox may reach over HTTPS, 1 to 32, lower case, at least two labels. A leading `*.` covers every subdomain and not the apex.
    #[schemars(length(min = 1, max = 32), inner(length(min = 3, max = 253), regex(pattern = super::pattern::HOST)), extend("x-kubernetes-list-type" = "set"))]
    pub hosts: Vec<String>,
    /// What signs a sandbox in.
    pub credential: Credential,
    /// Where a secret credential goes in the sandbox; only with kind secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
}

/// What signs a sandbox in. The member named by kind is the only one set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Credential {
    /// none, secret, browserSession or gitHost. A browserSession or gitHost cannot become another kind.
    pub kind: CredentialKind,
    /// The Secret, in the Connection's own namespace; only and always with kind secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretName>,
    /// A captured browser session; only and always with kind browserSession.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser_session: Option<BrowserSession>,
    /// Each user's own credential for a git host; only and always with kind gitHost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_host: Option<GitHost>,
}

/// The kinds of credential (T-060).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CredentialKind {
    /// Hosts only.
    #[default]
    None,
    /// A Secret, placed as placement says.
    Secret,
    /// A captured browser session.
    BrowserSession,
    /// Each user's own credential, minted per call.
    GitHost,
}

/// A Secret by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecretName {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// A captured browser session (T-064 to T-067).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserSession {
    /// perUser: each user signs in as themselves; shared: everyone browses as one account. Immutable.
    #[serde(default)]
    pub scope: SessionScope,
    /// How the site shows that nobody is signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_out_when: Option<SignedOutWhen>,
    /// The page a person starts on when signing in: https://, a host and an optional path.
    #[serde(default, rename = "signInURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 9, max = 2048))]
    pub sign_in_url: Option<String>,
    /// The key captured sessions are sealed with.
    pub encryption: Encryption,
}

/// Whose session it is (T-064).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionScope {
    /// One session a user.
    #[default]
    PerUser,
    /// One session for all.
    Shared,
}

/// How the site shows that nobody is signed in (T-065).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignedOutWhen {
    /// Beginnings of signed-out URLs, 1 to 16: https://, a host and an optional path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16), inner(length(min = 9, max = 2048)), extend("x-kubernetes-list-type" = "atomic"))]
    pub url_prefixes: Option<Vec<String>>,
}

/// A key for sealing (T-067, T-068).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Encryption {
    /// Which service holds the key; local is a key in a Secret, for development only. Immutable.
    pub kms_provider: KmsProvider,
    /// The key's id there. Immutable.
    #[serde(rename = "keyID")]
    #[schemars(length(min = 1, max = 1024))]
    pub key_id: String,
    /// The Secret with the provider's credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretName>,
}

/// Services that hold keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KmsProvider {
    /// AWS KMS.
    AwsKms,
    /// Azure Key Vault.
    AzureKeyvault,
    /// Google Cloud KMS.
    GcpKms,
    /// HashiCorp Vault.
    Vault,
    /// A key in a Secret, for development only.
    #[default]
    Local,
}

/// Each user's own credential for a git host (T-069 to T-072).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GitHost {
    /// github and gitlab link accounts through an OAuth app; with token each user pastes one. Immutable.
    pub provider: GitProvider,
    /// The OAuth app; required for github and gitlab, refused for token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OAuthApp>,
    /// The key linked credentials are sealed with.
    pub encryption: Encryption,
}

/// Kinds of git host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GitProvider {
    /// GitHub.
    Github,
    /// GitLab.
    Gitlab,
    /// Any https host, with a personal access token.
    #[default]
    Token,
}

/// An OAuth app on a git host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OAuthApp {
    /// Client ID of the app.
    #[serde(rename = "clientID")]
    #[schemars(length(min = 1, max = 1024))]
    pub client_id: String,
    /// The Secret, in the Connection's namespace, that holds the client secret.
    pub client_secret_ref: SecretKey,
    /// Web root of a self-managed host: https://, a host, an optional port and path.
    #[serde(default, rename = "baseURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 9, max = 2048))]
    pub base_url: Option<String>,
}

/// One key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecretKey {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in it.
    #[serde(default = "default_secret_key")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

fn default_secret_key() -> String {
    "clientSecret".to_owned()
}

/// Where a secret credential goes in the sandbox (T-073 to T-076).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// Environment variables set from the Secret's keys, at most 32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub env: Option<Vec<PlacedVariable>>,
    /// Files written from the Secret under HOME, at most 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["path"]))]
    pub files: Option<Vec<PlacedFile>>,
}

/// A variable set from a Secret's key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedVariable {
    /// Name of the variable.
    #[schemars(
        length(min = 1, max = 256),
        regex(pattern = super::pattern::VARIABLE)
    )]
    pub name: String,
    /// The Secret's key.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// A file written from a Secret: exactly one of key and template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedFile {
    /// Path relative to HOME, without empty, `.` or `..` segments.
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
    /// The Secret's key whose bytes the file holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub key: Option<String>,
    /// A Go template over the Secret's keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16384))]
    pub template: Option<String>,
}
