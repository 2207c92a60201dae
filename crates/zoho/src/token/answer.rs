//! The token endpoint's answer. Its status says nothing: errors come with 200, and limits with 400.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ports::StoreError;
use sendtrail_core::text::harmless;
use serde_json::Value;

use super::AccessToken;
use crate::config::parse_base_url;

/// Used when the answer does not say how long the token lives.
const USUAL_LIFE_S: i64 = 3_600;
/// A life longer than this was told in milliseconds.
pub(crate) const LONGEST_LIFE_S: i64 = 100_000;
/// A shorter one would have every request ask for a token.
const SHORTEST_LIFE_S: i64 = 30;
/// A token is replaced this long before it ends, or at nine tenths of a short life.
const MARGIN_S: i64 = 300;

/// Reads the answer to a refresh asked for at `now`.
pub(crate) fn read(status: u16, body: &[u8], now: Timestamp) -> Result<AccessToken, StoreError> {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    if let Some(error) = text("error") {
        return Err(refusal(status, error));
    }
    let Some(token) = text("access_token").filter(|token| is_header_text(token)) else {
        return Err(no_token(status));
    };
    let life = life_s(&value);
    let after = |seconds| {
        now.saturating_add(SignedDuration::from_secs(seconds))
            .unwrap_or(now)
    };
    Ok(AccessToken {
        token: token.into(),
        api_domain: text("api_domain").and_then(parse_base_url),
        refresh_at: after(life - MARGIN_S.min(life / 10)),
        expires_at: after(life),
    })
}

/// Whether a token can stand in a header.
pub(crate) fn is_header_text(token: &str) -> bool {
    (1..=4_096).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_graphic())
}

fn refusal(status: u16, error: &str) -> StoreError {
    if error == "Access Denied" {
        return StoreError::TokenThrottled;
    }
    let detail = harmless(error, 64);
    if status < 500 && (error.starts_with("invalid_") || error.starts_with("unauthorized_")) {
        StoreError::Unauthorized { detail }
    } else {
        StoreError::Transient {
            detail: format!("token endpoint: {detail}"),
        }
    }
}

fn no_token(status: u16) -> StoreError {
    if status == 429 {
        return StoreError::TokenThrottled;
    }
    StoreError::Transient {
        detail: format!("token endpoint: status {status} without a token"),
    }
}

/// Seconds the token lives. `expires_in` is in milliseconds where `expires_in_sec` stands beside it, and
/// where it would be far too long otherwise.
fn life_s(value: &Value) -> i64 {
    let number = |key: &str| {
        let value = value.get(key)?;
        value.as_i64().or_else(|| value.as_str()?.parse().ok())
    };
    let life = match (number("expires_in_sec"), number("expires_in")) {
        (None, Some(long)) if long > LONGEST_LIFE_S => long / 1_000,
        (Some(seconds), _) | (None, Some(seconds)) => seconds,
        (None, None) => USUAL_LIFE_S,
    };
    life.clamp(SHORTEST_LIFE_S, LONGEST_LIFE_S)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use secrecy::ExposeSecret as _;

    fn now() -> Timestamp {
        Timestamp::from_second(1_767_225_600).unwrap()
    }

    fn life(body: &str) -> (i64, i64) {
        let token = read(200, body.as_bytes(), now()).unwrap();
        let since = |at: Timestamp| at.duration_since(now()).as_secs();
        (since(token.refresh_at), since(token.expires_at))
    }

    #[test]
    fn the_unit_of_the_expiry_is_told_from_what_stands_beside_it() {
        for body in [
            r#"{"access_token":"1000.a","expires_in":3600}"#,
            r#"{"access_token":"1000.a","expires_in":3600000,"expires_in_sec":3600}"#,
            r#"{"access_token":"1000.a","expires_in":3600000}"#,
            r#"{"access_token":"1000.a","expires_in":"3600"}"#,
            r#"{"access_token":"1000.a"}"#,
        ] {
            assert_eq!(life(body), (3_300, 3_600), "{body}");
        }
    }

    #[test]
    fn a_short_life_is_used_to_nine_tenths() {
        assert_eq!(life(r#"{"access_token":"a","expires_in":60}"#), (54, 60));
        assert_eq!(life(r#"{"access_token":"a","expires_in":0}"#), (27, 30));
        assert_eq!(life(r#"{"access_token":"a","expires_in":-7}"#), (27, 30));
    }

    #[test]
    fn errors_count_whatever_the_status() {
        let denied = br#"{"error_description":"x","error":"Access Denied","status":"failure"}"#;
        for status in [200, 400] {
            assert!(matches!(
                read(status, denied, now()),
                Err(StoreError::TokenThrottled)
            ));
            for code in ["invalid_client", "invalid_code", "invalid_client_secret"] {
                let body = format!(r#"{{"error":"{code}"}}"#);
                let error = read(status, body.as_bytes(), now()).unwrap_err();
                let detail = code.to_owned();
                assert_eq!(error, StoreError::Unauthorized { detail });
            }
        }
        for body in [
            "",
            "{}",
            "<html>",
            r#"{"access_token":""}"#,
            r#"{"access_token":"a\nb"}"#,
        ] {
            let error = read(200, body.as_bytes(), now()).unwrap_err();
            assert!(matches!(error, StoreError::Transient { .. }), "{body}");
        }
    }

    #[test]
    fn the_api_domain_is_taken_only_where_a_token_may_go() {
        let domain = |text: &str| {
            let body = serde_json::json!({"access_token": "a", "api_domain": text}).to_string();
            read(200, body.as_bytes(), now()).unwrap().api_domain
        };
        assert!(domain("https://www.zohoapis.eu").is_some());
        assert!(domain("http://127.0.0.1:8080").is_some());
        for bad in [
            "http://www.zohoapis.eu",
            "https://a@b.test",
            "javascript:x",
            "",
        ] {
            assert!(domain(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_token_is_never_printed() {
        let token = read(200, br#"{"access_token":"1000.hidden"}"#, now()).unwrap();
        assert_eq!(token.token.expose_secret(), "1000.hidden");
        assert!(!format!("{token:?}").contains("hidden"));
    }

    proptest! {
        #[test]
        fn any_body_gives_a_token_or_an_error(status in 100u16..600, body in any::<Vec<u8>>()) {
            let _ = read(status, &body, now());
        }

        #[test]
        fn any_expiry_gives_a_token_that_is_fresh_now(seconds in any::<i64>()) {
            let body = serde_json::json!({"access_token": "a", "expires_in": seconds}).to_string();
            let token = read(200, body.as_bytes(), now()).unwrap();
            prop_assert!(now() < token.refresh_at && token.refresh_at < token.expires_at);
        }
    }
}
