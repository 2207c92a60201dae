use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use sendtrail_simulator::crm::{
    Crm, CrmConfig, CrmHandle, RawRecord, RefreshToken, Seed, SeedRecord,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

pub(crate) const MODULE: &str = "Send_Histories";
pub(crate) const SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
pub(crate) const INTAKE_KEY: &str = "an intake key of this test, long enough";

/// What a run of the command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.out.lines().count(), 1, "{self:?}");
        assert!(self.out.is_ascii(), "{self:?}");
        serde_json::from_str(&self.out).unwrap()
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        assert_eq!(self.err, "", "{self:?}");
        self
    }

    /// It failed with this code, told it on standard error and printed no result.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        assert!(!self.err.is_empty());
        self
    }

    pub(crate) fn everything(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

pub(crate) fn command(arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sendtrail"));
    command
        .args(arguments)
        .env_clear()
        .env("USER", "tester")
        .envs(variables.iter().copied())
        .kill_on_drop(true)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(crate) async fn run_with(arguments: &[&str], variables: &[(&str, &str)], input: &[u8]) -> Ran {
    let mut child = command(arguments, variables).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that does not read ends first; that is no failure of the test.
    let _ = stdin.write_all(input).await;
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) async fn run(arguments: &[&str]) -> Ran {
    run_with(arguments, &[], b"").await
}

/// The sample configuration and its driver, in a folder of their own.
pub(crate) struct Files {
    folder: TempDir,
}

impl Files {
    pub(crate) fn new() -> Self {
        Self::changed(str::to_owned)
    }

    /// With the configuration's text changed.
    pub(crate) fn changed(change: impl FnOnce(&str) -> String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = Self { folder };
        files.write("sendtrail.toml", &change(sendtrail_startup::SAMPLE));
        let driver = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../infra/config/drivers/lob-letter.toml"
        );
        std::fs::create_dir(files.path("drivers")).unwrap();
        let driver = std::fs::read_to_string(driver).unwrap();
        files.write("drivers/lob-letter.toml", &driver);
        files
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text_path(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn config(&self) -> String {
        self.text_path("sendtrail.toml")
    }
}

/// A simulated CRM and a configuration for it.
pub(crate) struct Bed {
    pub(crate) crm: CrmHandle,
    pub(crate) files: Files,
}

impl Bed {
    pub(crate) async fn new() -> Self {
        let mut config = CrmConfig::default();
        config.clients[0].refresh_tokens.push(RefreshToken {
            token: "1000.refresh.operator".into(),
            scopes: Vec::new(),
        });
        Self {
            crm: Crm::start(config).await.unwrap(),
            files: Files::new(),
        }
    }

    /// A history record whose version is well in the past.
    pub(crate) fn seed(&self, fields: Value) -> String {
        let Value::Object(fields) = fields else {
            panic!("fields are an object");
        };
        let record = SeedRecord {
            module: MODULE.into(),
            fields,
            ..SeedRecord::default()
        };
        let records = vec![record];
        let seeded = self.crm.seed(&Seed { records }).unwrap();
        self.crm.clock().advance(Duration::from_secs(20));
        seeded.records[0].id.clone()
    }

    /// A record in this state, with this progress.
    pub(crate) fn record(&self, state: &str, progress: &Value) -> String {
        self.seed(json!({"Delivery_State": state, "Progress_JSON": progress.to_string()}))
    }

    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let url = self.crm.url().to_owned();
        vec![
            ("HOME", self.files.text_path("")),
            ("SENDTRAIL_CONFIG", self.files.config()),
            ("SENDTRAIL_CRM__ACCOUNTS_URL", url.clone()),
            ("SENDTRAIL_CRM__API_URL", url),
            ("SENDTRAIL_CRM__CLIENT_ID", "1000.LOCALCLIENT".into()),
            ("CRM_CLIENT_SECRET", "local-client-secret".into()),
            ("CRM_REFRESH_OPERATOR", "1000.refresh.operator".into()),
        ]
    }

    pub(crate) async fn history(&self, arguments: &[&str]) -> Ran {
        let variables = self.variables();
        let variables: Vec<_> = variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let arguments = [&["history"], arguments].concat();
        run_with(&arguments, &variables, b"").await
    }

    pub(crate) fn stored(&self, id: &str) -> RawRecord {
        self.crm.record(MODULE, id).unwrap()
    }

    pub(crate) fn stored_progress(&self, id: &str) -> Value {
        let text = self.stored(id).fields["Progress_JSON"].clone();
        serde_json::from_str(text.as_str().unwrap()).unwrap()
    }

    pub(crate) fn edit(&self, id: &str, fields: Value) {
        let fields: Map<String, Value> = serde_json::from_value(fields).unwrap();
        self.crm.edit(MODULE, id, &fields).unwrap();
    }
}

/// A progress whose submit was accepted.
pub(crate) fn accepted() -> Value {
    json!({
        "v": 1, "rev": 7, "next_check_at": null, "attempts": 3, "deadline": "2026-01-08T00:00:00Z",
        "later": {"kept": true},
        "request": {"key": "msg_1", "body_sha256": SHA256, "actor": {"id": "u1", "name": "Jo Seller"}},
        "document": {"sha256": SHA256, "bytes": 48213, "file_id": "f1", "confirmed_at": "2026-01-01T00:00:05Z",
            "input_sha256": SHA256, "seal": "s"},
        "claim": {"token": "c1", "at": "2026-01-01T00:01:00Z", "request_key": "msg_2",
            "driver": "lob-letter", "draft_id": null},
        "submission": {"driver": "lob-letter", "reference": "st_00", "outcome": "accepted",
            "external_id": "ltr_7", "at": "2026-01-01T00:01:02Z", "evidence": {"class": "status", "status": 200}},
        "trail": [{"at": "2026-01-01T00:00:00Z", "event": "input_saved", "to": "saved"},
            {"at": "2026-01-08T00:00:00Z", "event": "gave_up", "to": "needs_review"}],
    })
}

/// A progress whose submit ended unknown, without an id.
pub(crate) fn unknown() -> Value {
    let mut progress = accepted();
    progress["submission"]["outcome"] = json!("unknown");
    progress["submission"]["external_id"] = Value::Null;
    progress
}
