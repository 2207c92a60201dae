//! Tokens the widget carries: what one may do, with which record and input, at which revision, until when.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::json;

use crate::Secret;
use crate::mac::{Computed, labelled};

/// Longest token that is looked at, in bytes.
pub const MAX_TOKEN_BYTES: usize = 1024;

/// Distinguishes a token from everything else under a MAC.
const LABEL: &str = "sendtrail/token/v1";

/// What a token is good for. A token of one purpose is nothing for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The preview token: read the PDF, change nothing.
    Preview,
    /// The confirm ticket: one half of a confirm.
    Confirm,
    /// The receipt: which bytes a preview showed, the other half of a confirm.
    Receipt,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::Preview => "preview",
            Self::Confirm => "confirm",
            Self::Receipt => "receipt",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Preview, Self::Confirm, Self::Receipt]
            .into_iter()
            .find(|p| p.as_str() == text)
    }
}

/// What a token says. The stage is the key's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// What it is good for.
    pub purpose: Purpose,
    /// Id of the history record.
    pub history_id: String,
    /// The record's `rev` when the token was made.
    pub rev: u64,
    /// SHA-256 of the input text as it was saved, lower hex. `rev` does not rise when a person edits that text.
    pub input_sha256: String,
    /// SHA-256 of the bytes shown, lower hex. A receipt has one; the others need none.
    pub document_sha256: Option<String>,
    /// First Unix second at which it is no longer good.
    pub expires_at: i64,
}

/// What a token must say to pass.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// What it is used for.
    pub purpose: Purpose,
    /// Id of the history record it is used on.
    pub history_id: &'a str,
    /// The record's present `rev`; `None` where it is not known yet and compared later.
    pub rev: Option<u64>,
    /// SHA-256 of the record's input text, lower hex; `None` where it is not known yet and compared later.
    pub input_sha256: Option<&'a str>,
    /// SHA-256 of the bytes in hand, lower hex; `None` where it is not known or does not matter.
    pub document_sha256: Option<&'a str>,
}

/// Why a token is refused. One answer outside for all of them; the exact reason is for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Longer than [`MAX_TOKEN_BYTES`].
    #[error("the token is too long")]
    TooLong,
    /// Not two parts of base64url, or, with a good MAC, not the expected JSON.
    #[error("the token is malformed")]
    Malformed,
    /// Not made with this key.
    #[error("the token's MAC does not hold")]
    BadMac,
    /// Good, but for another purpose.
    #[error("the token is for another purpose")]
    OtherPurpose,
    /// Good, but for another stage.
    #[error("the token is for another stage")]
    OtherStage,
    /// Good, but for another history record.
    #[error("the token is for another record")]
    OtherRecord,
    /// Good, but the record has changed since, or not yet.
    #[error("the token is for another revision")]
    OtherRev,
    /// Good, but the input is not the one that was saved.
    #[error("the token is for other input")]
    OtherInput,
    /// A good receipt for other bytes.
    #[error("the receipt is for another document")]
    OtherDocument,
    /// Good once.
    #[error("the token has expired")]
    Expired,
}

impl TokenError {
    /// A stable word for the log and for tests.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TooLong => "token_too_long",
            Self::Malformed => "token_malformed",
            Self::BadMac => "token_bad_mac",
            Self::OtherPurpose => "token_other_purpose",
            Self::OtherStage => "token_other_stage",
            Self::OtherRecord => "token_other_record",
            Self::OtherRev => "token_other_rev",
            Self::OtherInput => "token_other_input",
            Self::OtherDocument => "token_other_document",
            Self::Expired => "token_expired",
        }
    }
}

/// Makes and checks tokens of one stage.
#[derive(Clone, Debug)]
pub struct TokenKey {
    secret: Secret,
    stage: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireClaims {
    purpose: String,
    stage: String,
    history_id: String,
    rev: u64,
    input_sha256: String,
    #[serde(default)]
    document_sha256: Option<String>,
    expires_at: i64,
}

impl TokenKey {
    /// A token key for `stage`, the short name that is also in `aud`.
    pub fn new(secret: Secret, stage: &str) -> Self {
        Self {
            secret,
            stage: stage.to_owned(),
        }
    }

    /// A token that says `claims`.
    pub fn issue(&self, claims: &Claims) -> String {
        let mut wire = json!({
            "purpose": claims.purpose.as_str(),
            "stage": self.stage,
            "history_id": claims.history_id,
            "rev": claims.rev,
            "input_sha256": claims.input_sha256,
            "expires_at": claims.expires_at,
        });
        if let Some(sha256) = &claims.document_sha256 {
            wire["document_sha256"] = json!(sha256);
        }
        let payload = URL_SAFE_NO_PAD.encode(wire.to_string());
        let tag = self.mac(claims.purpose, &self.stage, &payload).tag();
        format!("{payload}.{}", URL_SAFE_NO_PAD.encode(tag))
    }

    /// Checks a token and gives what it says. `now_ms` is Unix milliseconds, the gateway's
    /// arrival time. The MAC is checked first, then the claims in the order of [`TokenError`].
    pub fn verify(
        &self,
        token: &str,
        expected: &Expected<'_>,
        now_ms: i64,
    ) -> Result<Claims, TokenError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::TooLong);
        }
        let (payload, tag) = token.split_once('.').ok_or(TokenError::Malformed)?;
        let tag = URL_SAFE_NO_PAD
            .decode(tag)
            .map_err(|_| TokenError::Malformed)?;
        if !self
            .mac(expected.purpose, &self.stage, payload)
            .matches(&tag)
        {
            return Err(self.why_not(payload, &tag, expected.purpose));
        }
        let (claims, _) = read_claims(payload).ok_or(TokenError::Malformed)?;
        compare(&claims, expected, now_ms)?;
        Ok(claims)
    }

    /// Purpose and stage are part of the MAC's domain, so a token of another purpose simply does
    /// not hold. This finds out, for the log, whether it was a true token of another kind.
    fn why_not(&self, payload: &str, tag: &[u8], due: Purpose) -> TokenError {
        let Some((claims, stage)) = read_claims(payload) else {
            return TokenError::BadMac;
        };
        if !self.mac(claims.purpose, &stage, payload).matches(tag) {
            return TokenError::BadMac;
        }
        if claims.purpose == due {
            TokenError::OtherStage
        } else {
            TokenError::OtherPurpose
        }
    }

    fn mac(&self, purpose: Purpose, stage: &str, payload: &str) -> Computed {
        labelled(
            self.secret.key(),
            &[LABEL, purpose.as_str(), stage],
            payload.as_bytes(),
        )
    }
}

/// The claims and the stage of a payload.
fn read_claims(payload: &str) -> Option<(Claims, String)> {
    let json = URL_SAFE_NO_PAD.decode(payload).ok()?;
    let wire: WireClaims = serde_json::from_slice(&json).ok()?;
    let claims = Claims {
        purpose: Purpose::parse(&wire.purpose)?,
        history_id: wire.history_id,
        rev: wire.rev,
        input_sha256: wire.input_sha256,
        document_sha256: wire.document_sha256,
        expires_at: wire.expires_at,
    };
    Some((claims, wire.stage))
}

fn compare(claims: &Claims, expected: &Expected<'_>, now_ms: i64) -> Result<(), TokenError> {
    if claims.purpose != expected.purpose {
        return Err(TokenError::OtherPurpose);
    }
    if claims.purpose == Purpose::Receipt && claims.document_sha256.is_none() {
        return Err(TokenError::Malformed);
    }
    if claims.history_id != expected.history_id {
        return Err(TokenError::OtherRecord);
    }
    if expected.rev.is_some_and(|rev| rev != claims.rev) {
        return Err(TokenError::OtherRev);
    }
    if expected
        .input_sha256
        .is_some_and(|due| due != claims.input_sha256)
    {
        return Err(TokenError::OtherInput);
    }
    if expected
        .document_sha256
        .is_some_and(|due| claims.document_sha256.as_deref() != Some(due))
    {
        return Err(TokenError::OtherDocument);
    }
    if now_ms.div_euclid(1000) >= claims.expires_at {
        return Err(TokenError::Expired);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
