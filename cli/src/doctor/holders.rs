//! Who holds which of the rights in [`super::powers`], and by which way. Pure.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use sandgate_shared::names::{GROUP, VERSION};
use sandgate_shared::rules::Subject as Kind;

use super::held::{Held, Holder, Right, Standing};
use super::powers::{Effect, Names, POWERS, Place, Power, SIGNERS};
use super::rbac::{Asked, Grant, Rbac, Subject, is_everything, limited_to, speaks_of};
use super::site::Site;

/// The names of objects that matter, by what they are.
type Targets = BTreeMap<Names, BTreeSet<String>>;

/// Names the holders; `accepted` are those whom whoever asks expects to be among them.
pub fn holders(rbac: &Rbac, site: &Site, accepted: &[Subject]) -> Vec<Holder> {
    let grants = rbac.grants();
    let mut targets = targets(site);
    // Who may act as a holder holds it, too.
    for subject in held(&grants, site, &targets).into_keys() {
        let names = match subject.kind.as_str() {
            "User" => Names::Users,
            "Group" => Names::Groups,
            _ => continue,
        };
        targets.entry(names).or_default().insert(subject.name);
    }
    let powerful = |rule: &PolicyRule| {
        is_everything(rule)
            || POWERS
                .iter()
                .any(|it| !rights(it, rule, &targets).is_empty())
    };
    let here = rbac.roles.iter().filter(|role| {
        let mut held = role.rules.iter().flatten();
        held.any(powerful)
    });
    let here = here.filter_map(|role| role.metadata.name.clone());
    let roles = rbac.cluster_roles_with(powerful).into_iter().chain(here);
    targets.insert(Names::Roles, roles.collect());

    let mut found: BTreeMap<(Standing, Subject), Vec<Held>> = BTreeMap::new();
    for (subject, grants) in held(&grants, site, &targets) {
        let administrator = grants
            .iter()
            .find(|(grant, _)| grant.namespace.is_none() && is_everything(grant.rule));
        let paths = administrator.map(|(grant, _)| grant.path.clone());
        let of_subject = if paths.is_some() {
            Standing::Administrator
        } else if accepted.contains(&subject) {
            Standing::Accepted
        } else {
            Standing::Finding
        };
        for (grant, power) in grants {
            let standing = expected(grant, site).unwrap_or(of_subject);
            let all = found.entry((standing, subject.clone())).or_default();
            match &paths {
                Some(path) => everything(all, path),
                None => add(all, grant, power, &targets),
            }
        }
    }
    let order = |held: &Held| POWERS.iter().position(|power| power.id == held.power);
    let holders = found.into_iter().map(|((standing, subject), mut held)| {
        held.sort_by_key(order);
        Holder {
            subject,
            standing,
            held,
        }
    });
    holders.collect()
}

/// Each grant of a right in the table, by its subject.
fn held<'a, 'b>(
    grants: &'b [Grant<'a>],
    site: &Site,
    targets: &Targets,
) -> BTreeMap<Subject, Vec<(&'b Grant<'a>, &'static Power)>> {
    let mut held: BTreeMap<Subject, Vec<_>> = BTreeMap::new();
    for grant in grants {
        for power in POWERS {
            let reaches = match (power.place, grant.namespace) {
                (_, None) => true,
                (Place::Namespace, Some(namespace)) => namespace == site.names.namespace,
                (Place::Cluster, Some(_)) => false,
            };
            if reaches && !rights(power, grant.rule, targets).is_empty() {
                let of_subject = held.entry(grant.subject.clone()).or_default();
                of_subject.push((grant, power));
            }
        }
    }
    held
}

/// What of a power a rule gives.
fn rights(power: &Power, rule: &PolicyRule, targets: &Targets) -> Vec<Right> {
    let limits = limited_to(rule);
    let names_one = limits.is_empty()
        || power.names == Names::Any
        || targets
            .get(&power.names)
            .is_some_and(|names| limits.iter().any(|limit| names.contains(limit)));
    let mut rights = Vec::new();
    for (group, resource) in power.resources {
        for verb in power.verbs.iter().copied() {
            let asked = Asked {
                verb,
                group,
                resource,
            };
            // What is yet to be made has no name when the authorizer is asked; only a subresource's owner
            // has one.
            let nameless = verb == "create" && !resource.contains('/') && !limits.is_empty();
            if names_one && !nameless && speaks_of(rule, &asked) {
                rights.push(Right {
                    group: (*group).to_owned(),
                    resource: (*resource).to_owned(),
                    verb: verb.to_owned(),
                });
            }
        }
    }
    rights
}

fn add(all: &mut Vec<Held>, grant: &Grant<'_>, power: &Power, targets: &Targets) {
    let rights = rights(power, grant.rule, targets);
    let names = limited_to(grant.rule);
    if let Some(held) = all.iter_mut().find(|held| held.power == power.id) {
        // One rule without limits lifts those of all others.
        if names.is_empty() {
            held.names.clear();
        } else if !held.names.is_empty() {
            merge(&mut held.names, names.iter().cloned());
        }
        merge(&mut held.rights, rights);
        merge(&mut held.paths, [grant.path.clone()]);
        return;
    }
    all.push(Held {
        power: power.id.to_owned(),
        effect: power.effect,
        rights,
        names: names.to_vec(),
        paths: vec![grant.path.clone()],
        allows: power.allows.to_owned(),
    });
}

fn everything(all: &mut Vec<Held>, path: &str) {
    if all.is_empty() {
        all.push(Held {
            power: "everything".to_owned(),
            effect: Effect::Forge,
            rights: vec![Right {
                group: "*".to_owned(),
                resource: "*".to_owned(),
                verb: "*".to_owned(),
            }],
            names: Vec::new(),
            paths: vec![path.to_owned()],
            allows: "do everything".to_owned(),
        });
    }
}

fn merge<T: PartialEq>(all: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

/// Whom a fresh cluster and a fresh installation give such rights, by the bindings that they come with.
fn expected(grant: &Grant<'_>, site: &Site) -> Option<Standing> {
    let subject = &grant.subject;
    let label = |binding: &ObjectMeta, key: &str, value: &str| {
        let labels = binding.labels.as_ref();
        labels
            .and_then(|labels| labels.get(key))
            .map(String::as_str)
            == Some(value)
    };
    let ours = label(grant.binding, "app.kubernetes.io/name", "sandgate")
        && label(
            grant.binding,
            "app.kubernetes.io/instance",
            &site.names.release,
        );
    let account = subject.namespace.as_deref() == Some(&site.names.namespace)
        && subject.name == site.names.service_account;
    if ours && account {
        return Some(Standing::Sandgate);
    }
    let default = label(
        grant.binding,
        "kubernetes.io/bootstrapping",
        "rbac-defaults",
    );
    (default && is_of_kubernetes(subject)).then_some(Standing::BuiltIn)
}

/// Whether the name is one that only Kubernetes' own parts bear.
fn is_of_kubernetes(subject: &Subject) -> bool {
    const EVERYBODY: [&str; 3] = [
        "system:authenticated",
        "system:unauthenticated",
        "system:anonymous",
    ];
    match subject.namespace.as_deref() {
        Some(namespace) => namespace == "kube-system",
        None => {
            subject.name.starts_with("system:")
                && !subject.name.starts_with("system:serviceaccount")
                && !EVERYBODY.contains(&subject.name.as_str())
        }
    }
}

fn targets(site: &Site) -> Targets {
    let names = &site.names;
    let one = |name: String| BTreeSet::from([name]);
    let kinds = Kind::ALL.map(|kind| format!("{}.{GROUP}", kind.plural()));
    BTreeMap::from([
        (Names::Account, one(names.service_account.clone())),
        (Names::Secrets, site.secrets.clone()),
        (Names::Policies, site.policies.clone()),
        (
            Names::Configurations,
            one(sandgate_shared::names::webhook_configuration(
                &names.release,
            )),
        ),
        (Names::Kinds, kinds.into_iter().collect()),
        (Names::ApiService, one(format!("{VERSION}.{GROUP}"))),
        (Names::Records, site.records.clone()),
        (Names::Groups, one("system:masters".to_owned())),
        (Names::Signers, SIGNERS.map(str::to_owned).into()),
    ])
}

#[cfg(test)]
pub(super) mod tests;
