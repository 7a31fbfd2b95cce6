//! A class, Connections that fit it, and their Secrets.

use std::collections::BTreeMap;

use sandgate_shared::{
    api::{ConnectionSpec, SandboxClassSpec},
    checks::{self, Audience, Bound, Failure, Placement, SecretKeys},
};
use serde_json::{Value, json};

/// Every value of every Secret begins with it.
pub const CANARY: &str = "canary-of-a-secret";

#[derive(Debug)]
pub struct Binding {
    pub role: String,
    pub connection: String,
    pub found: Option<ConnectionSpec>,
    pub secret: Option<SecretKeys>,
}

#[derive(Debug)]
pub struct Scene {
    pub class: SandboxClassSpec,
    pub bindings: Vec<Binding>,
}

pub fn scene() -> Scene {
    let class = json!({
        "image": "agent",
        "ports": [{ "name": "mcp", "port": 8080 }],
        "env": [
            { "name": "HOME", "value": "/home/agent" },
            { "name": "GOCACHE", "value": "$(HOME)/.cache/go-build" },
        ],
        "filesystem": { "scratch": [{ "name": "session", "mountPath": "/session", "sizeLimit": "1Mi" }] },
        "connections": [
            { "role": "vcs", "required": true },
            { "role": "ticket" },
            { "role": "site", "session": { "args": [
                "-connection={{.Connection}}", "-signed-out={{.SignedOutPrefixes}}", "{{.StateFile}}",
            ] } },
        ],
    });
    let mut scene = Scene {
        class: serde_json::from_value(class).unwrap(),
        bindings: Vec::new(),
    };
    scene.bind(
        "vcs",
        "github",
        secret(json!({
            "env": [{ "name": "GH_TOKEN", "key": "token" }],
            "files": [
                { "path": ".git-credentials", "key": "git-credentials" },
                { "path": ".config/gh/hosts.yml", "template": "github.com: {{.user}}:{{.token}}" },
            ],
        })),
        Some(&["token", "user", "git-credentials"]),
    );
    let placement = json!({ "env": [{ "name": "JIRA_TOKEN", "key": "token" }] });
    let mut jira = secret(placement);
    jira["hosts"] = json!(["jira.example.com"]);
    scene.bind("ticket", "jira", jira, Some(&["token"]));
    scene.bind("site", "portal", session(), None);
    scene
}

/// A Connection of kind secret that places `placement`.
pub fn secret(placement: Value) -> Value {
    json!({
        "hosts": ["github.com"],
        "credential": { "kind": "secret", "secretRef": { "name": "the-secret" } },
        "placement": placement,
    })
}

pub fn session() -> Value {
    json!({
        "hosts": ["portal.example.com", "*.sso.example.com"],
        "credential": { "kind": "browserSession", "browserSession": {
            "signedOutWhen": { "urlPrefixes": ["https://portal.example.com/login", "https://a.sso.example.com"] },
            "encryption": { "kmsProvider": "local", "keyID": "k" },
        } },
    })
}

/// A Secret with these keys; each value is the canary and the key.
pub fn keys(keys: &[&str]) -> SecretKeys {
    let values = keys.iter().map(|key| {
        let value = format!("{CANARY}-{key}").into_bytes();
        ((*key).to_owned(), value.into())
    });
    SecretKeys {
        name: "the-secret".to_owned(),
        values: values.collect(),
    }
}

impl Scene {
    pub fn bind(&mut self, role: &str, connection: &str, spec: Value, secret: Option<&[&str]>) {
        self.bindings.push(Binding {
            role: role.to_owned(),
            connection: connection.to_owned(),
            found: Some(serde_json::from_value(spec).unwrap()),
            secret: secret.map(keys),
        });
    }

    /// Declares a role and binds it.
    pub fn bind_new(&mut self, role: &str, spec: Value, secret: Option<&[&str]>) {
        self.declare(json!({ "role": role }));
        self.bind(role, &format!("{role}-connection"), spec, secret);
    }

    pub fn declare(&mut self, role: Value) {
        let roles = self.class.connections.get_or_insert_default();
        roles.push(serde_json::from_value(role).unwrap());
    }

    /// Sets a variable of the class anew.
    pub fn set(&mut self, name: &str, value: &str) {
        self.unset(name);
        let variable = json!({ "name": name, "value": value });
        let variable = serde_json::from_value(variable).unwrap();
        self.class.env.get_or_insert_default().push(variable);
    }

    pub fn unset(&mut self, name: &str) {
        let variables = self.class.env.get_or_insert_default();
        variables.retain(|variable| variable.name != name);
    }

    pub fn binding(&mut self, role: &str) -> &mut Binding {
        let mut bindings = self.bindings.iter_mut();
        bindings.find(|binding| binding.role == role).unwrap()
    }

    /// The Connection bound to a role.
    pub fn spec(&mut self, role: &str) -> &mut ConnectionSpec {
        self.binding(role).found.as_mut().unwrap()
    }

    pub fn forget_key(&mut self, role: &str, key: &str) {
        let secret = self.binding(role).secret.as_mut().unwrap();
        secret.values.remove(key).unwrap();
    }

    pub fn bound(&self) -> Vec<Bound<'_>> {
        let bindings = self.bindings.iter();
        bindings
            .map(|binding| Bound {
                role: &binding.role,
                connection: &binding.connection,
                found: binding.found.as_ref(),
                secret: binding.secret.as_ref(),
            })
            .collect()
    }

    pub fn check(&self, audience: Audience) -> Result<Placement, Failure> {
        checks::check(&self.class, &self.bound(), audience)
    }

    /// What a claim gets.
    pub fn placement(&self) -> Placement {
        let checked = self.check(Audience::Claim);
        checked.unwrap_or_else(|failure| unreachable!("{failure:?}"))
    }

    /// Why a claim fails.
    pub fn reason(&self) -> Option<&'static str> {
        self.check(Audience::Claim)
            .err()
            .map(|failure| failure.reason)
    }
}

/// The files by path.
pub fn files(placement: &Placement) -> BTreeMap<&str, &[u8]> {
    let files = placement.files.iter();
    files
        .map(|file| (file.path.as_str(), file.bytes.reveal()))
        .collect()
}
