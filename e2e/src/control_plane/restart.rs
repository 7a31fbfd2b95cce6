//! The API server, ended and started again, as when a control plane is upgraded. Starts processes.

use std::ops::Range;
use std::time::Instant;

use super::parts::API_SERVER;
use super::{ControlPlane, ControlPlaneError};

impl ControlPlane {
    /// Asks the API server to end and starts it again on the same etcd; back when it is ready. Says from
    /// when until when nobody could count on it.
    pub async fn restart_api_server(&mut self) -> Result<Range<Instant>, ControlPlaneError> {
        let from = Instant::now();
        if let Some(mut server) = self.running.remove(API_SERVER) {
            let stopped = tokio::task::spawn_blocking(move || server.stop().map(drop));
            stopped.await.map_err(ControlPlaneError::Stop)??;
        }
        if let Some(program) = self.api_server.clone() {
            self.launch(API_SERVER, &program)?;
            self.until_it_serves().await?;
        }
        Ok(from..Instant::now())
    }
}
