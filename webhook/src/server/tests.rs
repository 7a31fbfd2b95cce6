use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::ResolvesServerCertUsingSni;
use tokio::net::TcpListener;

use super::*;

/// Answers everything with nothing, holding a kibibyte while it does.
#[derive(Clone)]
struct Nothing;

impl Handler for Nothing {
    async fn handle(&self, _: Request<Incoming>) -> Response<Full<Bytes>> {
        let held = [0_u8; 1024];
        tokio::task::yield_now().await;
        Response::new(Full::new(Bytes::from(
            held.first().copied().into_iter().collect::<Vec<_>>(),
        )))
    }
}

/// What a task holds it holds for as long as the connection stands, which is hours.
#[tokio::test]
async fn a_connection_holds_little_in_its_task() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(ResolvesServerCertUsingSni::new()));
    let transport = Transport::Tls(
        TlsAcceptor::from(Arc::new(config)),
        Arc::new(Metrics::new()),
    );
    let task = serve_stream(
        stream,
        transport,
        Nothing,
        Limits::default(),
        Lifecycle::default(),
    );
    let size = size_of_val(&task);
    assert!(size <= 4096, "{size} bytes");
}
