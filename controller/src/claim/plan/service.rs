//! The Service of a claim: each class port under its name and number (O-013). Pure.

use k8s_openapi::{
    api::core::v1::{Service, ServicePort, ServiceSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};
use sandgate_shared::api::{SandboxClaim, SandboxClassSpec};

use super::intent::{owned_metadata, selector};

/// Renders the Service.
pub(super) fn service(claim: &SandboxClaim, class: &SandboxClassSpec) -> Service {
    let ports = class.ports.iter().map(|port| ServicePort {
        name: Some(port.name.clone()),
        port: port.port,
        target_port: Some(IntOrString::Int(port.port)),
        protocol: Some("TCP".to_owned()),
        ..ServicePort::default()
    });
    Service {
        metadata: owned_metadata(claim),
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".to_owned()),
            selector: Some(selector(claim)),
            ports: Some(ports.collect()),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}
