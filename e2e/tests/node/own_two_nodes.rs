//! The node itself: that two get along, are shut in, and leave nothing.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use sandgate_e2e::Outcome;
use sandgate_e2e::real_node::{Options, Outside, RealNode, TCP_PORTS};
use serde_json::Value;

use crate::leftovers::{marks, processes, shared_by_all, things};

/// How long somebody may try: an answer on one machine takes less than a thousandth of it.
const TRY: Duration = Duration::from_millis(400);

/// The addresses of this machine, all but those that every network has.
fn addresses() -> Outcome<Vec<IpAddr>> {
    let said = Command::new("ip")
        .args(["-json", "address", "show", "scope", "global"])
        .output()?;
    let links: Vec<Value> = serde_json::from_slice(&said.stdout)?;
    let local = |address: &Value| address.get("local")?.as_str()?.parse().ok();
    Ok(links
        .iter()
        .filter_map(|link| link.get("addr_info")?.as_array())
        .flatten()
        .filter_map(local)
        .collect())
}

fn dial(to: SocketAddr) -> bool {
    TcpStream::connect_timeout(&to, TRY).is_ok()
}

/// Waits until exactly these addresses outside were reached; a visitor is noted after it has left.
async fn came(outside: &Outside, mut expected: Vec<String>) -> Outcome {
    expected.sort();
    let mut turn = tokio::time::interval(Duration::from_millis(20));
    loop {
        turn.tick().await;
        let mut came: Vec<_> = outside
            .contacts()?
            .into_iter()
            .filter_map(|it| it.to)
            .collect();
        came.sort();
        if came.len() >= expected.len() {
            assert_eq!(came, expected);
            return Ok(());
        }
    }
}

#[tokio::test]
async fn two_nodes_run_at_once_reach_nothing_of_this_machine_and_leave_nothing() -> Outcome {
    let before = shared_by_all()?;
    let start = || Box::pin(RealNode::start(Options::default()));
    let (first, second) = tokio::try_join!(start(), start())?;
    let mut nodes = [first, second];

    let mut listeners = Vec::new();
    for address in addresses()?.into_iter().chain([Ipv4Addr::LOCALHOST.into()]) {
        let listener = TcpListener::bind((address, 0))?;
        listener.set_nonblocking(true)?;
        listeners.push(listener);
    }
    assert!(
        listeners.len() > 1,
        "this machine has no address of its own"
    );
    for listener in &listeners {
        let to = listener.local_addr()?;
        assert!(dial(to), "{to} is not reached from this machine itself");
        drop(listener.accept()?);
        for node in &nodes {
            assert!(!node.on_the_node(move || dial(to))?, "{to} from the node");
            assert!(
                !node.in_the_outside(move || dial(to))?,
                "{to} from the outside"
            );
        }
        let nobody = listener.accept().unwrap_err();
        assert_eq!(nobody.kind(), ErrorKind::WouldBlock);
    }

    let mut all = Vec::new();
    for node in &mut nodes {
        node.check()?;
        let outside = node.outside();
        for host in outside.hosts().into_iter().chain([outside.metadata()]) {
            let to = SocketAddr::from((host, TCP_PORTS[0]));
            assert!(
                node.on_the_node(move || dial(to))?,
                "{to} is not reached from the node"
            );
        }
        let mut expected = outside.hosts().map(|host| host.to_string()).to_vec();
        expected.push(outside.metadata().to_string());
        came(outside, expected).await?;
        let marks = marks(node)?;
        assert!(processes(&marks)?.len() > 10, "{:?}", processes(&marks));
        assert!(things(&marks)?.len() > 1, "{:?}", things(&marks));
        all.push(marks);
    }
    drop(nodes);
    for marks in &all {
        assert_eq!(processes(marks)?, [""; 0]);
        assert_eq!(things(marks)?, [""; 0]);
    }
    assert_eq!(shared_by_all()?, before);
    Ok(())
}
