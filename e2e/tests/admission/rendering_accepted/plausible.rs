//! Values of classes and claims as their authors write them. Pure.

use serde_json::{Value, json};

use crate::generated::Generator;

const PORTS: [&str; 7] = [
    "mcp",
    "view",
    "http",
    "grpc-1",
    "9p",
    "metrics",
    "abcdefghijklmno",
];

/// Plausible values where the schema alone admits nonsense that only an author's mistake would be,
/// or where two fields have to fit together.
pub fn plausible(make: &mut Generator, path: &str) -> Option<Value> {
    Some(match path {
        "spec.image" => json!(make.matching("[a-z]{1,9}\\.example/[a-z0-9]{1,20}:[a-z0-9.]{1,9}")),
        "spec.ports" => ports(make),
        "spec.readiness.port" | "spec.view.port" => json!("mcp"),
        "spec.runtimeClassName" => json!("kata-containers"),
        "spec.resources" => resources(make),
        "spec.filesystem.scratch" => scratch(make),
        "spec.filesystem.workspace.mountPath" => json!(make.one_of(&["/workspace", "/w/s.d"])),
        // A file for it would have to lie on a scratch volume that the class may not have.
        "spec.connections[].session" => json!({ "args": ["--state={{.StateFile}}"] }),
        "spec.nodeSelector" => {
            json!({ "kubernetes.io/arch": "amd64", "pool": make.one_of(&["a", ""]) })
        }
        "spec.tolerations" => tolerations(make),
        "spec.egress.allowedServices[].name" => json!(make.one_of(&["mirror", "named", "missing"])),
        "spec.mounts" => json!([{ "role": make.one_of(&["scratch", "scratch", "project"]) }]),
        "spec.agentRuntimeRef.name" => {
            // A runtime of another name cannot exist, and its claim is never built.
            let most = *make.one_of(&[10, 63, 64, 253]);
            let name = make.matching("[a-z0-9]{1,9}([-.][a-z0-9]{1,9}){0,40}");
            json!(
                name.chars()
                    .take(most)
                    .collect::<String>()
                    .trim_end_matches(['-', '.'])
            )
        }
        "spec.handle" => json!(make.matching("[a-z0-9]{1,31}(-[a-z0-9]{1,9})?/[a-z0-9]{1,63}")),
        _ => return None,
    })
}

fn ports(make: &mut Generator) -> Value {
    let some = usize::try_from(make.number(1, 7)).unwrap();
    let mut names = PORTS[..some].to_vec();
    if make.perhaps(5) {
        names.push("REFUSED");
    }
    names
        .iter()
        .map(|name| json!({ "name": name, "port": make.number(1, 65535) }))
        .collect()
}

fn resources(make: &mut Generator) -> Value {
    let cpu = [
        json!("1"),
        json!(2),
        json!("0.5"),
        json!("1500m"),
        json!("1e1"),
    ];
    let memory = [
        json!("512Mi"),
        json!("1G"),
        json!(1_073_741_824),
        json!("1.5Gi"),
        json!("256e6"),
    ];
    let mut resources = json!({ "limits": {
        "cpu": make.one_of(&cpu),
        "memory": make.one_of(&memory),
    } });
    if make.perhaps(20) {
        resources["limits"]["ephemeral-storage"] = json!("10Gi");
    }
    if make.perhaps(50) {
        resources["requests"] = json!({ "cpu": "50m", "memory": make.one_of(&["64Mi", "128M"]) });
    }
    if make.perhaps(10) {
        resources["limits"] = json!({ "cpu": "1" });
    }
    resources
}

fn scratch(make: &mut Generator) -> Value {
    let sizes = [
        json!("4Gi"),
        json!("512Mi"),
        json!(1_048_576),
        json!("1.5Gi"),
        json!("5e8"),
    ];
    let all = [
        ("cache", "/sandbox-cache"),
        ("tmp", "/tmp"),
        ("0-data", "/var/lib/data.d"),
    ];
    let some = usize::try_from(make.number(0, 3)).unwrap();
    all.into_iter()
        .take(some)
        .map(|(name, path)| {
            let mut volume = json!({
                "name": name,
                "mountPath": path,
                "sizeLimit": make.one_of(&sizes),
            });
            if make.perhaps(50) {
                volume["medium"] = json!(make.one_of(&["Disk", "Memory"]));
            }
            volume
        })
        .collect()
}

fn tolerations(make: &mut Generator) -> Value {
    let all = [
        json!({ "operator": "Exists" }),
        json!({ "key": "sandbox", "operator": "Equal", "value": "yes", "effect": "NoSchedule" }),
        json!({ "key": "example.com/gpu", "effect": "NoExecute", "tolerationSeconds": 30 }),
        json!({ "key": "spot", "value": "", "effect": "PreferNoSchedule" }),
    ];
    json!([make.one_of(&all), make.one_of(&all)])
}
