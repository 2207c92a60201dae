//! `PUT /v1/histories/{id}/document`: the bytes that were seen are stored and sealed.

use bytes::Bytes;
use jiff::Timestamp;
use sendtrail_core::flows::{self, Confirmed, DocumentToConfirm};
use sendtrail_core::ids::{HistoryId, Sha256Hash};
use sendtrail_core::ports::SealMac;
use sendtrail_document::check_pdf;
use sendtrail_door::{
    Claims, Code, Expected, Purpose, Refusal, Request, Response, verify_bearer, verify_receipt,
};
use serde_json::json;

use crate::app::{App, Crm, World};
use crate::refusals;
use crate::save::saved_input;
use crate::trace::Trace;

impl<S: Crm, W: World, M: SealMac> App<S, W, M> {
    pub(crate) async fn confirm(
        &self,
        request: &Request<'_>,
        id: &HistoryId,
        until: Timestamp,
        trace: &mut Trace,
    ) -> Result<Response, Refusal> {
        let receipt = self.ticket_and_receipt(request, id)?;
        let document = self.confirmable(request, &receipt)?;
        let (sha256, bytes) = (document.sha256, document.bytes.len());
        let (crm, world, mac) = (&self.crm, &self.world, &self.seal_mac);
        let stage = &self.settings.stage;
        let (outcome, record) =
            match flows::confirm(crm, world, mac, stage, id, document, until).await {
                Confirmed::Confirmed(record) => ("confirmed", record),
                Confirmed::Same(record) => ("same_confirm", record),
                Confirmed::Stale => return Err(Refusal::new(Code::StaleTicket, "stale_confirm")),
                Confirmed::Unusable(cause) => return Err(refusals::unreadable_input(cause)),
                Confirmed::ChangedElsewhere => {
                    return Err(Refusal::new(Code::ChangedElsewhere, "conflict"));
                }
                Confirmed::Failed(error) => return Err(refusals::store(&error)),
            };
        trace.document_bytes = Some(bytes);
        trace.done(outcome, &record.id, record.state);
        Response::json(
            200,
            &json!({
                "history_id": record.id.as_str(),
                "state": record.state.label(),
                "document_sha256": sha256.to_string(),
            }),
        )
    }

    /// Both are needed: a preview link shows a PDF and yields neither.
    fn ticket_and_receipt(&self, request: &Request<'_>, id: &HistoryId) -> Result<Claims, Refusal> {
        let key = &self.settings.token_key;
        let expected = |purpose| Expected {
            purpose,
            history_id: id.as_str(),
            rev: None,
            input_sha256: None,
            // The body is not decoded for anybody who cannot show both.
            document_sha256: None,
        };
        let ticket = verify_bearer(request, key, &expected(Purpose::Confirm))?;
        let of_the_same_save = Expected {
            rev: Some(ticket.rev),
            input_sha256: Some(&ticket.input_sha256),
            ..expected(Purpose::Receipt)
        };
        verify_receipt(request, key, &of_the_same_save)
    }

    /// The body, when it is the document the receipt is for.
    fn confirmable(
        &self,
        request: &Request<'_>,
        receipt: &Claims,
    ) -> Result<DocumentToConfirm, Refusal> {
        request.require_content_type("application/pdf")?;
        let limit = self.settings.max_document_bytes;
        let body = request.body(usize::try_from(limit).unwrap_or(usize::MAX))?;
        let sha256 = Sha256Hash::of(&body);
        if receipt.document_sha256.as_deref() != Some(sha256.to_string().as_str()) {
            return Err(Refusal::new(Code::DocumentChanged, "other_bytes"));
        }
        check_pdf(&body, limit).map_err(refusals::unusable)?;
        Ok(DocumentToConfirm {
            bytes: Bytes::from(body.into_owned()),
            sha256,
            rev: receipt.rev,
            input_sha256: saved_input(receipt)?,
        })
    }
}
