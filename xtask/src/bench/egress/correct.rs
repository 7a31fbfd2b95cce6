//! Whether a tunnel passes on what it must: an end of one direction, and what comes with the CONNECT.
//! Does network I/O, bounded in time.

use std::io::Read;

use anyhow::{Context, ensure};

use super::origin::{ANSWER, ECHO, LISTEN};
use super::tunnel::{Tunnel, Way};

/// What leaves in one packet with the CONNECT.
const EARLY: &[u8] = b"bytes that did not wait for an answer";

/// The client says that it is done; what the origin answers then must arrive whole.
pub fn half_close(way: Way) -> anyhow::Result<()> {
    let mut tunnel = Tunnel::open(way, 0, &[])?;
    tunnel.send(&[LISTEN]).context("failed to send")?;
    tunnel.end().context("failed to end one direction")?;
    let mut answer = Vec::new();
    let ended = tunnel.read_to_end(&mut answer);
    let came = answer.len();
    ensure!(came == ANSWER, "{came} of {ANSWER} bytes came");
    ended.context("the tunnel broke off after the last byte")?;
    Ok(())
}

/// What comes with the CONNECT must reach the origin.
pub fn early_bytes(way: Way) -> anyhow::Result<()> {
    let sent = [&[ECHO], EARLY].concat();
    let mut tunnel = Tunnel::open(way, 0, &sent)?;
    let mut back = [0; EARLY.len()];
    let came = tunnel.read_exact(&mut back);
    ensure!(came.is_ok(), "they did not come back");
    ensure!(back == EARLY, "others came back");
    Ok(())
}
