//! The token endpoint, and the check every API call passes.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{FromRequestParts, RawQuery, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::routing::post;
use serde_json::{Value, json};

use super::config::{ClientSpec, RefreshToken};
use super::limits::{Permit, too_many};
use super::reply::{Problem, Reply};
use super::switches::{ExpiryUnit, InvalidToken};
use super::{App, random_hex};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/oauth/v2/token", post(token))
        .route("/oauth/v2/token/revoke", post(revoke))
}

fn parameters(query: Option<&str>, body: &[u8]) -> Vec<(String, String)> {
    let query = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    query
        .into_owned()
        .chain(url::form_urlencoded::parse(body).into_owned())
        .collect()
}

async fn token(State(app): State<Arc<App>>, RawQuery(query): RawQuery, body: Bytes) -> Reply {
    let given = parameters(query.as_deref(), &body);
    let get = |name: &str| {
        given
            .iter()
            .find(|(key, _)| key == name)
            .map_or("", |(_, value)| value)
    };
    let refused = |error: &str| Ok(Reply::json(StatusCode::OK, json!({"error": error})));
    let answer = (|| {
        let Some(client) = app
            .config
            .clients
            .iter()
            .find(|client| client.id == get("client_id"))
        else {
            return refused("invalid_client");
        };
        if client.secret != get("client_secret") {
            return refused("invalid_client_secret");
        }
        if get("grant_type") != "refresh_token" {
            return refused("unsupported_grant_type");
        }
        let Some(refresh) = client
            .refresh_tokens
            .iter()
            .find(|one| one.token == get("refresh_token"))
        else {
            return refused("invalid_code");
        };
        issue(&app, refresh)
    })();
    answer
        .unwrap_or_else(|problem: Problem| problem.flat())
        .costing(0)
}

fn issue(app: &App, refresh: &RefreshToken) -> Result<Reply, Problem> {
    let (limits, switches, now_ms) = (&app.config.limits, app.switches(), app.clock.now_ms());
    let fresh = format!("1000.{}.{}", random_hex::<16>()?, random_hex::<16>()?);
    let mut store = app.store();
    if store.is_revoked(&refresh.token)? {
        return Ok(Reply::json(
            StatusCode::OK,
            json!({"error": "invalid_code"}),
        ));
    }
    let window_ms = millis(limits.token_window_s);
    if store.issued_since(&refresh.token, now_ms.saturating_sub(window_ms))?
        >= limits.tokens_per_window
    {
        let status =
            StatusCode::from_u16(switches.access_denied_status).unwrap_or(StatusCode::BAD_REQUEST);
        return Ok(Reply::json(
            status,
            json!({
                "error_description": "You have made too many requests continuously. Please try again after some time.",
                "error": "Access Denied",
                "status": "failure",
            }),
        ));
    }
    let life_ms = millis(limits.token_lifetime_s);
    store.issue(
        &fresh,
        &refresh.token,
        now_ms,
        now_ms.saturating_add(life_ms),
        switches.live_tokens,
    )?;
    let mut body = json!({"access_token": fresh, "api_domain": app.url, "token_type": "Bearer"});
    match switches.expiry_unit {
        ExpiryUnit::Seconds => body["expires_in"] = Value::from(limits.token_lifetime_s),
        ExpiryUnit::Milliseconds => {
            body["expires_in"] = Value::from(life_ms);
            body["expires_in_sec"] = Value::from(limits.token_lifetime_s);
        }
    }
    Ok(Reply::json(StatusCode::OK, body))
}

fn millis(seconds: u64) -> i64 {
    i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX)
}

async fn revoke(State(app): State<Arc<App>>, RawQuery(query): RawQuery, body: Bytes) -> Reply {
    let given = parameters(query.as_deref(), &body);
    let token = given
        .iter()
        .find(|(key, _)| key == "token")
        .map_or("", |(_, value)| value);
    let known = app
        .config
        .clients
        .iter()
        .flat_map(|client| &client.refresh_tokens);
    let reply = if known.into_iter().any(|one| one.token == token) {
        match app.store().revoke(token) {
            Ok(()) => Reply::json(StatusCode::OK, json!({"status": "success"})),
            Err(error) => Problem::from(error).flat(),
        }
    } else {
        Reply::json(StatusCode::BAD_REQUEST, json!({"error": "invalid_token"}))
    };
    reply.costing(0)
}

/// An authorised call, counted as under way until it is dropped.
#[derive(Debug)]
pub(crate) struct Caller {
    client: String,
    scopes: Vec<String>,
    mismatch_status: u16,
    _permit: Permit,
}

impl Caller {
    /// Requires one scope, such as `ZohoCRM.coql.READ`.
    pub(crate) fn need(&self, scope: &str) -> Result<(), Problem> {
        if self.scopes.is_empty() || self.scopes.iter().any(|have| covers(have, scope)) {
            return Ok(());
        }
        let status = StatusCode::from_u16(self.mismatch_status).unwrap_or(StatusCode::UNAUTHORIZED);
        Err(Problem::new(
            status,
            "OAUTH_SCOPE_MISMATCH",
            "invalid oauth scope to access this URL",
            json!({}),
        ))
    }

    /// Requires a scope on a module's records, such as `READ`.
    pub(crate) fn need_records(&self, module: &str, operation: &str) -> Result<(), Problem> {
        self.need(&format!("ZohoCRM.modules.{module}.{operation}"))
    }

    /// Counts the call against the smaller limit of COQL and its kind.
    pub(crate) fn sub_permit(&self, app: &App) -> Result<Permit, Reply> {
        let key = format!("{} sub", self.client);
        let most = app.config.limits.sub_concurrency;
        app.load
            .enter(&key, most)
            .ok_or_else(|| too_many(app.switches().limit_body, TOO_MANY))
    }
}

const TOO_MANY: &str = "You crossed the number of requests allowed at once.";
const USED_UP: &str = "Many requests fired than the allowed limit for the past 24 hours.";

/// `ZohoCRM.modules.ALL` covers every module and operation, `ZohoCRM.modules.Deals.ALL` every operation.
fn covers(have: &str, need: &str) -> bool {
    have.eq_ignore_ascii_case(need)
        || have.strip_suffix("ALL").is_some_and(|stem| {
            need.get(..stem.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(stem))
        })
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Reply> {
        let switches = app.switches();
        let header = parts
            .headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let token = header
            .and_then(|text| text.strip_prefix("Zoho-oauthtoken "))
            .unwrap_or_default();
        let found = grant(app, token).map_err(|problem| problem.flat().costing(0))?;
        let Some((client, refresh)) = found else {
            return Err(unauthorised(switches.invalid_token));
        };
        if app.ledger.used(app.clock.now_ms()) >= app.config.limits.credits {
            return Err(too_many(switches.limit_body, USED_UP));
        }
        let permit = app.load.enter(&client.id, app.config.limits.concurrency);
        let permit = permit.ok_or_else(|| too_many(switches.limit_body, TOO_MANY))?;
        if switches.latency_ms > 0 {
            tokio::time::sleep(Duration::from_millis(switches.latency_ms)).await;
        }
        Ok(Self {
            client: client.id.clone(),
            scopes: refresh.scopes.clone(),
            mismatch_status: switches.scope_mismatch_status,
            _permit: permit,
        })
    }
}

fn grant<'a>(
    app: &'a App,
    token: &str,
) -> Result<Option<(&'a ClientSpec, &'a RefreshToken)>, Problem> {
    let Some(row) = app.store().token(token)? else {
        return Ok(None);
    };
    if row.expires_ms <= app.clock.now_ms() {
        return Ok(None);
    }
    Ok(app.config.clients.iter().find_map(|client| {
        client
            .refresh_tokens
            .iter()
            .find(|one| one.token == row.refresh)
            .map(|one| (client, one))
    }))
}

fn unauthorised(code: InvalidToken) -> Reply {
    let (code, message) = match code {
        InvalidToken::InvalidToken => ("INVALID_TOKEN", "invalid oauth token"),
        InvalidToken::AuthenticationFailure => ("AUTHENTICATION_FAILURE", "Authentication failed"),
    };
    Problem::new(StatusCode::UNAUTHORIZED, code, message, json!({}))
        .flat()
        .costing(0)
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn all_covers_what_stands_below_it_only() {
        assert!(covers("ZohoCRM.modules.ALL", "ZohoCRM.modules.Deals.READ"));
        assert!(covers(
            "ZohoCRM.modules.deals.READ",
            "ZohoCRM.modules.Deals.READ"
        ));
        assert!(!covers(
            "ZohoCRM.modules.Deals.ALL",
            "ZohoCRM.modules.Leads.READ"
        ));
        assert!(!covers(
            "ZohoCRM.modules.Deals.READ",
            "ZohoCRM.modules.Deals.UPDATE"
        ));
        assert!(!covers("ZohoCRM.files.ALL", "ZohoCRM.coql.READ"));
    }
}
