//! A default client posts up to three times where the submit client posts once.

#[path = "../../tests/common/h2_server.rs"]
mod h2_server;
#[path = "../../tests/common/wire.rs"]
#[allow(dead_code, reason = "the tests of sendapi use the rest of it")]
mod wire;

use std::sync::Arc;
use std::time::Duration;

use h2_server::{H2Server, Reply};
use reqwest::{Client, ClientBuilder};
use wire::Identity;

fn builder(identity: &Identity) -> ClientBuilder {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(identity.roots())
        .with_no_client_auth();
    // As the client itself asks for, where it is not given a configuration.
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .timeout(Duration::from_secs(10))
}

/// How many whole POSTs one call makes at a server that replies like this, over TLS and in the clear.
async fn posts(reply: Reply, with: impl Fn(ClientBuilder) -> ClientBuilder) -> (usize, usize) {
    let identity = Identity::new();
    let secret = H2Server::start(reply, Some(identity.acceptor(&["h2"]))).await;
    let open = H2Server::start(reply, None).await;
    let client = with(builder(&identity)).build().unwrap();
    let url = format!("https://127.0.0.1:{}/v1/letters", secret.port);
    let _ = client.post(url).body("once").send().await;
    let client = with(builder(&identity).http2_prior_knowledge())
        .build()
        .unwrap();
    let url = format!("http://127.0.0.1:{}/v1/letters", open.port);
    let _ = client.post(url).body("once").send().await;
    (secret.posts(), open.posts())
}

#[tokio::test]
async fn a_default_client_posts_again_where_the_server_denies_having_seen_it() {
    for reply in [Reply::RefusedStream, Reply::GoAwayZero] {
        let (secret, open) = posts(reply, |client| client).await;
        assert!(secret > 1 && open > 1, "{reply:?}: {secret} and {open}");
    }
}

#[tokio::test]
async fn it_does_not_where_the_server_admits_or_only_breaks() {
    for reply in [
        Reply::GoAwayOurs,
        Reply::InternalError,
        Reply::Close,
        Reply::Ok,
    ] {
        assert_eq!(posts(reply, |client| client).await, (1, 1), "{reply:?}");
    }
}

#[tokio::test]
async fn without_retries_it_posts_once() {
    let never = |client: ClientBuilder| client.retry(reqwest::retry::never());
    for reply in h2_server::REPLIES {
        assert_eq!(posts(reply, never).await, (1, 1), "{reply:?}");
    }
}
