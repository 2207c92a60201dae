//! Whose API a request meets: its ids and its form of errors.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Which resource is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Lob's letter.
    Letter,
    /// A message in JSON of no vendor.
    Message,
    /// CloudSign's document.
    Contract,
    /// Resend's e-mail.
    Mail,
    /// Telnyx's fax.
    Fax,
}

impl Kind {
    /// The kind's name, as the store keeps it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Letter => "letter",
            Self::Message => "message",
            Self::Contract => "contract",
            Self::Mail => "mail",
            Self::Fax => "fax",
        }
    }

    pub(crate) fn of(name: &str) -> Self {
        let all = [Self::Message, Self::Contract, Self::Mail, Self::Fax];
        all.into_iter()
            .find(|kind| kind.name() == name)
            .unwrap_or(Self::Letter)
    }

    /// What its ids begin with.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Letter => "ltr_",
            Self::Message => "msg_",
            Self::Contract | Self::Mail | Self::Fax => "",
        }
    }

    /// Where its POST goes.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Letter => "/v1/letters",
            Self::Message => "/v1/messages",
            Self::Contract => "/cloudsign/documents",
            Self::Mail => "/resend/emails",
            Self::Fax => "/telnyx/faxes",
        }
    }

    /// Whether the API knows idempotency keys.
    pub(crate) fn has_keys(self) -> bool {
        match self {
            Self::Letter | Self::Message | Self::Mail => true,
            Self::Contract | Self::Fax => false,
        }
    }

    /// An error in the API's own form.
    pub(crate) fn error(self, status: u16, code: &str, message: &str) -> Response {
        let body = match self {
            Self::Letter | Self::Message => {
                json!({"error": {"code": code, "message": message, "status_code": status}})
            }
            Self::Contract => json!({"error": code, "message": message}),
            Self::Mail => json!({"statusCode": status, "name": code, "message": message}),
            Self::Fax => json!({"errors": [{"code": code, "title": code, "detail": message}]}),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(body)).into_response()
    }
}
