//! `GET /v1/histories/{id}/preview`: the PDF, and the receipt for having seen it.

use sendtrail_core::flows::{self, Previewable};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::SealMac;
use sendtrail_door::{Claims, Code, Expected, Purpose, Refusal, Request, Response, verify_bearer};

use crate::app::{App, Crm, World};
use crate::refusals;
use crate::save::{expiry, saved_input};
use crate::trace::Trace;

/// How a preview is asked for.
enum Asked {
    /// By the widget, which holds the confirm ticket too.
    Widget(Claims),
    /// By a link: whoever follows it looks, and cannot confirm.
    Link(Claims),
}

impl<S: Crm, W: World, M: SealMac> App<S, W, M> {
    pub(crate) async fn preview(
        &self,
        request: &Request<'_>,
        id: &HistoryId,
        trace: &mut Trace,
    ) -> Result<Response, Refusal> {
        let asked = self.asked(request, id)?;
        let (Asked::Widget(claims) | Asked::Link(claims)) = &asked;
        let saved = saved_input(claims)?;
        let (record, input) = match flows::previewable(&self.crm, id, claims.rev, &saved).await {
            Previewable::Yes { record, input } => (record, input),
            Previewable::Stale => return Err(Refusal::new(Code::StaleTicket, "stale_preview")),
            Previewable::Unusable(cause) => return Err(refusals::unreadable_input(cause)),
            Previewable::Failed(error) => return Err(refusals::store(&error)),
        };
        let limit = self.settings.max_document_bytes;
        let pdf = sendtrail_document::fetch(&self.crm, &input.source, limit)
            .await
            .map_err(|error| refusals::document(&error))?;
        let sha256 = pdf.sha256().to_string();
        let response =
            Response::pdf(pdf.bytes())?.with_header("sendtrail-document-sha256", &sha256);
        trace.document_bytes = Some(pdf.bytes().len());
        trace.done("previewed", &record.id, record.state);
        Ok(match asked {
            Asked::Widget(claims) => {
                let receipt = self.settings.token_key.issue(&Claims {
                    purpose: Purpose::Receipt,
                    document_sha256: Some(sha256),
                    expires_at: expiry(request, self.settings.confirm_ttl),
                    ..claims
                });
                response.with_header("sendtrail-receipt", &receipt)
            }
            Asked::Link(_) => response,
        })
    }

    fn asked(&self, request: &Request<'_>, id: &HistoryId) -> Result<Asked, Refusal> {
        let expected = Expected {
            purpose: Purpose::Preview,
            history_id: id.as_str(),
            // The record is not read yet; an older revision or other input is told as stale, not as
            // unauthorised.
            rev: None,
            input_sha256: None,
            document_sha256: None,
        };
        let key = &self.settings.token_key;
        let is_link = self.settings.preview_link && request.header("authorization").is_none();
        match request.query("token").filter(|_| is_link) {
            Some(token) => key
                .verify(token, &expected, request.arrived_ms())
                .map(Asked::Link)
                .map_err(Refusal::of_token),
            None => verify_bearer(request, key, &expected).map(Asked::Widget),
        }
    }
}
