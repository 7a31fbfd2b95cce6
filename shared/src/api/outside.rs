//! Kinds that another platform owns: only the fields we read, tolerant of everything else.
//!
//! A value of the wrong shape reads as absent, so that somebody else's odd object never stalls a
//! watch of ours; except a limit, of which it is known that it was meant ([`Ceiling`]).

mod agent_runtime;
mod ceiling;
mod tool_registry;
mod workspace;

pub use agent_runtime::{AgentRuntime, AgentRuntimeSpec, RuntimeSandbox};
pub use ceiling::Ceiling;
pub use tool_registry::{RegistrySandbox, ToolRegistry, ToolRegistrySpec};
pub use workspace::{Workspace, WorkspaceNamespace, WorkspaceSpec, WorkspaceStorage};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};

/// Reads a field leniently: a value of another shape is the same as none.
fn lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}
