//! The shape of a Function URL event. Only what the door needs; everything else is ignored.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

/// Most header names of one request. Far above what the gateway lets through.
const MAX_HEADERS: usize = 256;

/// A text that is borrowed from the event where it has no escapes. A plain `Option<Cow<str>>`
/// would always be copied.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// The event. Every member may be absent or null.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event<'a> {
    #[serde(borrow, default)]
    pub(crate) raw_path: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) raw_query_string: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) headers: Option<Headers<'a>>,
    #[serde(borrow, default)]
    pub(crate) request_context: Option<Context<'a>>,
    #[serde(borrow, default)]
    pub(crate) body: Option<Text<'a>>,
    #[serde(default)]
    pub(crate) is_base64_encoded: Option<bool>,
}

/// `requestContext`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Context<'a> {
    #[serde(borrow, default)]
    pub(crate) http: Option<Http<'a>>,
    #[serde(borrow, default)]
    pub(crate) request_id: Option<Text<'a>>,
    #[serde(default)]
    pub(crate) time_epoch: Option<i64>,
}

/// `requestContext.http`.
#[derive(Debug, Deserialize)]
pub(crate) struct Http<'a> {
    #[serde(borrow, default)]
    pub(crate) method: Option<Text<'a>>,
}

/// Headers by name in any case. A name that comes twice is joined by a comma, as a gateway does.
#[derive(Debug, Default)]
pub(crate) struct Headers<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Headers<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_ref())
    }

    fn add(&mut self, name: Cow<'a, str>, value: Cow<'a, str>) {
        match self
            .0
            .iter_mut()
            .find(|(key, _)| key.eq_ignore_ascii_case(&name))
        {
            Some((_, first)) => {
                let first = first.to_mut();
                first.push(',');
                first.push_str(&value);
            }
            None => self.0.push((name, value)),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Headers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HeadersVisitor;
        impl<'de> Visitor<'de> for HeadersVisitor {
            type Value = Headers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of header names to texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut headers = Headers::default();
                while let Some((Text(name), value)) =
                    map.next_entry::<Text<'de>, Option<Text<'de>>>()?
                {
                    if headers.0.len() == MAX_HEADERS {
                        return Err(A::Error::custom("too many headers"));
                    }
                    if let Some(Text(value)) = value {
                        headers.add(name, value);
                    }
                }
                Ok(headers)
            }
        }
        deserializer.deserialize_map(HeadersVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_names_match_in_any_case_and_repeats_are_joined() {
        let json = r#"{"Webhook-Id":"a","X":null,"webhook-id":"b","WEBHOOK-ID":"c"}"#;
        let headers: Headers<'_> = serde_json::from_str(json).unwrap();
        assert_eq!(headers.get("webhook-ID"), Some("a,b,c"));
        assert_eq!(headers.get("x"), None);
        assert_eq!(headers.get("webhook"), None);
    }

    #[test]
    fn a_flood_of_headers_is_refused() {
        let map = |count: usize| {
            let entries: Vec<_> = (0..count).map(|n| format!("\"h{n}\":\"v\"")).collect();
            format!("{{{}}}", entries.join(","))
        };
        assert!(serde_json::from_str::<Headers<'_>>(&map(MAX_HEADERS)).is_ok());
        assert!(serde_json::from_str::<Headers<'_>>(&map(MAX_HEADERS + 1)).is_err());
    }

    #[test]
    fn a_body_without_escapes_is_borrowed() {
        let event: Event<'_> = serde_json::from_str(r#"{"body":"JVBERi0="}"#).unwrap();
        assert!(matches!(event.body, Some(Text(Cow::Borrowed("JVBERi0=")))));
    }
}
