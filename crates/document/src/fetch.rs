//! Fetches a document.

use bytes::Bytes;
use sendtrail_core::ids::Sha256Hash;
use sendtrail_core::input::Source;
use sendtrail_core::ports::{SourceFiles, StoreError};
use thiserror::Error;

use crate::check::{Unusable, check_pdf};

/// A PDF that passed the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pdf {
    bytes: Bytes,
    sha256: Sha256Hash,
}

impl Pdf {
    /// Checks and hashes these bytes.
    ///
    /// # Errors
    /// [`Unusable`], as [`check_pdf`].
    pub fn new(bytes: Bytes, max_bytes: u64) -> Result<Self, Unusable> {
        check_pdf(&bytes, max_bytes)?;
        let sha256 = Sha256Hash::of(&bytes);
        Ok(Self { bytes, sha256 })
    }

    /// The bytes, exactly as they were fetched.
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The bytes, exactly as they were fetched.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// The hash of the bytes.
    pub const fn sha256(&self) -> Sha256Hash {
        self.sha256
    }
}

/// Why there is no document.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// It is there and cannot be sent.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// The source record has no such file.
    #[error("The source record has no such file. Attach it again, or choose another.")]
    Missing,
    /// The CRM did not give it.
    #[error("the document cannot be read from the CRM")]
    Store(#[source] StoreError),
}

/// Fetches the file that `source` names and checks it.
///
/// # Errors
/// [`DocumentError`]; one file that is too large is [`Unusable::TooLarge`], whoever noticed first.
pub async fn fetch(
    files: &impl SourceFiles,
    source: &Source,
    max_bytes: u64,
) -> Result<Pdf, DocumentError> {
    let (module, record, file) = (&source.module, &source.record_id, &source.file);
    match files.source_file(module, record, file, max_bytes).await {
        Ok(bytes) => Ok(Pdf::new(bytes, max_bytes)?),
        Err(StoreError::TooLarge { .. }) => Err(Unusable::TooLarge { limit: max_bytes }.into()),
        Err(StoreError::NotFound) => Err(DocumentError::Missing),
        Err(
            error @ (StoreError::RateLimited { .. }
            | StoreError::TokenThrottled
            | StoreError::Unauthorized { .. }
            | StoreError::Refused { .. }
            | StoreError::Transient { .. }
            | StoreError::Malformed { .. }),
        ) => Err(DocumentError::Store(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encryption::tests::classic;
    use sendtrail_core::ids::CrmName;
    use sendtrail_core::ports::SourceFile;

    /// One record with one attachment.
    struct Deal(Result<Bytes, StoreError>);

    impl SourceFiles for Deal {
        async fn source_file(
            &self,
            module: &CrmName,
            record: &CrmName,
            file: &SourceFile,
            max_bytes: u64,
        ) -> Result<Bytes, StoreError> {
            let known = (module.as_str(), record.as_str()) == ("Deals", "57");
            if !known || *file != SourceFile::Attachment(name("9")) {
                return Err(StoreError::NotFound);
            }
            let bytes = self.0.clone()?;
            if bytes.len() as u64 > max_bytes {
                return Err(StoreError::TooLarge { limit: max_bytes });
            }
            Ok(bytes)
        }
    }

    fn name(text: &str) -> CrmName {
        CrmName::parse(text).unwrap()
    }

    fn source(attachment: &str) -> Source {
        Source {
            module: name("Deals"),
            record_id: name("57"),
            file: SourceFile::Attachment(name(attachment)),
        }
    }

    #[tokio::test]
    async fn the_bytes_come_back_as_they_are_with_their_hash() {
        let bytes = Bytes::from(classic("/Root 1 0 R"));
        let pdf = fetch(&Deal(Ok(bytes.clone())), &source("9"), 10_000)
            .await
            .unwrap();
        assert_eq!(pdf.sha256(), Sha256Hash::of(&bytes));
        assert_eq!(pdf.into_bytes(), bytes);
    }

    #[tokio::test]
    async fn what_is_no_usable_document_is_told_apart_from_a_crm_that_fails() {
        let pdf = Bytes::from(classic("/Root 1 0 R"));
        let deal = Deal(Ok(pdf));
        let too_large = fetch(&deal, &source("9"), 20).await;
        assert_eq!(too_large, Err(Unusable::TooLarge { limit: 20 }.into()));
        let missing = fetch(&deal, &source("8"), 10_000).await;
        assert_eq!(missing, Err(DocumentError::Missing));
        let html = Deal(Ok(Bytes::from_static(b"<html>")));
        let refused = fetch(&html, &source("9"), 10_000).await;
        assert_eq!(refused, Err(Unusable::NotPdf.into()));
        let failing = Deal(Err(StoreError::TokenThrottled));
        let failed = fetch(&failing, &source("9"), 10_000).await;
        assert_eq!(
            failed,
            Err(DocumentError::Store(StoreError::TokenThrottled))
        );
    }
}
