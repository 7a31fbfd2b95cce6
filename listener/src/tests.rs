use std::net::SocketAddr;

use rstest::rstest;
use tokio::net::TcpStream;

use super::*;

/// What the kernel says where IPv6 was switched off when it started.
const EAFNOSUPPORT: i32 = 97;
/// What it says of a port that another process has.
const EADDRINUSE: i32 = 98;

/// Which address is listened on in the end, where listening on IPv6 fails so.
fn listened_on(address: &str, error: i32) -> io::Result<SocketAddr> {
    first_of_both(address.parse().unwrap(), |address| {
        if address.is_ipv6() {
            Err(io::Error::from_raw_os_error(error))
        } else {
            Ok(address)
        }
    })
}

#[test]
fn a_machine_without_ipv6_is_served_by_ipv4() {
    let served = listened_on("[::]:8082", EAFNOSUPPORT).unwrap();
    assert_eq!(served, "0.0.0.0:8082".parse().unwrap());
}

#[rstest]
#[case::a_port_that_is_taken("[::]:8082", EADDRINUSE)]
#[case::one_address_that_was_asked_for("[::1]:8082", EAFNOSUPPORT)]
fn nothing_else_moves_to_ipv4(#[case] address: &str, #[case] error: i32) {
    let refused = listened_on(address, error).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(error));
}

#[rstest]
#[case::of_every_address("[::]:0", "127.0.0.1")]
#[case::of_one("127.0.0.1:0", "127.0.0.1")]
#[tokio::test]
async fn whoever_dials_by_ipv4_is_heard(#[case] address: &str, #[case] dials: &str) {
    let listener = bind(address.parse().unwrap()).unwrap();
    let port = listener.local_addr().unwrap().port();
    let dialled = TcpStream::connect((dials, port));
    let (dialled, heard) = tokio::join!(dialled, listener.accept());
    assert!(dialled.is_ok() && heard.is_ok());
}

#[tokio::test]
async fn a_port_that_is_taken_is_told_with_its_address() {
    let first = bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = first.local_addr().unwrap();
    let told = bind(address).unwrap_err().to_string();
    assert_eq!(
        told,
        format!("failed to listen on {address}; is the port taken?")
    );
}

#[rstest]
#[case::a_port("9443", "[::]:9443")]
#[case::a_port_as_go_writes_it(":8081", "[::]:8081")]
#[case::a_name("localhost:1", "[::]:9443")]
#[case::an_address("::1", "[::]:9443")]
#[case::a_port_that_is_none("[::]:65536", "[::]:9443")]
#[case::nothing("", "[::]:9443")]
fn what_is_no_address_with_a_port_is_told_how_to_be_written(
    #[case] text: &str,
    #[case] instead: &str,
) {
    let told = address(text).unwrap_err();
    let wanted = format!("must be ADDRESS:PORT, such as {instead} for every address");
    assert_eq!(told, wanted);
    assert!(address(instead).is_ok());
}
