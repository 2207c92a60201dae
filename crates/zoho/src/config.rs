//! Where the CRM is and what its module and fields are called.

use std::collections::BTreeMap;
use std::fmt;

use jiff::SignedDuration;
use secrecy::SecretString;
use sendtrail_core::ids::CrmName;
use sendtrail_core::settings::{SecretRef, Section};
use url::{Host, Url};

use crate::token::TokenPlace;

/// The kinds of automation a write can let the CRM run.
const TRIGGERS: [&str; 5] = [
    "workflow",
    "approval",
    "blueprint",
    "pathfinder",
    "orchestration",
];

/// The `[crm]` section.
#[derive(Debug, Clone)]
pub struct Config {
    /// The accounts host, which gives tokens.
    pub accounts_url: Url,
    /// The API host, used until a token answer names another.
    pub api_url: Url,
    /// The OAuth client's id.
    pub client_id: String,
    /// The OAuth client's secret.
    pub client_secret: SecretRef,
    /// One refresh token per function, since the CRM limits tokens by refresh token.
    pub refresh_token: RefreshTokens,
    /// The longest time one request may take, 1 s to 5 min. Files may take three times as long.
    pub request_timeout: SignedDuration,
    /// The longest time to a connection, shorter than the request's.
    pub connect_timeout: SignedDuration,
    /// API name of the history module.
    pub module: CrmName,
    /// API names of its fields.
    pub fields: Fields,
    /// Automation that may run after writes a team hangs its notifications on.
    pub notify: Vec<String>,
    /// Where the access token outlives a process.
    pub token_cache: TokenPlace,
}

/// Which secret holds each function's refresh token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshTokens {
    /// For `intake`.
    pub intake: SecretRef,
    /// For `side-effect`.
    pub side_effect: SecretRef,
    /// For `poller`.
    pub poller: SecretRef,
    /// For the command an operator runs.
    pub operator: Option<SecretRef>,
}

/// API names of the history module's fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// Picklist: the state.
    pub state: CrmName,
    /// Multi-line large: the progress.
    pub progress: CrmName,
    /// Multi-line large: the input.
    pub input: CrmName,
    /// Date-time: the next check.
    pub next_check_at: CrmName,
    /// Date-time: the deadline.
    pub deadline: CrmName,
    /// Single line, unique: the idempotency key.
    pub request_key: CrmName,
    /// Single line: the send API's id.
    pub external_id: CrmName,
    /// File upload: the document.
    pub document: CrmName,
    /// Single line: the document's hash.
    pub document_sha256: CrmName,
    /// Single line: the module of the source record.
    pub source_module: CrmName,
    /// Single line: the id of the source record.
    pub source_record: CrmName,
}

/// What one function needs to get tokens. Never printed.
#[derive(Clone)]
pub struct Secrets {
    /// The OAuth client's secret.
    pub client_secret: SecretString,
    /// The refresh token of this function.
    pub refresh_token: SecretString,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(..)")
    }
}

impl Config {
    /// Reads the `[crm]` section. Mistakes are left with its reader; with any of them the answer is `None`
    /// or must not be used.
    pub fn read(crm: &Section<'_, '_>) -> Option<Self> {
        let accounts_url = base_url(crm, "accounts_url");
        let api_url = base_url(crm, "api_url");
        let client_id = crm.text("client_id");
        let client_secret = crm.secret("client_secret");
        let (request_timeout, connect_timeout) = timeouts(crm);
        let module = name(crm, "module", "Send_Histories");
        let notify = notify(crm);
        let token_cache = TokenPlace::read(crm);
        let fields = Fields::read(&crm.section("fields"));
        let refresh_token = RefreshTokens::read(&crm.section("refresh_token"));
        Some(Self {
            accounts_url: accounts_url?,
            api_url: api_url?,
            client_id: client_id?,
            client_secret: client_secret?,
            refresh_token: refresh_token?,
            request_timeout,
            connect_timeout,
            module: module?,
            fields: fields?,
            notify,
            token_cache,
        })
    }
}

impl RefreshTokens {
    fn read(section: &Section<'_, '_>) -> Option<Self> {
        let intake = section.secret("intake");
        let side_effect = section.secret("side_effect");
        let poller = section.secret("poller");
        let operator = section.optional_secret("operator");
        Some(Self {
            intake: intake?,
            side_effect: side_effect?,
            poller: poller?,
            operator,
        })
    }
}

impl Fields {
    fn read(section: &Section<'_, '_>) -> Option<Self> {
        let field = |key, default| name(section, key, default);
        let read = Self {
            state: field("state", "Delivery_State")?,
            progress: field("progress", "Progress_JSON")?,
            input: field("input", "Input_JSON")?,
            next_check_at: field("next_check_at", "Next_Check_At")?,
            deadline: field("deadline", "Deadline")?,
            request_key: field("request_key", "Request_Key")?,
            external_id: field("external_id", "External_Id")?,
            document: field("document", "Document")?,
            document_sha256: field("document_sha256", "Document_SHA256")?,
            source_module: field("source_module", "Source_Module")?,
            source_record: field("source_record", "Source_Record")?,
        };
        read.report_repeats(section);
        Some(read)
    }

    /// Two names for one field would let one value overwrite the other.
    fn report_repeats(&self, section: &Section<'_, '_>) {
        let mut seen = BTreeMap::new();
        for (key, name) in self.keyed() {
            if let Some(first) = seen.insert(name.as_str(), key) {
                section.wrong(key, &format!("names the same field as {first}"));
            }
        }
    }

    /// Every name.
    pub(crate) fn all(&self) -> [&CrmName; 11] {
        self.keyed().map(|(_, name)| name)
    }

    fn keyed(&self) -> [(&'static str, &CrmName); 11] {
        [
            ("state", &self.state),
            ("progress", &self.progress),
            ("input", &self.input),
            ("next_check_at", &self.next_check_at),
            ("deadline", &self.deadline),
            ("request_key", &self.request_key),
            ("external_id", &self.external_id),
            ("document", &self.document),
            ("document_sha256", &self.document_sha256),
            ("source_module", &self.source_module),
            ("source_record", &self.source_record),
        ]
    }
}

fn name(section: &Section<'_, '_>, key: &str, default: &str) -> Option<CrmName> {
    CrmName::parse(&section.text_or(key, default))
        .map_err(|bad| section.wrong(key, &format!("must be an API name: {}", bad.expected)))
        .ok()
}

fn timeouts(crm: &Section<'_, '_>) -> (SignedDuration, SignedDuration) {
    let request = crm.duration_or("request_timeout", "10s");
    let connect = crm.duration_or("connect_timeout", "3s");
    if request < SignedDuration::from_secs(1) || request > SignedDuration::from_mins(5) {
        crm.wrong("request_timeout", "must be from 1s to 5m");
    }
    if !connect.is_positive() || connect >= request {
        crm.wrong("connect_timeout", "must be shorter than request_timeout");
    }
    (request, connect)
}

fn notify(crm: &Section<'_, '_>) -> Vec<String> {
    let triggers = crm.texts("notify");
    if triggers.iter().any(|t| !TRIGGERS.contains(&t.as_str())) {
        crm.wrong(
            "notify",
            &format!("must be a list of: {}", TRIGGERS.join(", ")),
        );
    }
    triggers
}

fn base_url(crm: &Section<'_, '_>, key: &str) -> Option<Url> {
    let text = crm.text(key)?;
    let url = parse_base_url(&text);
    if url.is_none() {
        crm.wrong(
            key,
            "must be https://HOST (http:// only for this machine), without path, query or user",
        );
    }
    url
}

/// The address of a host and nothing more: https, or http to this machine.
pub(crate) fn parse_base_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let bare = url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    let private = match url.host()? {
        Host::Domain(domain) => domain == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    let safe = url.scheme() == "https" || (url.scheme() == "http" && private);
    (bare && safe).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sendtrail_core::settings::Reader;

    const GOOD: &str = r#"
[crm]
accounts_url = "https://accounts.zoho.eu"
api_url = "http://127.0.0.1:8080"
client_id = "1000.X"
client_secret = "secret:client"
notify = ["workflow"]
[crm.fields]
state = "Zustand"
[crm.refresh_token]
intake = "secret:a"
side_effect = "secret:b"
poller = "secret:c"
"#;

    fn read(text: &str) -> (Option<Config>, String) {
        let reader = Reader::new("s.toml", text);
        let config = Config::read(&reader.root().section("crm"));
        let mistakes = reader.finish().err().map(|m| m.to_string());
        (config, mistakes.unwrap_or_default())
    }

    #[test]
    fn names_and_times_have_defaults_and_can_be_set() {
        let (config, mistakes) = read(GOOD);
        assert_eq!(mistakes, "");
        let config = config.unwrap();
        assert_eq!(config.module.as_str(), "Send_Histories");
        assert_eq!(config.fields.state.as_str(), "Zustand");
        assert_eq!(config.fields.deadline.as_str(), "Deadline");
        assert_eq!(config.request_timeout, SignedDuration::from_secs(10));
        assert_eq!(config.connect_timeout, SignedDuration::from_secs(3));
        assert_eq!(config.refresh_token.poller.name(), "c");
        assert_eq!(config.refresh_token.operator, None);
        assert_eq!(config.token_cache, TokenPlace::Process);
    }

    #[test]
    fn every_mistake_is_named_at_once() {
        let (_, mistakes) = read(
            &GOOD
                .replace("https://accounts.zoho.eu", "http://accounts.zoho.eu")
                .replace("[\"workflow\"]", "[\"all\"]")
                .replace("\"secret:client\"", "\"open\"")
                .replace("state = ", "input = \"Deadline\"\nstate = ")
                .replace("client_id", "connect_timeout = \"10s\"\nclient_id"),
        );
        for key in [
            "crm.accounts_url",
            "crm.notify",
            "crm.client_secret",
            "crm.fields.deadline",
            "crm.connect_timeout",
        ] {
            assert!(mistakes.contains(key), "{key} in {mistakes}");
        }
        assert!(!mistakes.contains("open"), "{mistakes}");
    }

    #[test]
    fn plain_http_is_for_this_machine_only() {
        for good in [
            "https://www.zohoapis.com",
            "http://127.0.0.1:1",
            "http://[::1]:1",
            "http://localhost:9/",
        ] {
            assert!(parse_base_url(good).is_some(), "{good}");
        }
        for bad in [
            "http://www.zohoapis.com",
            "http://127.0.0.1.evil.test",
            "ftp://127.0.0.1",
            "https://user@www.zohoapis.com",
            "https://www.zohoapis.com/crm",
            "https://www.zohoapis.com/?a",
            "www.zohoapis.com",
            "",
        ] {
            assert!(parse_base_url(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn secrets_are_never_printed() {
        let secrets = Secrets {
            client_secret: "hidden-one".into(),
            refresh_token: "hidden-two".into(),
        };
        assert!(!format!("{secrets:?}").contains("hidden"));
    }
}
