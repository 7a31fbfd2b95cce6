//! An allowlist that changes while tunnels are open.

use std::os::unix::fs::symlink;
use std::time::Duration;

use rstest::rstest;
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

use crate::client::{asked, is_echoed, tunnel};
use crate::dns::{Dns, at};
use crate::origin::echo;
use crate::proxy::{PUBLIC, Proxy, Setup, listed};

const GENERATION: &str = "allowlist_generation";
const FAILURES: &str = "allowlist_reload_failures_total";
/// Longer than any test: what is seen in time was told by the kernel.
const NEVER: &str = "--allowlist-interval=1h";

async fn proxy(hosts: &[&'static str], flag: &str) -> Proxy {
    Proxy::echoing(Setup {
        hosts: hosts.to_vec(),
        flags: vec![flag.to_owned()],
        ..Setup::default()
    })
    .await
}

// The proxy's half of E-011.
#[rstest]
#[case::told_by_the_kernel(NEVER)]
#[case::seen_by_looking("--allowlist-interval=100ms")]
#[tokio::test]
async fn an_added_host_is_open_and_cuts_nothing(#[case] flag: &str) {
    let proxy = proxy(&["a.example"], flag).await;
    let mut open = tunnel(proxy.address, "a.example:443").await;
    let refused = asked(proxy.address, "c.example:443").await;
    assert_eq!(refused.refusal(), (403, "host-not-allowed"));
    proxy.list(&["a.example", "c.example"]);
    proxy.until_metric(GENERATION, 2.0).await;
    let mut added = tunnel(proxy.address, "c.example:443").await;
    assert!(is_echoed(&mut added, "hello").await);
    assert!(is_echoed(&mut open, "still here").await);
}

// The proxy's half of E-011, E-012.
#[tokio::test]
async fn a_removed_host_is_shut_and_its_tunnels_cut_and_no_others() {
    let proxy = proxy(
        &["a.example", "c.example", "*.b.example", "x.b.example"],
        NEVER,
    )
    .await;
    let mut cut = Vec::new();
    let mut kept = Vec::new();
    for target in ["a.example:443", "y.b.example:443"] {
        cut.push(tunnel(proxy.address, target).await);
    }
    for target in ["c.example:443", "x.b.example:443"] {
        kept.push(tunnel(proxy.address, target).await);
    }
    proxy.list(&["c.example", "x.b.example"]);
    for stream in &mut cut {
        let read = timeout(Duration::from_secs(5), stream.read(&mut [0])).await;
        let read = read.expect("it is cut in time");
        assert!(read.is_err(), "a cut tunnel looks whole: {read:?}");
    }
    for stream in &mut kept {
        assert!(is_echoed(stream, "still here").await);
    }
    for target in ["a.example:443", "y.b.example:443"] {
        let refused = asked(proxy.address, target).await;
        assert_eq!(refused.refusal(), (403, "host-not-allowed"));
    }
    proxy
        .until_metric(r#"tunnels_closed_total{cause="revoked"}"#, 2.0)
        .await;
    proxy.until_metric("open_tunnels", 2.0).await;
}

#[rstest]
#[case::half_written(r#"{"hosts": ["c.exam"#)]
#[case::a_bad_entry(r#"{"hosts": ["c.example", "*.com"]}"#)]
#[case::no_allowlist("c.example\n")]
#[tokio::test]
async fn a_file_that_is_none_leaves_the_last_good_one(#[case] content: &str) {
    let proxy = proxy(&["a.example"], NEVER).await;
    let mut open = tunnel(proxy.address, "a.example:443").await;
    proxy.write(content.as_bytes());
    proxy.until_metric(FAILURES, 1.0).await;
    assert!(is_echoed(&mut open, "still here").await);
    let _new = tunnel(proxy.address, "a.example:443").await;
    assert!(proxy.page("/readyz").await.starts_with("HTTP/1.1 200"));
    proxy.list(&["a.example", "c.example"]);
    proxy.until_metric(GENERATION, 2.0).await;
    let _added = tunnel(proxy.address, "c.example:443").await;
}

#[tokio::test]
async fn a_huge_file_leaves_the_last_good_one() {
    let proxy = proxy(&["a.example"], NEVER).await;
    proxy.write(&vec![b' '; 8 << 20]);
    proxy.until_metric(FAILURES, 1.0).await;
    let _new = tunnel(proxy.address, "a.example:443").await;
}

#[tokio::test]
async fn a_file_that_is_gone_leaves_the_last_good_one_and_is_told_once() {
    let proxy = proxy(&["a.example"], "--allowlist-interval=50ms").await;
    std::fs::remove_file(proxy.allowlist()).unwrap();
    proxy.until_metric(FAILURES, 1.0).await;
    // It is looked for a few times more.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!((proxy.metric(FAILURES).await - 1.0).abs() < 0.5);
    let _new = tunnel(proxy.address, "a.example:443").await;
    proxy.list(&["a.example"]);
    proxy.list(&["c.example"]);
    proxy.until_metric(GENERATION, 2.0).await;
}

#[rstest]
#[case::no_bytes("")]
#[case::no_hosts(r#"{"hosts": []}"#)]
#[tokio::test]
async fn an_empty_list_shuts_everything(#[case] content: &str) {
    let proxy = proxy(&["a.example"], NEVER).await;
    let mut open = tunnel(proxy.address, "a.example:443").await;
    proxy.write(content.as_bytes());
    let read = timeout(Duration::from_secs(5), open.read(&mut [0])).await;
    assert!(read.expect("it is cut in time").is_err());
    let refused = asked(proxy.address, "a.example:443").await;
    assert_eq!(refused.refusal(), (403, "host-not-allowed"));
}

#[tokio::test]
async fn the_same_hosts_in_other_words_are_no_change() {
    let proxy = proxy(&["a.example", "c.example"], NEVER).await;
    proxy.list(&["c.example", "a.example", "a.example"]);
    proxy.list(&["a.example", "c.example"]);
    // A change behind them tells that they were seen.
    proxy.list(&["a.example"]);
    proxy.until_metric(GENERATION, 2.0).await;
}

// The proxy's half of E-011.
#[tokio::test]
async fn a_mounted_config_map_is_followed_through_its_links() {
    let directory = tempfile::tempdir().unwrap();
    let at_path = directory.path();
    let put = |version: &str, hosts: &[&str]| {
        std::fs::create_dir(at_path.join(version)).unwrap();
        let file = at_path.join(version).join("allowlist.json");
        std::fs::write(file, listed(hosts)).unwrap();
        symlink(version, at_path.join("..data_tmp")).unwrap();
        std::fs::rename(at_path.join("..data_tmp"), at_path.join("..data")).unwrap();
    };
    put("..v1", &["a.example"]);
    symlink("..data/allowlist.json", at_path.join("allowlist.json")).unwrap();
    let dns = Dns::start(|_, _, _| at(&[PUBLIC])).await;
    let setup = Setup {
        allowlist: Some(at_path.join("allowlist.json")),
        flags: vec![NEVER.to_owned()],
        ..Setup::default()
    };
    let proxy = Proxy::start(setup, dns);
    proxy.internet.put(PUBLIC, echo().await);
    let mut open = tunnel(proxy.address, "a.example:443").await;
    for (version, old) in [("..v2", "..v1"), ("..v3", "..v2"), ("..v4", "..v3")] {
        put(version, &["a.example", "c.example"]);
        std::fs::remove_dir_all(at_path.join(old)).unwrap();
    }
    proxy.until_metric(GENERATION, 2.0).await;
    let _added = tunnel(proxy.address, "c.example:443").await;
    assert!(is_echoed(&mut open, "still here").await);
    put("..v5", &["c.example"]);
    let read = timeout(Duration::from_secs(5), open.read(&mut [0])).await;
    assert!(read.expect("it is cut in time").is_err());
}

// The proxy's half of E-011.
#[tokio::test]
async fn a_host_that_goes_while_it_is_dialled_gets_no_tunnel() {
    let proxy = {
        let dns = Dns::start(|_, _, _| at(&["2606:4700::1111", PUBLIC])).await;
        let mut setup = Setup {
            hosts: vec!["a.example"],
            flags: vec![NEVER.to_owned()],
            ..Setup::default()
        };
        setup.limits.dial.between = Duration::from_secs(2);
        Proxy::start(setup, dns)
    };
    proxy.internet.swallow("2606:4700::1111");
    proxy.internet.put(PUBLIC, echo().await);
    let address = proxy.address;
    let waiting = tokio::spawn(async move { asked(address, "a.example:443").await });
    while proxy.internet.dialled().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    proxy.list(&["c.example"]);
    let answer = waiting.await.unwrap();
    assert_eq!(answer.refusal(), (403, "host-not-allowed"));
    assert_eq!(proxy.internet.dialled().len(), 2);
}
