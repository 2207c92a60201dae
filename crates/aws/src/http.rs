//! The HTTP client below the SDK: the one that the functions link anyway, with roots that are compiled in. The
//! SDK's own would read and parse the machine's roots at each start, and bring a second TLS connector and HTTP/2.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, Method, Response};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// The longest answer: ten parameters of 8 KB, or a secret of 64 KB, written as JSON.
const LONGEST: usize = 1024 * 1024;
/// An idle connection may have died while the sandbox was frozen.
const IDLE: Duration = Duration::from_secs(5);

/// A client for any service; nothing is connected yet. `connect` bounds a connection; what bounds a call is the
/// SDK's.
pub(crate) fn client(connect: Duration) -> SharedHttpClient {
    let built = build(connect).map_err(|error| error.to_string());
    SharedHttpClient::new(Http(built.map_err(Arc::from)))
}

fn build(connect: Duration) -> Result<Client, Box<dyn std::error::Error>> {
    let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(connect)
        .pool_idle_timeout(IDLE)
        .http1_only()
        .no_proxy();
    Ok(client.build()?)
}

/// The client, or why there is none: every call says so then.
#[derive(Debug, Clone)]
struct Http(Result<Client, Arc<str>>);

impl HttpClient for Http {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Http {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let client = self.0.clone();
        HttpConnectorFuture::new(async move {
            let client = client.map_err(|why| ConnectorError::other(why.as_ref().into(), None))?;
            let sent = client.execute(convert(&request)?).await.map_err(failed)?;
            read(sent).await
        })
    }
}

fn convert(request: &HttpRequest) -> Result<reqwest::Request, ConnectorError> {
    let user = |what: &'static str| move || ConnectorError::user(what.into());
    let method = Method::from_bytes(request.method().as_bytes()).ok();
    let url = request.uri().parse().ok();
    let (method, url) = method.zip(url).ok_or_else(user("no URL of HTTP"))?;
    let mut converted = reqwest::Request::new(method, url);
    for (name, value) in request.headers() {
        let name = HeaderName::from_bytes(name.as_bytes()).ok();
        let value = HeaderValue::from_str(value).ok();
        let (name, value) = name.zip(value).ok_or_else(user("no header of HTTP"))?;
        converted.headers_mut().append(name, value);
    }
    // No call of ours streams.
    let body = request
        .body()
        .bytes()
        .ok_or_else(user("no body in memory"))?;
    *converted.body_mut() = Some(body.to_vec().into());
    Ok(converted)
}

async fn read(mut answer: Response) -> Result<HttpResponse, ConnectorError> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > LONGEST {
            let long = io::Error::other("the answer is too long");
            return Err(ConnectorError::io(long.into()));
        }
        body.extend_from_slice(&chunk);
    }
    let status = answer.status().as_u16().try_into();
    let status = status.map_err(|_| ConnectorError::io("no status of HTTP".into()))?;
    let mut response = HttpResponse::new(status, SdkBody::from(body));
    for (name, value) in answer.headers() {
        if let Ok(value) = value.to_str() {
            response
                .headers_mut()
                .append(name.as_str().to_owned(), value.to_owned());
        }
    }
    Ok(response)
}

/// Whether it may be tried again is the SDK's to decide, from this kind.
fn failed(error: reqwest::Error) -> ConnectorError {
    let (is_timeout, is_builder) = (error.is_timeout(), error.is_builder());
    let error = error.without_url();
    if is_timeout {
        ConnectorError::timeout(error.into())
    } else if is_builder || error.source().is_none() {
        ConnectorError::other(error.into(), None)
    } else {
        ConnectorError::io(error.into())
    }
}
