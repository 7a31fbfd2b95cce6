//! Who dials a sandbox, and on which of its doors. Pure.

use std::net::SocketAddr;

use super::destination::{Via, port};
use super::evidence::Sighting;
use super::facts::{Family, Peer};
use super::scenario::Expected;
use super::verdict::Witness;

/// A pod that dials the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Of the claim's own runtime.
    OwnRuntime,
    /// Of another runtime.
    OtherRuntime,
    /// Of none.
    NoRuntime,
    /// Of the same runtime, by its label, in another namespace.
    OtherNamespace,
}

impl Caller {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::OwnRuntime,
        Self::OtherRuntime,
        Self::NoRuntime,
        Self::OtherNamespace,
    ];

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Self::OwnRuntime => "pod of its own runtime",
            Self::OtherRuntime => "pod of another runtime",
            Self::NoRuntime => "pod of no runtime",
            Self::OtherNamespace => "own runtime, elsewhere",
        }
    }

    /// Name of its pod.
    pub fn name(self) -> &'static str {
        match self {
            Self::OwnRuntime => "caller-own",
            Self::OtherRuntime => "caller-other",
            Self::NoRuntime => "caller-none",
            Self::OtherNamespace => "caller-elsewhere",
        }
    }

    /// What the door should be for it.
    pub fn expects(self, door: &Door) -> Expected {
        if self == Self::OwnRuntime && door.of_class {
            Expected::Open
        } else {
            Expected::Shut
        }
    }
}

/// One way into a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Door {
    /// The probe's label.
    pub label: String,
    /// For people.
    pub to: &'static str,
    /// By which kind of address.
    pub via: Via,
    /// Of which family.
    pub family: Family,
    /// Where.
    pub socket: SocketAddr,
    /// Whether the class names its port.
    pub of_class: bool,
}

/// The label by which the sandbox itself dials its own port that is not in the class.
pub const LOOPBACK: &str = "loopback";

/// The doors of a sandbox at these addresses.
pub fn doors(sandbox: &Peer) -> Vec<Door> {
    let mut doors = Vec::new();
    for family in Family::ALL {
        let six = if family == Family::IPv6 { "-v6" } else { "" };
        for (label, to, via, addresses, port) in [
            (
                "class-pod",
                "class port",
                Via::PodIp,
                &sandbox.pod,
                port::CLASS,
            ),
            (
                "class-svc",
                "class port",
                Via::ClusterIp,
                &sandbox.service,
                port::CLASS,
            ),
            (
                "other-pod",
                "port not in the class",
                Via::PodIp,
                &sandbox.pod,
                port::NOT_CLASS,
            ),
        ] {
            doors.extend(addresses.of(family).map(|address| Door {
                label: format!("{label}{six}"),
                to,
                via,
                family,
                socket: SocketAddr::new(address, port),
                of_class: port == port::CLASS,
            }));
        }
    }
    doors
}

/// Whether somebody got through where it counts, so that silence at this door means that it is shut:
/// the runtime's own pod at a door of the class; at another door also the sandbox itself, from
/// within. For the runtime's own pod it is the kubelet, without whose probes no claim is Bound.
pub fn witness(caller: Caller, door: &Door, own: Option<&Sighting>, sandbox: &Sighting) -> Witness {
    let reached = |sighting: Option<&Sighting>, label: &str| {
        let dialled = sighting.and_then(|sighting| sighting.of(label));
        dialled.is_some_and(|dialled| dialled.answers > 0)
    };
    if caller == Caller::OwnRuntime && door.of_class {
        return Ok(());
    }
    let known = if door.of_class {
        door.label.clone()
    } else {
        door.label.replace("other", "class")
    };
    if !reached(own, &known) {
        return Err("the runtime's own pod did not get through either".to_owned());
    }
    if door.of_class || reached(Some(sandbox), LOOPBACK) {
        return Ok(());
    }
    Err("nothing answers on that port, even from within the sandbox".to_owned())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::isolation::facts::Addresses;
    use sandgate_probe::tally::Tally;

    fn sandbox() -> Peer {
        Peer {
            pod: Addresses::read(["10.0.0.9", "fd00::9"]),
            service: Addresses::read(["10.96.0.9"]),
        }
    }

    fn saw(answered: &[&str]) -> Sighting {
        Sighting {
            dialled: answered
                .iter()
                .map(|label| Tally {
                    target: (*label).to_owned(),
                    attempts: 9,
                    answers: 9,
                    ..Tally::default()
                })
                .collect(),
            ..Sighting::default()
        }
    }

    #[test]
    fn only_the_runtimes_own_pods_may_enter_and_only_by_the_class_port() {
        let doors = doors(&sandbox());
        let labels: Vec<&str> = doors.iter().map(|door| door.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "class-pod",
                "class-svc",
                "other-pod",
                "class-pod-v6",
                "other-pod-v6"
            ]
        );
        for caller in Caller::ALL {
            for door in &doors {
                let open = caller.expects(door) == Expected::Open;
                let right = caller == Caller::OwnRuntime && door.label.starts_with("class");
                assert_eq!(open, right, "{caller:?} at {}", door.label);
            }
        }
    }

    #[rstest]
    #[case(Caller::OtherRuntime, "class-pod", &["class-pod"], &[], true)]
    #[case(Caller::OtherRuntime, "class-pod", &["class-svc"], &[], false)]
    #[case(Caller::NoRuntime, "other-pod", &["class-pod"], &[LOOPBACK], true)]
    #[case(Caller::NoRuntime, "other-pod", &["class-pod"], &[], false)]
    #[case(Caller::OwnRuntime, "other-pod", &[], &[LOOPBACK], false)]
    #[case(Caller::OwnRuntime, "other-pod-v6", &["class-pod-v6"], &[LOOPBACK], true)]
    #[case(Caller::OwnRuntime, "class-pod", &[], &[], true)]
    fn a_door_is_known_to_be_shut_only_where_somebody_passes(
        #[case] caller: Caller,
        #[case] label: &str,
        #[case] own: &[&str],
        #[case] within: &[&str],
        #[case] known: bool,
    ) {
        let doors = doors(&sandbox());
        let door = doors.iter().find(|door| door.label == label).unwrap();
        let witness = witness(caller, door, Some(&saw(own)), &saw(within));
        assert_eq!(witness.is_ok(), known, "{witness:?}");
    }
}
