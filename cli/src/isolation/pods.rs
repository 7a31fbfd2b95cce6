//! What a pod's status says. Pure.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

use super::facts::Addresses;
use super::trouble::Trouble;

/// Reasons by which the kubelet says that an image will never come.
const NEVER: [&str; 3] = ["ErrImageNeverPull", "InvalidImageName", "ErrImageInspect"];
/// Reasons by which it says that an image has not come, and that it tries again.
const NOT_YET: [&str; 2] = ["ErrImagePull", "ImagePullBackOff"];

/// Whether it is ready.
pub fn ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|(status, _)| status == "True")
}

/// Whether its container runs or has run: then there is a log.
pub fn started(pod: &Pod) -> bool {
    containers(pod).any(|container| {
        let state = container.state.as_ref();
        state.is_some_and(|state| state.running.is_some() || state.terminated.is_some())
    })
}

/// Whether it ended well.
pub fn succeeded(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    phase == Some("Succeeded")
}

/// What will not pass by waiting, if anything.
pub fn hopeless(pod: &Pod, image: &str) -> Option<Trouble> {
    waits_for(pod, image, &NEVER)
}

/// That its image has not come yet, if so.
pub fn no_image(pod: &Pod, image: &str) -> Option<Trouble> {
    waits_for(pod, image, &NOT_YET)
}

fn waits_for(pod: &Pod, image: &str, reasons: &[&str]) -> Option<Trouble> {
    let waiting = containers(pod).find_map(|container| {
        let waiting = container.state.as_ref()?.waiting.as_ref()?;
        let reason = waiting.reason.clone().unwrap_or_default();
        reasons.contains(&reason.as_str()).then(|| {
            let message = waiting.message.clone().unwrap_or(reason);
            message.lines().next().unwrap_or_default().to_owned()
        })
    });
    waiting.map(|message| Trouble::NoImage {
        image: image.to_owned(),
        message,
    })
}

/// Why it is not what it should be, in a few words.
pub fn state(pod: &Pod) -> String {
    let container = containers(pod).find_map(|container| {
        let state = container.state.as_ref()?;
        if let Some(waiting) = &state.waiting {
            let reason = waiting.reason.as_deref().unwrap_or("waiting");
            return Some(match &waiting.message {
                Some(message) => format!("{reason}: {message}"),
                None => reason.to_owned(),
            });
        }
        let ended = state.terminated.as_ref()?;
        Some(format!("its container ended with code {}", ended.exit_code))
    });
    let unscheduled = condition(pod, "PodScheduled");
    let unscheduled = unscheduled.filter(|(status, _)| *status == "False");
    container
        .or_else(|| unscheduled.map(|(_, message)| message.to_owned()))
        .unwrap_or_else(|| {
            let phase = pod.status.as_ref().and_then(|status| status.phase.clone());
            format!("it is {}", phase.unwrap_or_else(|| "not known".to_owned()))
        })
}

/// All its addresses.
pub fn addresses(pod: &Pod) -> Addresses {
    let status = pod.status.as_ref();
    let many = status.and_then(|status| status.pod_ips.as_deref());
    Addresses::read(many.unwrap_or_default().iter().map(|ip| ip.ip.as_str()))
}

fn containers(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let status = pod.status.as_ref();
    let statuses = status.and_then(|status| status.container_statuses.as_deref());
    statuses.unwrap_or_default().iter()
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<(&'a str, &'a str)> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    let found = conditions.iter().find(|found| found.type_ == kind)?;
    let message = found.message.as_deref().unwrap_or("not yet scheduled");
    Some((&found.status, message))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(status: &Value) -> Pod {
        serde_json::from_value(json!({ "status": status })).unwrap()
    }

    #[test]
    fn an_image_that_will_not_come_is_named_with_what_the_kubelet_says() {
        let waiting = json!({ "reason": "ErrImagePull", "message": "no such host\nand more" });
        let status = json!({ "containerStatuses": [{
            "name": "probe", "image": "x", "imageID": "", "ready": false, "restartCount": 0,
            "state": { "waiting": waiting },
        }] });
        assert!(
            hopeless(&pod(&status), "x").is_none(),
            "the kubelet tries again"
        );
        let trouble = no_image(&pod(&status), "registry.example/sandgate:1").unwrap();
        assert_eq!(
            trouble.to_string(),
            "image registry.example/sandgate:1 cannot be pulled (no such host); name one that the nodes can pull, and that holds /sandgate-probe, by --image, or the Secret to pull it by, by --pull-secret"
        );
    }

    #[test]
    fn a_pod_that_finds_no_node_says_so() {
        let status = json!({ "phase": "Pending", "conditions": [
            { "type": "PodScheduled", "status": "False", "message": "0/1 nodes are available" },
        ] });
        assert_eq!(state(&pod(&status)), "0/1 nodes are available");
        assert!(!ready(&pod(&status)));
        assert!(hopeless(&pod(&status), "x").is_none());
    }

    #[test]
    fn a_pod_has_the_addresses_of_both_families() {
        use crate::isolation::facts::Family;
        let found = addresses(&pod(
            &json!({ "podIPs": [{ "ip": "10.0.0.7" }, { "ip": "fd00::7" }] }),
        ));
        assert_eq!(found.of(Family::IPv6).unwrap().to_string(), "fd00::7");
        assert_eq!(found.of(Family::IPv4).unwrap().to_string(), "10.0.0.7");
    }
}
