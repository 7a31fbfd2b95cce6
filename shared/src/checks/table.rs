//! The table of reasons, one check a reason (K-012 to K-024). Pure.

use super::{
    Failure, collisions,
    environment::{self, home},
    reserved::{OPERATOR_VARIABLES, User, user_of},
    roles::{FileFault, MOST_BYTES, Role},
};
use crate::{
    api::{
        SandboxClassSpec,
        connection::{CredentialKind, SecretName},
    },
    net::host::reached,
    reason,
};

/// What is checked.
pub(super) struct Case<'c, 'a> {
    pub(super) class: &'a SandboxClassSpec,
    /// In the order of the class.
    pub(super) roles: &'c [&'c Role<'a>],
}

/// A check: its first failure, in the order of the roles.
pub(super) type Check = fn(&Case<'_, '_>) -> Option<Failure>;

/// What is asked before a Connection is looked at.
pub(super) const ROLE_UNDECLARED: Check = role_undeclared;
/// The same; not of a ToolRegistry.
pub(super) const ROLE_UNBOUND: Check = role_unbound;

/// The rest of the table, in its order.
pub(super) const FOUND: &[Check] = &[
    connection_not_found,
    kind_not_accepted,
    placement_collision,
    secret_not_found,
    secret_key_missing,
    template_invalid,
    session_conflict,
    signed_out_host_unreachable,
    variable_reserved,
    path_reserved,
    files_unsupported,
    files_too_large,
];

/// What takes a binding away from a claim that is bound.
pub(super) const GONE: &[Check] = &[
    connection_not_found,
    secret_not_found,
    secret_key_missing,
    template_invalid,
];

/// What has to hold for a placement to be possible at all.
pub(super) const FITS: &[Check] = &[
    placement_collision,
    session_conflict,
    variable_reserved,
    path_reserved,
    files_unsupported,
    files_too_large,
];

impl Case<'_, '_> {
    /// The first role of which `check` says something.
    fn first(&self, check: impl Fn(&Role<'_>) -> Option<String>) -> Option<String> {
        self.roles.iter().find_map(|role| check(role))
    }
}

fn failure(reason: &'static str, message: Option<String>) -> Option<Failure> {
    message.map(|message| Failure { reason, message })
}

fn role_undeclared(case: &Case<'_, '_>) -> Option<Failure> {
    let message = case.first(|role| {
        role.declared.is_none().then(|| {
            format!(
                "role {:?} is bound to Connection {:?}, and the class declares no such role in its connections; bind a role that it declares",
                role.bound.role, role.bound.connection
            )
        })
    });
    failure(reason::CONNECTION_ROLE_UNDECLARED, message)
}

fn role_unbound(case: &Case<'_, '_>) -> Option<Failure> {
    let mut declared = case.class.connections.iter().flatten();
    let unbound = declared.find(|entry| {
        let mut bound = case.roles.iter().map(|role| role.bound.role);
        entry.required == Some(true) && !bound.any(|role| role == entry.role)
    });
    let message = unbound.map(|entry| {
        format!(
            "the class requires role {:?}, and no Connection is bound to it; bind one in the AgentRuntime's spec.sandbox.connections or as the default of the ToolRegistry's sandbox",
            entry.role
        )
    });
    failure(reason::CONNECTION_ROLE_UNBOUND, message)
}

fn connection_not_found(case: &Case<'_, '_>) -> Option<Failure> {
    let message = case.first(|role| {
        role.bound.found.is_none().then(|| {
            format!(
                "{} does not exist in this namespace, and no other is searched; create it here",
                role.words()
            )
        })
    });
    failure(reason::CONNECTION_NOT_FOUND, message)
}

fn kind_not_accepted(case: &Case<'_, '_>) -> Option<Failure> {
    let message = case.first(|role| {
        let accepts = role.declared.is_some_and(|entry| entry.session.is_some());
        (is_session(role) && !accepts).then(|| {
            format!(
                "{} is a browserSession, which takes a role that has session in the class; bind it to such a role",
                role.words()
            )
        })
    });
    failure(reason::CONNECTION_KIND_NOT_ACCEPTED, message)
}

fn placement_collision(case: &Case<'_, '_>) -> Option<Failure> {
    let message = case.roles.iter().enumerate().find_map(|(index, role)| {
        let before = case.roles.get(..index).unwrap_or_default();
        collisions::inside(role).or_else(|| {
            before
                .iter()
                .find_map(|other| collisions::between(other, role))
        })
    });
    failure(reason::CONNECTION_PLACEMENT_COLLISION, message)
}

fn secret_not_found(case: &Case<'_, '_>) -> Option<Failure> {
    let message = case.first(|role| {
        let missing = role.kind() == Some(CredentialKind::Secret) && role.bound.secret.is_none();
        missing.then(|| {
            format!(
                "{} names Secret {:?}, which does not exist in this namespace; create it here",
                role.words(),
                secret_name(role)
            )
        })
    });
    failure(reason::CONNECTION_SECRET_NOT_FOUND, message)
}

fn secret_key_missing(case: &Case<'_, '_>) -> Option<Failure> {
    let message = case.first(|role| {
        let secret = role.bound.secret?;
        let mut variables = role.variables().map(|variable| variable.key.as_str());
        let of_variable = variables.find(|key| !secret.values.contains_key(*key));
        let mut files = role.files.iter();
        let of_file = || {
            files.find_map(|file| match &file.bytes {
                Err(FileFault::KeyMissing(key)) => Some(key.as_str()),
                _ => None,
            })
        };
        let key = of_variable.or_else(of_file)?;
        Some(format!(
            "{} places key {key:?} of Secret {:?}, which has no such key; add it there",
            role.words(),
            secret.name
        ))
    });
    failure(reason::CONNECTION_SECRET_KEY_MISSING, message)
}

fn template_invalid(case: &Case<'_, '_>) -> Option<Failure> {
    let message = case.first(|role| {
        role.files.iter().find_map(|file| {
            let (told, way_out) = match &file.bytes {
                Err(FileFault::TemplateKeyMissing(told)) => (
                    told,
                    format!("add the key to Secret {:?}", secret_name(role)),
                ),
                Err(FileFault::Template(told)) => (told, "correct the template".to_owned()),
                Err(FileFault::KeyMissing(_)) | Ok(_) => return None,
            };
            Some(format!(
                "the template of file {:?} of {} cannot be used: {told}; {way_out}",
                file.path,
                role.words()
            ))
        })
    });
    failure(reason::CONNECTION_TEMPLATE_INVALID, message)
}

fn session_conflict(case: &Case<'_, '_>) -> Option<Failure> {
    let mut sessions = case.roles.iter().filter(|role| is_session(role));
    let message = match (sessions.next(), sessions.next()) {
        (Some(one), Some(other)) => Some(format!(
            "{} and {} are both browserSessions, and a sandbox signs in as one; bind one of them",
            one.words(),
            other.words()
        )),
        _ => None,
    };
    failure(reason::CONNECTION_SESSION_CONFLICT, message)
}

fn signed_out_host_unreachable(case: &Case<'_, '_>) -> Option<Failure> {
    let message = case.first(|role| {
        let found = role.bound.found?;
        let mut pages = super::session::signed_out_pages(found);
        let hosts = || found.hosts.iter().map(String::as_str);
        let page = pages.position(|page| !reached(hosts(), page))?;
        Some(format!(
            "{} has a signed-out URL, signedOutWhen.urlPrefixes[{page}], on a host that is none of its hosts, so that no sandbox could reach it; add the host to hosts",
            role.words()
        ))
    });
    failure(reason::CONNECTION_SIGNED_OUT_HOST_UNREACHABLE, message)
}

fn variable_reserved(case: &Case<'_, '_>) -> Option<Failure> {
    let of_class = environment::variables(case.class);
    let message = case.first(|role| {
        let mut names = role.variables().map(|variable| variable.name.as_str());
        let (name, whose) = names.find_map(|name| {
            let operator = OPERATOR_VARIABLES.contains(&name);
            let whose = if operator {
                "the operator"
            } else {
                "the class"
            };
            (operator || of_class.contains_key(name)).then_some((name, whose))
        })?;
        Some(format!(
            "{} sets variable {name:?}, which {whose} sets; place the key under another name",
            role.words()
        ))
    });
    failure(reason::CONNECTION_ENV_RESERVED, message)
}

fn path_reserved(case: &Case<'_, '_>) -> Option<Failure> {
    let home = home(case.class)?;
    let message = case.first(|role| {
        let (path, user) = role.paths().find_map(|path| {
            let user = user_of(case.class, &home, &format!("{home}/{path}"))?;
            Some((path, user))
        })?;
        let whose = match user {
            User::Variable(name) => format!("where variable {name:?} of the class points to"),
            User::Mount(path) => format!("where the class mounts a volume, {path:?}"),
            User::StateFile(path) => format!("where the class has a session written, {path:?}"),
        };
        Some(format!(
            "{} places a file at {path:?} under HOME, {whose}; place it elsewhere",
            role.words()
        ))
    });
    failure(reason::CONNECTION_PATH_RESERVED, message)
}

fn files_unsupported(case: &Case<'_, '_>) -> Option<Failure> {
    if home(case.class).is_some() {
        return None;
    }
    let message = case.first(|role| {
        let path = role.paths().next()?;
        Some(format!(
            "{} places a file at {path:?} under HOME, and the class sets HOME to no absolute path in its env; set it there, or place variables only",
            role.words()
        ))
    });
    failure(reason::CONNECTION_FILES_UNSUPPORTED, message)
}

/// The API server takes no Secret with more.
fn files_too_large(case: &Case<'_, '_>) -> Option<Failure> {
    let files = case.roles.iter().flat_map(|role| &role.files);
    let sizes = files.filter_map(|file| file.bytes.as_ref().ok().map(|it| it.reveal().len()));
    let too_large = sizes.sum::<usize>() > MOST_BYTES;
    let message = too_large.then(|| {
        format!("the files that the bound Connections place are larger than {MOST_BYTES} bytes together; place fewer or smaller ones")
    });
    failure(reason::SANDBOX_REJECTED, message)
}

fn is_session(role: &Role<'_>) -> bool {
    role.kind() == Some(CredentialKind::BrowserSession)
}

fn secret_name<'a>(role: &Role<'a>) -> &'a str {
    let found = role.bound.found;
    let named = found.and_then(|found| found.credential.secret_ref.as_ref());
    named.map_or("", |SecretName { name }| name)
}
