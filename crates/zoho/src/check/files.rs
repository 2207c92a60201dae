//! Does the document field keep exactly the bytes that were confirmed?

use bytes::Bytes;
use sendtrail_core::ids::{FileId, HistoryId};
use sendtrail_core::ports::{StoreDocument as _, StoreError};
use serde_json::{Value, json};

use super::Check;
use super::raw::{Put, pause};
use crate::record;

const NAME: &str = "document";
/// Enough for the two files of the check.
const MOST: u64 = 1024 * 1024;
const UNKEPT: &str =
    "the bytes that were seen cannot be kept, or not be read again: no document can be sent";

impl Check<'_> {
    /// Upload, bind, download; replace; take off.
    pub(super) async fn files(&mut self, id: &HistoryId) {
        let first = pdf("one");
        match self.bound(id, &first).await {
            Err(why) => return self.fail(NAME, &why, UNKEPT),
            Ok(files) if files != 1 => {
                let found = format!("{files} files are in the field after one was bound");
                return self.fail(NAME, &found, UNKEPT);
            }
            Ok(_) => {}
        }
        self.reading(id).await;
        match self.bound(id, &pdf("two")).await {
            Err(why) => return self.fail(NAME, &why, UNKEPT),
            Ok(files) if files != 1 => {
                let found =
                    format!("{files} files are in the field after one took another's place");
                let means = "which document was confirmed cannot be told: nothing is sent from such a record";
                return self.fail(NAME, &found, means);
            }
            Ok(_) => {}
        }
        match self.taken_off(id).await {
            Ok(()) => {
                let found = "a file is uploaded, bound, read, replaced and taken off";
                self.pass(
                    NAME,
                    found,
                    "the bytes that were seen are the bytes that are sent",
                );
            }
            Err(why) => self.fail(NAME, &why, UNKEPT),
        }
    }

    async fn handles(&self, id: &HistoryId) -> Result<Vec<FileId>, String> {
        let seen = self.raw.read(id).await?;
        Ok(record::files(
            &seen.fields,
            self.raw.fields().document.as_str(),
        ))
    }

    /// Binds these bytes as the only file, as the adapter does, and reads them; how many files there are.
    async fn bound(&self, id: &HistoryId, bytes: &Bytes) -> Result<usize, String> {
        let text = |error: StoreError| error.to_string();
        let file = self.raw.zoho.upload("check.pdf", bytes.clone()).await;
        let file = file.map_err(text)?;
        let mut items = removed(&self.handles(id).await?);
        items.push(json!({"File_Id__s": file.as_str()}));
        self.set(id, items).await?;
        let handles = self.handles(id).await?;
        let Some(handle) = handles.last() else {
            return Ok(0);
        };
        let found = self.download(id, handle).await.map_err(text)?;
        if found == *bytes {
            Ok(handles.len())
        } else {
            Err("other bytes came back than were uploaded".to_owned())
        }
    }

    async fn download(&self, id: &HistoryId, file: &FileId) -> Result<Bytes, StoreError> {
        let zoho = self.raw.zoho;
        zoho.field_file(&zoho.module, id.as_str(), file, MOST).await
    }

    async fn taken_off(&self, id: &HistoryId) -> Result<(), String> {
        let items = removed(&self.handles(id).await?);
        self.set(id, items).await?;
        match self.handles(id).await?.as_slice() {
            [] => Ok(()),
            _ => Err("a file stays although it was taken off".to_owned()),
        }
    }

    async fn set(&self, id: &HistoryId, items: Vec<Value>) -> Result<(), String> {
        let row = json!({self.raw.fields().document.as_str(): items});
        match self.raw.set(id, &row).await {
            Put::Applied { .. } => Ok(()),
            Put::Conflict => Err("the record keeps changing by itself".to_owned()),
            Put::Refused(why) | Put::Unknown(why) => Err(why),
        }
    }

    /// Whether reading the document changes its record: each submit reads it right before the claim.
    async fn reading(&mut self, id: &HistoryId) {
        const NAME: &str = "document_read";
        let Some(file) = self
            .handles(id)
            .await
            .ok()
            .and_then(|files| files.into_iter().next())
        else {
            return self.not_known(NAME, "the record could not be read");
        };
        // A change that something else made is not made again by the second read.
        for _ in 0..2 {
            pause(1_500).await;
            match self.is_unmoved_by_a_read(id, &file).await {
                Err(why) => return self.not_known(NAME, &why),
                Ok(true) => {
                    let found = "reading a document leaves its record as it is";
                    return self.pass(NAME, found, "a send can be claimed");
                }
                Ok(false) => {}
            }
        }
        let means = "each submit reads the document right before it claims the record, and then meets a \
                     conflict: nothing can be sent. Nothing wrong is done";
        self.fail(NAME, "reading a document changes its record", means);
    }

    async fn is_unmoved_by_a_read(&self, id: &HistoryId, file: &FileId) -> Result<bool, String> {
        let before = self.raw.settled(id).await?;
        let bytes = self.download(id, file).await;
        bytes.map_err(|error| error.to_string())?;
        let after = self.raw.read(id).await?;
        Ok(after.version_at == before.version_at)
    }
}

fn removed(files: &[FileId]) -> Vec<Value> {
    let item = |file: &FileId| json!({"id": file.as_str(), "_delete": null});
    files.iter().map(item).collect()
}

fn pdf(text: &str) -> Bytes {
    let mut bytes = format!("%PDF-1.4\n% check {text}\n").into_bytes();
    bytes.extend(0..=u8::MAX);
    bytes.extend_from_slice(b"\n%%EOF\n");
    bytes.into()
}
