//! Files on the CRM's source record, from which the document comes.

use std::future::Future;

use bytes::Bytes;

use super::StoreError;
use crate::ids::CrmName;

/// Which file of which source record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceFile {
    /// An attachment of the record.
    Attachment(CrmName),
    /// The first file in a file-upload field of the record.
    Field(CrmName),
}

/// Reads files of source records.
pub trait SourceFiles: Send + Sync {
    /// The bytes of `file` of record `record` in `module`.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is no such record, attachment or file;
    /// [`StoreError::TooLarge`] as soon as more than `max_bytes` would be read.
    fn source_file(
        &self,
        module: &CrmName,
        record: &CrmName,
        file: &SourceFile,
        max_bytes: u64,
    ) -> impl Future<Output = Result<Bytes, StoreError>> + Send;
}
