//! Where a local stack is reached, for people and for tests.

use serde::{Deserialize, Serialize};

/// What `--endpoints FILE` writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Endpoints {
    /// The Function URL of intake.
    pub(crate) intake_url: String,
    /// The Function URL of side-effect.
    pub(crate) side_effect_url: String,
    /// The simulated CRM.
    pub(crate) crm_url: String,
    /// The simulated send API.
    pub(crate) send_api_url: String,
    /// The page with the history records.
    pub(crate) history_page: String,
    /// The stage, part of every `aud`.
    pub(crate) stage: String,
    /// The signing keys.
    pub(crate) signing: Signing,
    /// A source record with a PDF.
    pub(crate) source: Source,
    /// The configuration file.
    pub(crate) config: String,
}

/// The signing key of each public function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Signing {
    /// For intake.
    pub(crate) intake: SigningKey,
    /// For side-effect.
    pub(crate) side_effect: SigningKey,
}

/// A named secret in Standard Webhooks' form.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SigningKey {
    /// The key's name.
    pub(crate) name: String,
    /// `whsec_…`.
    pub(crate) secret: String,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({})", self.name)
    }
}

/// A source record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    /// Its module.
    pub(crate) module: String,
    /// Its id.
    pub(crate) record_id: String,
    /// A PDF attached to it.
    pub(crate) attachment_id: String,
}

impl Endpoints {
    /// A table for people; secrets are not in it, nor functions that run elsewhere.
    pub(crate) fn table(&self) -> String {
        let rows = [
            ("history records", &self.history_page),
            ("intake", &self.intake_url),
            ("side-effect", &self.side_effect_url),
            ("CRM", &self.crm_url),
            ("send API", &self.send_api_url),
            ("source record", &self.source.record_id),
            ("attachment", &self.source.attachment_id),
            ("configuration", &self.config),
        ];
        let rows = rows.iter().filter(|(_, value)| !value.is_empty());
        let width = rows.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
        let lines = rows.map(|(name, value)| format!("  {name:width$}  {value}"));
        lines.collect::<Vec<_>>().join("\n") + "\n"
    }
}
