//! One process of the binary, and what it writes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;

/// The binary that is tested.
pub const BINARY: &str = env!("CARGO_BIN_EXE_sandgate-egress");

/// A process that serves.
pub struct Process {
    child: Child,
    lines: BufReader<ChildStderr>,
    pub address: SocketAddr,
    pub admin: SocketAddr,
}

/// The binary with an allowlist and ports of its own.
pub fn command(allowlist: &Path) -> Command {
    let mut command = Command::new(BINARY);
    command
        .args(["--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"])
        .args(["--dns-server=127.0.0.1:1", "--allowlist"])
        .arg(allowlist);
    command
}

impl Process {
    /// Starts it, and waits until it serves.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap());
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut process = Self {
            child,
            lines,
            address: nowhere,
            admin: nowhere,
        };
        let serving = process.line("serving");
        let at = |field: &str| serving[field].as_str().unwrap().parse().unwrap();
        (process.address, process.admin) = (at("address"), at("admin_address"));
        process
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The fields of the next line that says `message`.
    pub fn line(&mut self, message: &str) -> Value {
        let mut seen = Vec::new();
        loop {
            let mut text = String::new();
            let count = self.lines.read_line(&mut text).unwrap();
            assert_ne!(count, 0, "nothing said {message:?}; before: {seen:#?}");
            let line: Value = serde_json::from_str(&text).unwrap();
            if line["fields"]["message"] == message {
                return line["fields"].clone();
            }
            seen.push(text);
        }
    }

    /// Tells it to stop; how it ended, and what it still wrote.
    pub fn stop(mut self) -> (ExitStatus, String) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already, most often.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Writes a file as a whole: one that is being written is empty for a moment.
pub fn replace(path: &Path, content: &str) {
    let fresh = path.with_extension("fresh");
    std::fs::write(&fresh, content).unwrap();
    std::fs::rename(fresh, path).unwrap();
}

/// Sends `bytes` to `address`, and reads until it closes.
pub fn sent(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream.write_all(bytes).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Asks for `target`.
pub fn asked(address: SocketAddr, target: &str) -> String {
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
    sent(address, request.as_bytes())
}
