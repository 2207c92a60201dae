//! Starting from a folder as an operator sets it up.

use jiff::SignedDuration;
use sendtrail_startup::SAMPLE;

use super::*;

const DRIVER: &str = include_str!("../../../../infra/config/drivers/lob-letter.toml");

/// Every secret this function uses, and none of the others'.
const VARIABLES: [(&str, &str); 5] = [
    ("CRM_CLIENT_SECRET", "the client secret"),
    ("CRM_REFRESH_SIDE_EFFECT", "the refresh token"),
    ("SEAL_KEY", "the seal key, long enough to be one"),
    ("SIDE_EFFECT_K1", "the signing key, long enough to be one"),
    ("LOB_KEY", "test_0123456789_key_of_the_send_api"),
];

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("sendtrail.toml"), SAMPLE).unwrap();
        std::fs::create_dir(folder.path().join("drivers")).unwrap();
        let folder = Self(folder);
        folder.driver(DRIVER);
        folder
    }

    fn driver(&self, text: &str) {
        std::fs::write(self.0.path().join("drivers/lob-letter.toml"), text).unwrap();
    }

    async fn start(&self, changed: &[(&str, &str)]) -> Result<Instance<Recipe>, StartError> {
        let pairs = VARIABLES.iter().chain(changed);
        let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let env = Environment::new(pairs, self.0.path());
        let (_, logs) = sendtrail_startup::logs_to("side-effect", &env, std::io::sink);
        start(&env, &logs).await
    }
}

#[tokio::test]
async fn it_starts_with_its_own_secrets_and_asks_for_no_other() {
    let instance = Folder::new().start(&[]).await.unwrap();
    let app = instance.app();
    assert_eq!(app.policy.stage, "prod");
    assert_eq!(app.drivers.ids().collect::<Vec<_>>(), ["lob-letter"]);
}

#[tokio::test]
async fn every_unusable_key_is_named_and_none_is_shown() {
    let keys = [
        ("SEAL_KEY", "short-one"),
        ("SIDE_EFFECT_K1", "short-two"),
        ("LOB_KEY", ""),
    ];
    let error = Folder::new().start(&keys).await.err().unwrap();
    assert_eq!(error.error_type(), "Start.SecretsUnusable");
    let text = error.to_string();
    assert!(
        ["seal-key", "side-effect-k1", "lob-key"]
            .iter()
            .all(|name| text.contains(name)),
        "{text}"
    );
    assert!(!text.contains("short-"), "{text}");
}

#[tokio::test]
async fn a_driver_file_with_a_mistake_refuses_to_start() {
    let folder = Folder::new();
    folder.driver("id = \"lob-letter\"\nunheard_of = 1\n");
    let error = folder.start(&[]).await.err().unwrap();
    assert_eq!(error.error_type(), "Start.DriversInvalid");
    assert!(error.to_string().contains("lob-letter.toml"), "{error}");
}

#[tokio::test]
async fn a_time_out_without_room_to_connect_refuses_to_start() {
    let short = [("SENDTRAIL_SIDE_EFFECT__TIMEOUT", "25s")];
    let error = Folder::new().start(&short).await.err().unwrap();
    assert_eq!(error.error_type(), "Start.ConfigInvalid", "{error}");
}

#[tokio::test]
async fn nothing_that_starts_shows_a_secret() {
    let app = Folder::new().start(&[]).await.unwrap();
    let text = format!("{app:?}");
    for (name, value) in VARIABLES {
        assert!(!text.contains(value), "{name}");
    }
}

#[test]
fn a_submit_ends_before_the_time_to_record() {
    let settings = SideEffect {
        timeout: SignedDuration::from_secs(60),
        claim_settle: SignedDuration::from_secs(2),
        clock_margin: SignedDuration::from_secs(30),
        record_reserve: SignedDuration::from_secs(15),
        connect_timeout: SignedDuration::from_secs(8),
        signing_keys: Vec::new(),
    };
    let timeouts = timeouts(&settings);
    assert_eq!(timeouts.submit, SignedDuration::from_secs(43));
    assert_eq!(timeouts.connect, SignedDuration::from_secs(8));
    assert!(timeouts.look_up >= SignedDuration::from_secs(16));
}
