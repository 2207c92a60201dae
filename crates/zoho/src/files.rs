//! Files: the stored document, uploads, and files of source records.

use bytes::Bytes;
use sendtrail_core::ids::{CrmName, FileId, Sha256Hash};
use sendtrail_core::ports::{
    FindTwins, ReadDocument, SourceFile, SourceFiles, StoreDocument, StoreError, Twin,
};
use sendtrail_core::record::HistoryRecord;

use crate::coql::Condition;
use crate::fault::Fault;
use crate::http::Call;
use crate::record::{self, MODIFIED_TIME};
use crate::store::Zoho;

/// The most records that are looked at as twins.
const MOST_TWINS: u32 = 50;

impl Zoho {
    /// The bytes behind a handle in a file-upload field.
    pub(crate) async fn field_file(
        &self,
        module: &str,
        record: &str,
        file: &FileId,
        max_bytes: u64,
    ) -> Result<Bytes, StoreError> {
        let path = [module, record, "actions", "download_fields_attachment"];
        let call = Call::download(&path, max_bytes)
            .with_query("fields_attachment_id", file.as_str().to_owned());
        self.file(&call).await
    }

    async fn file(&self, call: &Call<'_>) -> Result<Bytes, StoreError> {
        let answer = self.caller.call(call).await;
        answer.map_err(Fault::into_error)?.file()
    }

    /// Which fields of a twin hold what.
    pub(crate) fn wanted_of_twins<'a>(
        &'a self,
        source_module: &'a CrmName,
        source_record: &'a CrmName,
        document: &'a str,
    ) -> [(&'a CrmName, &'a str); 3] {
        [
            (&self.fields.source_module, source_module.as_str()),
            (&self.fields.source_record, source_record.as_str()),
            (&self.fields.document_sha256, document),
        ]
    }

    /// The query for the records that hold these values.
    pub(crate) fn twins_query(&self, wanted: &[(&CrmName, &str); 3]) -> String {
        let [module, record, hash] =
            wanted.map(|(name, value)| Condition::compare(name.as_str(), "=", value));
        let condition = module.and(&record).and(&hash);
        let names = [
            &self.fields.state,
            &self.fields.progress,
            &self.fields.external_id,
            &self.fields.next_check_at,
            &self.fields.deadline,
            &self.fields.source_module,
            &self.fields.source_record,
            &self.fields.document_sha256,
        ]
        .map(CrmName::as_str)
        .join(", ");
        format!(
            "select {MODIFIED_TIME}, {names} from {} where {condition} \
             order by id desc limit {MOST_TWINS}",
            self.module
        )
    }
}

impl ReadDocument for Zoho {
    async fn download(&self, record: &HistoryRecord, max_bytes: u64) -> Result<Bytes, StoreError> {
        let file = record.document.as_ref().ok_or(StoreError::NotFound)?;
        let id = record.id.as_str();
        self.field_file(&self.module, id, file, max_bytes).await
    }
}

impl StoreDocument for Zoho {
    async fn upload(&self, name: &str, bytes: Bytes) -> Result<FileId, StoreError> {
        let call = Call::upload(&["files"], &file_name(name), bytes);
        let answer = self.caller.call(&call).await.map_err(Fault::into_error)?;
        let details = answer.written().map_err(Fault::into_error)?;
        let id = details.get("id").and_then(|id| id.as_str());
        id.and_then(|id| FileId::parse(id).ok())
            .ok_or_else(|| StoreError::Malformed {
                detail: "expected the id of the uploaded file".to_owned(),
            })
    }
}

/// A name that every part of the way takes as it is.
fn file_name(name: &str) -> String {
    let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    name.chars()
        .take(100)
        .map(|c| if fit(c) { c } else { '_' })
        .collect()
}

impl SourceFiles for Zoho {
    async fn source_file(
        &self,
        module: &CrmName,
        record: &CrmName,
        file: &SourceFile,
        max_bytes: u64,
    ) -> Result<Bytes, StoreError> {
        let (module, record) = (module.as_str(), record.as_str());
        match file {
            SourceFile::Attachment(id) => {
                let path = [module, record, "Attachments", id.as_str()];
                self.file(&Call::download(&path, max_bytes)).await
            }
            SourceFile::Field(name) => {
                let rows = self.record_rows(module, record, name.as_str()).await?;
                let row = rows.first().ok_or(StoreError::NotFound)?;
                let files = record::files(row, name.as_str());
                let first = files.first().ok_or(StoreError::NotFound)?;
                self.field_file(module, record, first, max_bytes).await
            }
        }
    }
}

impl FindTwins for Zoho {
    async fn twins(
        &self,
        source_module: &CrmName,
        source_record: &CrmName,
        document: &Sha256Hash,
    ) -> Result<Vec<Twin>, StoreError> {
        let document = document.to_string();
        let wanted = self.wanted_of_twins(source_module, source_record, &document);
        let select = self.twins_query(&wanted);
        let answer = self.query(select, MOST_TWINS).await?;
        let mut twins = Vec::new();
        for row in answer.rows()? {
            // The CRM may compare without regard to case.
            let same = |(name, value): &(&CrmName, &str)| {
                record::text(&row, name.as_str()).as_deref() == Some(*value)
            };
            if wanted.iter().all(same) {
                let read = self.row(&row, &answer)?;
                twins.push(Twin {
                    record: read.record,
                    version_at: read.stamp.version_at,
                });
            }
        }
        Ok(twins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_has_nothing_that_needs_quoting() {
        assert_eq!(file_name("a b\"\r\n/ü.pdf"), "a_b_____.pdf");
        assert_eq!(file_name(&"x".repeat(500)).len(), 100);
    }
}
