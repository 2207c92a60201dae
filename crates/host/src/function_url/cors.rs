//! Cross-origin rules, answered and added by the front: the function never sees a preflight.

use axum::body::Body;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use crate::spec::CorsConfig;

/// The answer to a preflight; `None` for every other request.
pub(crate) fn preflight(cors: &CorsConfig, parts: &Parts) -> Option<Response> {
    let origin = parts.headers.get(header::ORIGIN)?;
    let asked = parts.headers.get(header::ACCESS_CONTROL_REQUEST_METHOD)?;
    if parts.method != Method::OPTIONS {
        return None;
    }
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    let method_allowed = cors
        .allow_methods
        .iter()
        .any(|method| method == "*" || method.as_bytes() == asked.as_bytes());
    // Without an allowed origin and method there is nothing to say; a browser reads that as no.
    if method_allowed && let Some(allowed) = allowed_origin(cors, origin) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        list(
            headers,
            header::ACCESS_CONTROL_ALLOW_METHODS,
            &cors.allow_methods,
        );
        list(
            headers,
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            &cors.allow_headers,
        );
        headers.insert(
            header::ACCESS_CONTROL_MAX_AGE,
            HeaderValue::from(cors.max_age_seconds),
        );
        credentials(cors, headers);
    }
    Some(response)
}

/// Adds the configured headers to an answer. What the function set itself stays, also where that makes two.
pub(crate) fn decorate(cors: &CorsConfig, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
    let Some(allowed) = origin.and_then(|origin| allowed_origin(cors, origin)) else {
        return;
    };
    headers.append(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    list(
        headers,
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        &cors.expose_headers,
    );
    credentials(cors, headers);
}

fn allowed_origin(cors: &CorsConfig, origin: &HeaderValue) -> Option<HeaderValue> {
    if cors
        .allow_origins
        .iter()
        .any(|allowed| allowed.as_bytes() == origin.as_bytes())
    {
        return Some(origin.clone());
    }
    let any = cors.allow_origins.iter().any(|allowed| allowed == "*");
    any.then(|| {
        if cors.allow_credentials {
            origin.clone()
        } else {
            HeaderValue::from_static("*")
        }
    })
}

fn list(headers: &mut HeaderMap, name: HeaderName, items: &[String]) {
    if !items.is_empty()
        && let Ok(value) = HeaderValue::try_from(items.join(","))
    {
        headers.append(name, value);
    }
}

fn credentials(cors: &CorsConfig, headers: &mut HeaderMap) {
    if cors.allow_credentials {
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
            HeaderValue::from_static("true"),
        );
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn config() -> CorsConfig {
        CorsConfig {
            allow_origins: vec!["https://crm.example".into()],
            allow_methods: vec!["GET".into(), "PUT".into()],
            allow_headers: vec!["authorization".into(), "webhook-id".into()],
            expose_headers: vec!["sendtrail-receipt".into()],
            allow_credentials: false,
            max_age_seconds: 600,
        }
    }

    fn ask(cors: &CorsConfig, origin: &str, method: &str) -> Option<Response> {
        let request = Request::options("/")
            .header("origin", origin)
            .header("access-control-request-method", method);
        let (parts, ()) = request.body(()).unwrap().into_parts();
        preflight(cors, &parts)
    }

    #[test]
    fn a_known_origin_is_told_what_it_may_do() {
        let answer = ask(&config(), "https://crm.example", "PUT").unwrap();
        assert_eq!(
            answer.headers()["access-control-allow-origin"],
            "https://crm.example"
        );
        assert_eq!(answer.headers()["access-control-allow-methods"], "GET,PUT");
        assert_eq!(
            answer.headers()["access-control-allow-headers"],
            "authorization,webhook-id"
        );
        assert_eq!(answer.headers()["access-control-max-age"], "600");
        assert!(
            !answer
                .headers()
                .contains_key("access-control-allow-credentials")
        );
    }

    #[test]
    fn an_unknown_origin_or_method_is_told_nothing() {
        for (origin, method) in [
            ("https://evil.example", "PUT"),
            ("https://crm.example", "DELETE"),
        ] {
            let answer = ask(&config(), origin, method).unwrap();
            assert!(!answer.headers().contains_key("access-control-allow-origin"));
            assert!(
                !answer
                    .headers()
                    .contains_key("access-control-allow-methods")
            );
        }
        let mut headers = HeaderMap::new();
        decorate(
            &config(),
            Some(&HeaderValue::from_static("https://evil.example")),
            &mut headers,
        );
        decorate(&config(), None, &mut headers);
        assert!(headers.is_empty());
    }

    #[test]
    fn a_request_that_is_no_preflight_is_left_alone() {
        let (parts, ()) = Request::options("/").body(()).unwrap().into_parts();
        assert!(preflight(&config(), &parts).is_none());
        let get = Request::get("/")
            .header("origin", "a")
            .header("access-control-request-method", "GET");
        assert!(preflight(&config(), &get.body(()).unwrap().into_parts().0).is_none());
    }

    #[test]
    fn any_origin_with_credentials_names_the_origin() {
        let cors = CorsConfig {
            allow_origins: vec!["*".into()],
            allow_credentials: true,
            ..config()
        };
        let answer = ask(&cors, "https://a.example", "GET").unwrap();
        assert_eq!(
            answer.headers()["access-control-allow-origin"],
            "https://a.example"
        );
        assert_eq!(answer.headers()["access-control-allow-credentials"], "true");
        let cors = CorsConfig {
            allow_credentials: false,
            ..cors
        };
        let answer = ask(&cors, "https://a.example", "GET").unwrap();
        assert_eq!(answer.headers()["access-control-allow-origin"], "*");
    }

    #[test]
    fn a_header_that_the_function_set_too_is_there_twice() {
        let mut headers = HeaderMap::new();
        headers.insert("access-control-allow-origin", HeaderValue::from_static("*"));
        decorate(
            &config(),
            Some(&HeaderValue::from_static("https://crm.example")),
            &mut headers,
        );
        assert_eq!(
            headers
                .get_all("access-control-allow-origin")
                .iter()
                .count(),
            2
        );
        assert_eq!(
            headers["access-control-expose-headers"],
            "sendtrail-receipt"
        );
    }
}
