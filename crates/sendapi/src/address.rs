//! The address of a request: the file's base and a path with values in it that cannot leave it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::{Host, Url};

use crate::template::{BadValue, Part, Scope, Slot, Template, Values, text_of};

/// Everything but the unreserved characters of RFC 3986.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Where an API is. Credentials go to it and to no other host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Base(String);

impl Base {
    /// Parses the base address: https, or http on the loopback, and a host in `allowed`.
    pub(crate) fn parse(text: &str, allowed: &[String]) -> Result<Self, String> {
        let url = allowed_url(text, allowed)?;
        if url.query().is_some() {
            return Err("must end with its path".to_owned());
        }
        Ok(Self(url.as_str().trim_end_matches('/').to_owned()))
    }
}

/// Parses an address that may be called: https, or http on the loopback, a host in `allowed`, and neither
/// credentials nor a fragment in it.
pub(crate) fn allowed_url(text: &str, allowed: &[String]) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|bad| format!("is no address: {bad}"))?;
    let host = url.host().ok_or("has no host")?;
    let loopback = match &host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    };
    match (url.scheme(), loopback) {
        ("https", _) | ("http", true) => {}
        ("http", false) => return Err("must be https; http is for the loopback".to_owned()),
        _ => return Err("must be https".to_owned()),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not hold credentials".to_owned());
    }
    if url.fragment().is_some() {
        return Err("must end with its path".to_owned());
    }
    let host = host.to_string();
    if !allowed.contains(&host) {
        return Err(format!("its host {host} is not in allow_hosts"));
    }
    Ok(url)
}

/// An address an API gave us, such as one to upload to: the rules of [`allowed_url`], and no other port
/// than that of https, lest an answer reach a service beside the named one.
#[cfg(feature = "submit")]
pub(crate) fn captured_url(text: &str, allowed: &[String]) -> Result<Url, BadValue> {
    let url = allowed_url(text, allowed).map_err(|_| BadValue::Url)?;
    if url.scheme() == "https" && url.port().is_some() && !allowed_loopback(&url) {
        return Err(BadValue::Url);
    }
    Ok(url)
}

#[cfg(feature = "submit")]
fn allowed_loopback(url: &Url) -> bool {
    matches!(url.host(), Some(Host::Ipv4(ip)) if ip.is_loopback())
        || matches!(url.host(), Some(Host::Ipv6(ip)) if ip.is_loopback())
        || url.host_str() == Some("localhost")
}

/// A path under the base, with a query where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathTemplate(Template);

impl PathTemplate {
    /// Parses the text and checks it against `base` with plain values.
    pub(crate) fn parse(text: &str, scope: Scope<'_>, base: Option<&Base>) -> Result<Self, String> {
        if !text.starts_with('/') {
            return Err("must begin with /".to_owned());
        }
        let template = Template::parse(text, scope)?;
        if template.optional {
            return Err("a placeholder with ? cannot stand in a path".to_owned());
        }
        let path = Self(template);
        let plain = path.fill(|_| Ok("x".to_owned())).unwrap_or_default();
        // The check needs some host: a wrong base is a mistake of its own.
        let stand_in = Base("https://host.invalid".to_owned());
        match base.unwrap_or(&stand_in).join(&plain) {
            Some(_) => Ok(path),
            None => Err("must be a plain path: no empty or dot segment, space, # or \\".to_owned()),
        }
    }

    /// Whether the id of a draft stands in it.
    pub(crate) fn names_draft(&self) -> bool {
        self.0.parts.iter().any(|part| match part {
            Part::Slot(Slot::DraftId | Slot::Captured(_)) => true,
            Part::Slot(_) | Part::Text(_) => false,
        })
    }

    /// Whether our reference stands in it.
    pub(crate) fn names_reference(&self) -> bool {
        self.0.names_reference()
    }

    /// The address for these values.
    pub(crate) fn address(&self, base: &Base, values: &Values<'_>) -> Result<Url, BadValue> {
        let filled = self.fill(|slot| {
            let text = text_of(slot, values)?;
            Ok(utf8_percent_encode(&text, VALUE).to_string())
        })?;
        base.join(&filled).ok_or(BadValue::Path)
    }

    fn fill(&self, value: impl Fn(&Slot) -> Result<String, BadValue>) -> Result<String, BadValue> {
        let mut filled = String::new();
        for part in &self.0.parts {
            match part {
                Part::Text(literal) => filled.push_str(literal),
                Part::Slot(slot) => filled.push_str(&value(slot)?),
            }
        }
        Ok(filled)
    }
}

impl Base {
    /// Base and path as one address, only if the address says exactly that and nothing was resolved away:
    /// a dot segment, a second slash or a fragment would show as a difference.
    fn join(&self, path: &str) -> Option<Url> {
        let whole = format!("{}{path}", self.0);
        let url = Url::parse(&whole).ok()?;
        let plain = path.split('?').next()?;
        // A slash at the end is part of some APIs' paths; values are never empty.
        let inner = plain.strip_prefix('/')?;
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        let clean = plain == "/" || inner.split('/').all(|s| !["", ".", ".."].contains(&s));
        (clean && url.as_str() == whole && url.fragment().is_none()).then_some(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn base() -> Base {
        Base::parse("https://api.example.com/v1", &["api.example.com".into()]).unwrap()
    }

    fn letters(id: &str) -> Result<Url, BadValue> {
        let path = PathTemplate::parse("/letters/{{id}}?a[b]={{id}}", Scope::LookUp, Some(&base()));
        let values = Values {
            id,
            ..Values::default()
        };
        path.unwrap().address(&base(), &values)
    }

    #[test]
    fn a_base_is_https_or_loopback_and_its_host_is_allowed() {
        let hosts = ["api.example.com", "127.0.0.1", "localhost", "[::1]"].map(str::to_owned);
        for good in [
            "https://api.example.com/v1/",
            "https://api.example.com:8443",
            "http://127.0.0.1:9/x",
            "http://localhost:9",
            "http://[::1]:9",
        ] {
            assert!(Base::parse(good, &hosts).is_ok(), "{good}");
        }
        for bad in [
            "http://api.example.com",
            "https://other.example.com",
            "https://api.example.com.evil.org",
            "https://user:pw@api.example.com",
            "https://api.example.com?x=1",
            "https://api.example.com#x",
            "ftp://api.example.com",
            "file:///etc/passwd",
            "api.example.com",
            "",
        ] {
            assert!(Base::parse(bad, &hosts).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_captured_address_goes_to_a_listed_host_over_https_only() {
        let hosts = ["up.example.com", "127.0.0.1"].map(str::to_owned);
        let good = "https://up.example.com/a/b?X-Sig=c%2Fd&e=..";
        assert_eq!(captured_url(good, &hosts).unwrap().as_str(), good);
        assert!(captured_url("http://127.0.0.1:9/x?y", &hosts).is_ok());
        for bad in [
            "http://up.example.com/",
            "https://up.example.com:8443/",
            "https://evil.example.com/",
            "https://up.example.com.evil.org/",
            "https://up.example.com@evil.org/",
            "https://user@up.example.com/",
            "https://up.example.com/#x",
            "//up.example.com/",
            "/a",
            "",
        ] {
            assert_eq!(captured_url(bad, &hosts), Err(BadValue::Url), "{bad}");
        }
    }

    #[test]
    fn a_path_in_the_file_is_plain() {
        for bad in [
            "letters",
            "//evil.org/x",
            "/../x",
            "/a/./b",
            "/a//b",
            "/a#b",
            "/a b",
            "/a\\b",
            "/%2e%2e/x",
            "/{{to.name}}",
            "/{{id?}}",
            "/a//",
            "//",
        ] {
            assert!(
                PathTemplate::parse(bad, Scope::LookUp, Some(&base())).is_err(),
                "{bad}"
            );
        }
        assert!(PathTemplate::parse("/a/", Scope::LookUp, Some(&base())).is_ok());
    }

    #[test]
    fn values_are_percent_encoded_in_path_and_query() {
        let url = letters("a/b?c&d=é%#").unwrap();
        let encoded = "a%2Fb%3Fc%26d%3D%C3%A9%25%23";
        assert_eq!(
            url.as_str(),
            format!("https://api.example.com/v1/letters/{encoded}?a[b]={encoded}")
        );
    }

    #[test]
    fn dot_segments_are_refused() {
        for bad in [".", ".."] {
            assert_eq!(letters(bad), Err(BadValue::Path), "{bad}");
        }
        assert!(letters("...").is_ok());
        assert!(letters("%2e%2e").unwrap().as_str().contains("%252e"));
    }

    proptest! {
        #[test]
        fn no_value_changes_the_host_or_adds_a_segment(id in any::<String>()) {
            if let Ok(url) = letters(&id) {
                prop_assert_eq!(url.host_str(), Some("api.example.com"));
                prop_assert_eq!(url.scheme(), "https");
                prop_assert_eq!(url.port(), None);
                prop_assert_eq!(url.path_segments().unwrap().count(), 3);
                prop_assert_eq!(url.query_pairs().count(), 1);
                prop_assert_eq!(url.fragment(), None);
            }
        }

        #[test]
        fn no_captured_address_leaves_the_listed_hosts(
            text in "(https?:)?[/\\\\]{0,3}[a-z.@:%0-9\\[\\]?#]{0,10}(up\\.example\\.com)?[ -~]{0,16}|.{0,40}",
        ) {
            let hosts = ["up.example.com".to_owned()];
            if let Ok(url) = captured_url(&text, &hosts) {
                prop_assert_eq!(url.host_str(), Some("up.example.com"));
                prop_assert_eq!((url.scheme(), url.port()), ("https", None));
                prop_assert_eq!((url.username(), url.password()), ("", None));
            }
        }

        #[test]
        fn url_like_values_stay_values(id in "[./\\\\@:?#%a2e]{1,12}") {
            if let Ok(url) = letters(&id) {
                prop_assert!(url.as_str().starts_with("https://api.example.com/v1/letters/"));
                prop_assert_eq!(url.path_segments().unwrap().count(), 3);
            }
        }

        #[test]
        fn parsing_never_panics(text in any::<String>()) {
            let _ = Base::parse(&text, &[]);
            let _ = PathTemplate::parse(&format!("/{text}"), Scope::Step(&[]), None);
        }
    }
}
