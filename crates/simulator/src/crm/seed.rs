//! Records, files and attachments put there by a test or by the local stack.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::control::EDITOR;
use super::fields::{Rules, merge};
use super::records::insert;
use super::reply::Problem;
use super::store::Fields;
use super::{App, CrmError, random_hex};

/// What to put into the organisation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seed {
    /// Records, in order.
    pub records: Vec<SeedRecord>,
}

/// One record to create. No length, uniqueness or type is checked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedRecord {
    /// Module.
    pub module: String,
    /// Fields as the API would take them; files go into `files`.
    #[serde(default)]
    pub fields: serde_json::Map<String, Value>,
    /// Attachments.
    #[serde(default)]
    pub attachments: Vec<SeedFile>,
    /// Files of file-upload fields, by field.
    #[serde(default)]
    pub files: BTreeMap<String, Vec<SeedFile>>,
}

/// A file to seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedFile {
    /// Name.
    pub name: String,
    /// Bytes in standard base64.
    pub base64: String,
}

impl SeedFile {
    /// A file of these bytes.
    pub fn new(name: &str, bytes: &[u8]) -> Self {
        Self {
            name: name.to_owned(),
            base64: STANDARD.encode(bytes),
        }
    }

    fn bytes(&self) -> Result<Vec<u8>, CrmError> {
        STANDARD
            .decode(&self.base64)
            .map_err(|_| CrmError::BadSeed(format!("{} is not base64", self.name)))
    }
}

/// What was created, in the order of the seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Seeded {
    /// Records.
    pub records: Vec<SeededRecord>,
}

/// A created record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SeededRecord {
    /// Module.
    pub module: String,
    /// Record id.
    pub id: String,
    /// Attachment ids.
    pub attachments: Vec<String>,
    /// Files by field.
    pub files: BTreeMap<String, Vec<SeededFile>>,
}

/// A created file of a file-upload field.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SeededFile {
    /// `fields_attachment_id` of the download.
    pub id: String,
    /// `File_Id__s`.
    pub file_id: String,
}

impl App {
    /// Creates everything, or nothing where a module or a file is wrong.
    pub(crate) fn seed(&self, seed: &Seed) -> Result<Seeded, CrmError> {
        for one in &seed.records {
            self.module(&one.module)
                .ok_or_else(|| CrmError::NoModule(one.module.clone()))?;
            for file in one.files.values().flatten().chain(&one.attachments) {
                file.bytes()?;
            }
        }
        let records = seed
            .records
            .iter()
            .map(|one| self.seed_one(one))
            .collect::<Result<_, _>>()?;
        Ok(Seeded { records })
    }

    fn seed_one(&self, seed: &SeedRecord) -> Result<SeededRecord, CrmError> {
        let module = self
            .module(&seed.module)
            .ok_or_else(|| CrmError::NoModule(seed.module.clone()))?;
        let (switches, now_ms) = (self.switches(), self.clock.now_ms());
        let mut store = self.store();
        let mut fields = seed.fields.clone();
        for (name, files) in &seed.files {
            let mut entries = Vec::new();
            for file in files {
                let file_id = random_hex::<40>()?;
                store.add_file(&file_id, &file.name, &file.bytes()?, now_ms)?;
                entries.push(json!({"File_Id__s": file_id}));
            }
            fields.insert(name.clone(), entries.into());
        }
        let bad = |problem: Problem| {
            CrmError::BadSeed(format!("{} {}", problem.message, problem.details))
        };
        let rules = Rules {
            module,
            switches: &switches,
            index: 0,
            now_ms,
            lenient: true,
        };
        let merged = merge(rules, &mut store, &Fields::new(), &fields).map_err(bad)?;
        let files = seed
            .files
            .keys()
            .map(|name| (name.clone(), seeded_files(&merged[name])))
            .collect();
        let id = insert(&mut store, module, merged, EDITOR, now_ms).map_err(bad)?;
        let mut attachments = Vec::new();
        for file in &seed.attachments {
            attachments.push(
                store
                    .add_attachment(id, &file.name, &file.bytes()?, now_ms)?
                    .to_string(),
            );
        }
        Ok(SeededRecord {
            module: seed.module.clone(),
            id: id.to_string(),
            attachments,
            files,
        })
    }
}

fn seeded_files(stored: &Value) -> Vec<SeededFile> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |entry: &Value| SeededFile {
        id: text(&entry["id"]),
        file_id: text(&entry["File_Id__s"]),
    };
    stored.as_array().into_iter().flatten().map(one).collect()
}
