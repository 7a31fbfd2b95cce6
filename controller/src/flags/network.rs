//! Values of flags that end up in NetworkPolicies: what the API server would refuse there, for every
//! claim, is refused at start. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use sandgate_shared::net::label::{self, is_name};

/// Labels that a pod has to carry, all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels(pub BTreeMap<String, String>);

/// Reads `KEY=VALUE[,KEY=VALUE]`.
pub(super) fn labels(text: &str) -> Result<Labels, String> {
    let mut all = BTreeMap::new();
    for pair in text.split(',') {
        let Some((key, value)) = pair.split_once('=') else {
            return Err("must be KEY=VALUE, such as k8s-app=kube-dns".to_owned());
        };
        let key = label_key(key)?;
        if !value.is_empty() && !is_word(value) {
            return Err(format!(
                "{value:?} is no label value: at most {} letters, digits, '-', '_' and '.', the first and last a letter or digit",
                label::LONGEST,
            ));
        }
        if all.insert(key.clone(), value.to_owned()).is_some() {
            return Err(format!(
                "names the label {key:?} twice, which no pod can satisfy; name it once"
            ));
        }
    }
    Ok(Labels(all))
}

/// Reads the key of a label.
pub(super) fn label_key(text: &str) -> Result<String, String> {
    let sound = match text.split_once('/') {
        None => is_word(text),
        Some((prefix, name)) => is_name(prefix) && is_word(name),
    };
    sound.then(|| text.to_owned()).ok_or_else(|| {
        format!("{text:?} is no label key: must be NAME or DOMAIN/NAME, such as k8s-app")
    })
}

/// Reads a port.
pub(super) fn port(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(port @ 1..) => Ok(port),
        _ => Err("must be the number of a port, 1 to 65535, such as 53".to_owned()),
    }
}

/// Reads an address or a network of addresses.
pub(super) fn address(text: &str) -> Result<IpNet, String> {
    let network: IpNet = match text.parse::<IpAddr>() {
        Ok(address) => address.into(),
        Err(_) => text.parse().map_err(|_| {
            "must be an IP address or a CIDR, such as 169.254.20.10 or fd00:10::/120".to_owned()
        })?,
    };
    let address = network.addr();
    if network.prefix_len() == 0 {
        return Err("would open every address; name those the resolver answers at".to_owned());
    }
    if network.trunc() != network {
        return Err(format!(
            "has bits set beyond its length; write {} for the network or {address} for the one address",
            network.trunc(),
        ));
    }
    if let IpAddr::V6(long) = address
        && let Some(short) = long.to_ipv4_mapped()
    {
        return Err(format!(
            "must be written as the IPv4 address it is: {short}"
        ));
    }
    if address.is_unspecified() || address.is_loopback() || address.is_multicast() {
        return Err(format!(
            "no resolver answers a pod at {address}; name the address in the pods' /etc/resolv.conf"
        ));
    }
    Ok(network)
}

fn is_word(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends = [text.bytes().next(), text.bytes().last()];
    text.len() <= label::LONGEST
        && ends
            .iter()
            .all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric()))
        && text.bytes().all(inner)
}
