//! What callers are told when the CRM or a document stands in the way.

use sendtrail_core::input::BadInput;
use sendtrail_core::ports::{PublicFailure, StoreError};
use sendtrail_document::{DocumentError, Unusable};
use sendtrail_door::{Code, FieldError, Refusal};

/// The CRM did not do what it was asked.
pub(crate) fn store(error: &StoreError) -> Refusal {
    let refusal = match error.public() {
        PublicFailure::NotFound => Refusal::new(Code::NotFound, "no_history_record"),
        PublicFailure::RateLimited { retry_after } => {
            let refusal = Refusal::new(Code::RateLimited, "crm_limit");
            match retry_after {
                Some(seconds) => refusal.with_retry_after(seconds),
                None => refusal,
            }
        }
        PublicFailure::Unavailable => Refusal::new(Code::CrmUnavailable, "crm_failed"),
        PublicFailure::Internal => Refusal::internal(error.to_string()),
    };
    refusal.with_cause(error.to_string())
}

/// The source file cannot be previewed.
pub(crate) fn document(error: &DocumentError) -> Refusal {
    match error {
        DocumentError::Unusable(reason) => unusable(*reason),
        DocumentError::Missing => {
            Refusal::new(Code::SourceUnavailable, "no_source_file").with_detail(error.to_string())
        }
        DocumentError::Store(error) => match error {
            // The history record has just been read, so it is this file that is withheld.
            StoreError::Unauthorized { .. } | StoreError::Refused { .. } => {
                Refusal::new(Code::SourceUnavailable, "source_refused")
                    .with_detail("The CRM does not let this installation read the source file.")
                    .with_cause(error.to_string())
            }
            StoreError::NotFound
            | StoreError::RateLimited { .. }
            | StoreError::TokenThrottled
            | StoreError::TooLarge { .. }
            | StoreError::Transient { .. }
            | StoreError::Malformed { .. } => store(error),
        },
    }
}

/// The bytes are no document that can be sent.
pub(crate) fn unusable(reason: Unusable) -> Refusal {
    let code = match reason {
        Unusable::TooLarge { .. } => Code::TooLarge,
        Unusable::Empty
        | Unusable::NotPdf
        | Unusable::CutShort
        | Unusable::Encrypted
        | Unusable::Unreadable => Code::DocumentUnusable,
    };
    Refusal::new(code, reason.code()).with_detail(reason.to_string())
}

/// The input on the record was made unreadable. What stands there is not repeated to the caller.
pub(crate) fn unreadable_input(cause: String) -> Refusal {
    Refusal::new(Code::RecordChanged, "input_unreadable")
        .with_detail("The input on the history record cannot be read. Save it again.")
        .with_cause(cause)
}

/// Where the input of a body is wrong.
pub(crate) fn bad_input(error: BadInput) -> FieldError {
    match error {
        BadInput::Field { pointer, detail } => FieldError::new(pointer, detail),
        BadInput::TooLarge | BadInput::NotJson => FieldError::new("", error.to_string()),
    }
}
