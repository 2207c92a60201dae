//! What a simulated organisation consists of.

use std::path::PathBuf;

use super::switches::Switches;

/// Everything [`super::Crm::start`] needs. `Default` is an organisation in memory with the modules
/// `Send_Histories` and `Deals` and one client with three refresh tokens.
#[derive(Clone, Debug)]
pub struct CrmConfig {
    /// Port on 127.0.0.1; 0 picks a free one.
    pub port: u16,
    /// SQLite file; absent keeps everything in memory.
    pub file: Option<PathBuf>,
    /// OAuth clients.
    pub clients: Vec<ClientSpec>,
    /// Modules, each with its own fields. System fields come by themselves.
    pub modules: Vec<ModuleSpec>,
    /// Which module and fields the history page shows.
    pub history: HistoryNames,
    /// Offset of the user's zone from UTC, in minutes (-840 to 840).
    pub zone_minutes: i32,
    /// Limits of the organisation.
    pub limits: Limits,
    /// Initial switches.
    pub switches: Switches,
}

impl Default for CrmConfig {
    fn default() -> Self {
        Self {
            port: 0,
            file: None,
            clients: vec![ClientSpec::default()],
            modules: vec![ModuleSpec::send_histories(), ModuleSpec::deals()],
            history: HistoryNames::default(),
            zone_minutes: 330,
            limits: Limits::default(),
            switches: Switches::default(),
        }
    }
}

/// An OAuth client ("app") of the organisation.
#[derive(Clone, Debug)]
pub struct ClientSpec {
    /// Client id.
    pub id: String,
    /// Client secret.
    pub secret: String,
    /// Its refresh tokens.
    pub refresh_tokens: Vec<RefreshToken>,
}

impl Default for ClientSpec {
    fn default() -> Self {
        let token = |name: &str| RefreshToken {
            token: format!("1000.refresh.{name}"),
            scopes: Vec::new(),
        };
        Self {
            id: "1000.LOCALCLIENT".into(),
            secret: "local-client-secret".into(),
            refresh_tokens: ["intake", "side-effect", "poller"].map(token).into(),
        }
    }
}

/// One refresh token.
#[derive(Clone, Debug)]
pub struct RefreshToken {
    /// The token text.
    pub token: String,
    /// Scopes as Zoho names them, such as `ZohoCRM.modules.Deals.READ`; `ALL` stands for any last word.
    /// Empty: every scope.
    pub scopes: Vec<String>,
}

/// One module.
#[derive(Clone, Debug)]
pub struct ModuleSpec {
    /// API name.
    pub name: String,
    /// Prefix of the automatic `Name`; absent: `Name` is a text and mandatory on insert.
    pub auto_name: Option<String>,
    /// Fields beside the system fields.
    pub fields: Vec<FieldSpec>,
}

/// One field.
#[derive(Clone, Debug)]
pub struct FieldSpec {
    /// API name.
    pub name: String,
    /// Type.
    pub kind: FieldKind,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Single line, at most `length` (1 to 255).
    Text {
        /// Longest value.
        length: usize,
        /// Whether a value may occur once only; case does not count.
        unique: bool,
    },
    /// Multi-line small: 2,000.
    SmallText,
    /// Multi-line large: 32,000; cannot be filtered or sorted by.
    LargeText,
    /// Rich text: 50,000; a record read cuts it at 500 characters.
    RichText,
    /// Picklist with its known values.
    Picklist(Vec<String>),
    /// Date and time, whole seconds.
    DateTime,
    /// Whole number.
    Integer,
    /// Decimal number.
    Decimal,
    /// Yes or no.
    Boolean,
    /// Files, at most `max` (1 or 5).
    FileUpload {
        /// Most files.
        max: usize,
    },
    /// A person; written by the system only.
    Person,
}

impl FieldKind {
    /// The longest text, where the type has a limit.
    pub(crate) fn longest(&self) -> Option<usize> {
        match self {
            Self::Text { length, .. } => Some(*length),
            Self::SmallText => Some(2_000),
            Self::LargeText => Some(32_000),
            Self::RichText => Some(50_000),
            Self::Picklist(_) => Some(120),
            Self::DateTime
            | Self::Integer
            | Self::Decimal
            | Self::Boolean
            | Self::FileUpload { .. }
            | Self::Person => None,
        }
    }
}

/// API names the history page reads.
#[derive(Clone, Debug)]
pub struct HistoryNames {
    /// Module.
    pub module: String,
    /// State.
    pub state: String,
    /// Progress.
    pub progress: String,
    /// Input.
    pub input: String,
    /// Next check.
    pub next_check_at: String,
    /// Deadline.
    pub deadline: String,
    /// Request key.
    pub request_key: String,
    /// The send API's id.
    pub external_id: String,
    /// Document.
    pub document: String,
    /// Hash of the document.
    pub document_sha256: String,
    /// Module of the source record.
    pub source_module: String,
    /// Id of the source record.
    pub source_record: String,
}

impl Default for HistoryNames {
    fn default() -> Self {
        Self {
            module: "Send_Histories".into(),
            state: "Delivery_State".into(),
            progress: "Progress_JSON".into(),
            input: "Input_JSON".into(),
            next_check_at: "Next_Check_At".into(),
            deadline: "Deadline".into(),
            request_key: "Request_Key".into(),
            external_id: "External_Id".into(),
            document: "Document".into(),
            document_sha256: "Document_SHA256".into(),
            source_module: "Source_Module".into(),
            source_record: "Source_Record".into(),
        }
    }
}

/// The seven states, as the picklist of the default history module knows them.
pub const STATES: [&str; 7] = [
    "saved",
    "confirmed",
    "sending",
    "accepted",
    "succeeded",
    "failed",
    "needs_review",
];

impl ModuleSpec {
    /// The history module with its default API names.
    pub fn send_histories() -> Self {
        let names = HistoryNames::default();
        let text = |length| FieldKind::Text {
            length,
            unique: false,
        };
        let fields = vec![
            FieldSpec::new(
                &names.state,
                FieldKind::Picklist(STATES.map(String::from).into()),
            ),
            FieldSpec::new(&names.progress, FieldKind::LargeText),
            FieldSpec::new(&names.input, FieldKind::LargeText),
            FieldSpec::new(&names.next_check_at, FieldKind::DateTime),
            FieldSpec::new(&names.deadline, FieldKind::DateTime),
            FieldSpec::new(
                &names.request_key,
                FieldKind::Text {
                    length: 255,
                    unique: true,
                },
            ),
            FieldSpec::new(&names.external_id, text(255)),
            FieldSpec::new(&names.document, FieldKind::FileUpload { max: 1 }),
            FieldSpec::new(&names.document_sha256, text(64)),
            FieldSpec::new(&names.source_module, text(100)),
            FieldSpec::new(&names.source_record, text(64)),
        ];
        Self {
            name: names.module,
            auto_name: Some("SEND".into()),
            fields,
        }
    }

    /// The source module of the local stack.
    pub fn deals() -> Self {
        let fields = vec![
            FieldSpec::new(
                "Deal_Name",
                FieldKind::Text {
                    length: 120,
                    unique: false,
                },
            ),
            FieldSpec::new(
                "Stage",
                FieldKind::Picklist(vec!["Qualification".into(), "Closed Won".into()]),
            ),
            FieldSpec::new("Description", FieldKind::LargeText),
            FieldSpec::new("Terms", FieldKind::RichText),
            FieldSpec::new("Next_Step", FieldKind::SmallText),
            FieldSpec::new("Amount", FieldKind::Decimal),
            FieldSpec::new("Probability", FieldKind::Integer),
            FieldSpec::new("Signed", FieldKind::Boolean),
            FieldSpec::new("Contract_PDF", FieldKind::FileUpload { max: 5 }),
        ];
        Self {
            name: "Deals".into(),
            auto_name: Some("DEAL".into()),
            fields,
        }
    }
}

impl FieldSpec {
    /// A field.
    pub fn new(name: &str, kind: FieldKind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
        }
    }
}

/// Limits of the organisation.
#[derive(Clone, Debug)]
pub struct Limits {
    /// API credits per rolling 24 h.
    pub credits: u64,
    /// Calls of one client at once.
    pub concurrency: u32,
    /// COQL calls of one client at once.
    pub sub_concurrency: u32,
    /// Access tokens per refresh token and window.
    pub tokens_per_window: u32,
    /// That window, in seconds.
    pub token_window_s: u64,
    /// Life of an access token, in seconds.
    pub token_lifetime_s: u64,
    /// Largest file, in bytes.
    pub file_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            credits: 50_000,
            concurrency: 20,
            sub_concurrency: 10,
            tokens_per_window: 10,
            token_window_s: 600,
            token_lifetime_s: 3600,
            file_bytes: 20 * 1024 * 1024,
        }
    }
}
