//! The configuration of a local stack.

use std::path::Path;

use sendtrail_simulator::crm::{ClientSpec, RefreshToken};

/// How long things take in a local stack; texts as in the configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// The side-effect function's time-out.
    pub(crate) side_effect: &'static str,
    /// How far clocks may differ.
    pub(crate) clock_margin: &'static str,
    /// Kept back for recording.
    pub(crate) record_reserve: &'static str,
    /// Wait between claim and proof.
    pub(crate) claim_settle: &'static str,
    /// The longest CRM request.
    pub(crate) crm_request: &'static str,
    /// Time between two ticks.
    pub(crate) tick: &'static str,
    /// How old a listed row must be to be written without reading it again.
    pub(crate) list_lag: &'static str,
    /// To the first look-up.
    pub(crate) first: &'static str,
    /// Between look-ups.
    pub(crate) every: &'static str,
    /// From claim to deadline.
    pub(crate) give_up: &'static str,
    /// The deadline of the hasty driver.
    pub(crate) hasty: &'static str,
    /// How long an accepted letter may be unknown to the API.
    pub(crate) not_found_grace: &'static str,
    /// How long a letter may still turn up.
    pub(crate) find_grace: &'static str,
}

impl Timing {
    /// For the demo and tests: seconds instead of hours.
    pub(crate) const QUICK: Self = Self {
        side_effect: "10s",
        clock_margin: "1s",
        record_reserve: "4s",
        claim_settle: "1s",
        crm_request: "3s",
        tick: "1s",
        list_lag: "1s",
        first: "1s",
        every: "2s",
        give_up: "2m",
        hasty: "6s",
        not_found_grace: "4s",
        find_grace: "4s",
    };

    /// For a person who looks on.
    pub(crate) const CALM: Self = Self {
        side_effect: "30s",
        clock_margin: "5s",
        record_reserve: "10s",
        claim_settle: "2s",
        crm_request: "5s",
        tick: "5s",
        list_lag: "5s",
        first: "5s",
        every: "30s",
        give_up: "1h",
        hasty: "30s",
        not_found_grace: "30s",
        find_grace: "30s",
    };
}

/// The OAuth client's id in the simulated CRM.
const CLIENT_ID: &str = "1000.LOCALCLIENT";

/// The stage of every local stack.
pub(crate) const STAGE: &str = "local";

/// The client the simulated CRM knows, with these secrets.
pub(super) fn client(secret: impl Fn(&str) -> String) -> ClientSpec {
    let token = |function: &str| RefreshToken {
        token: secret(&format!("crm-refresh-{function}")),
        scopes: Vec::new(),
    };
    ClientSpec {
        id: CLIENT_ID.to_owned(),
        secret: secret("crm-client-secret"),
        refresh_tokens: ["intake", "side-effect", "poller", "operator"]
            .map(token)
            .into(),
    }
}

/// The text of the configuration file.
pub(super) fn text(
    crm_url: &str,
    data: &Path,
    timing: &Timing,
    list_lag: &str,
    secrets: &[&str],
) -> String {
    let Timing {
        side_effect,
        clock_margin,
        record_reserve,
        claim_settle,
        crm_request,
        tick,
        ..
    } = timing;
    let listed: Vec<_> = secrets
        .iter()
        .map(|name| format!("{name} = \"file:secrets/{name}\""))
        .collect();
    // Every simulated vendor knows the one key of the send API.
    let listed = listed.join("\n") + "\ncloudsign-client-id = \"file:secrets/lob-key\"";
    // A TOML text may hold what a path may hold, once it is escaped as JSON is.
    let cache = serde_json::Value::from(data.join("tokens").display().to_string());
    format!(
        r#"# Written by `sendtrail local` at every start.
stage = "{STAGE}"

[crm]
accounts_url = "{crm_url}"
api_url = "{crm_url}"
client_id = "{CLIENT_ID}"
client_secret = "secret:crm-client-secret"
connect_timeout = "1s"
request_timeout = "{crm_request}"
token_cache = {cache}

[crm.refresh_token]
intake = "secret:crm-refresh-intake"
side_effect = "secret:crm-refresh-side-effect"
poller = "secret:crm-refresh-poller"
operator = "secret:crm-refresh-operator"

[intake]
token_key = "secret:token-key"

[[intake.signing_key]]
name = "k1"
secret = "secret:intake-k1"

[side_effect]
timeout = "{side_effect}"
claim_settle = "{claim_settle}"
clock_margin = "{clock_margin}"
record_reserve = "{record_reserve}"
connect_timeout = "1s"

[[side_effect.signing_key]]
name = "k1"
secret = "secret:side-effect-k1"

[seal]
key = "secret:seal-key"

[poller]
timeout = "30s"
interval = "{tick}"
rate_per_second = 100
row_timeout = "10s"
reserve = "5s"
list_lag = "{list_lag}"

[secrets]
{listed}
"#
    )
}
