//! Starting from a folder as an operator sets it up.

use sendtrail_startup::SAMPLE;

use super::*;

const DRIVER: &str = include_str!("../../../../infra/config/drivers/lob-letter.toml");

/// Every secret this function uses, and none of the others'.
const VARIABLES: [(&str, &str); 3] = [
    ("CRM_CLIENT_SECRET", "the client secret"),
    ("CRM_REFRESH_POLLER", "the refresh token"),
    ("LOB_KEY", "test_0123456789_key_of_the_send_api"),
];

async fn start_with(
    driver: &str,
    variables: &[(&str, &str)],
    changed: &[(&str, &str)],
) -> Result<Instance<Recipe>, StartError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sendtrail.toml"), SAMPLE).unwrap();
    std::fs::create_dir(folder.path().join("drivers")).unwrap();
    std::fs::write(folder.path().join("drivers/lob-letter.toml"), driver).unwrap();
    let pairs = variables.iter().chain(changed);
    let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let env = Environment::new(pairs, folder.path());
    let (_, logs) = sendtrail_startup::logs_to("poller", &env, std::io::sink);
    start(&env, &logs).await
}

#[tokio::test]
async fn it_starts_without_any_key_of_a_door_or_seal() {
    let instance = start_with(DRIVER, &VARIABLES, &[]).await.unwrap();
    let app = instance.app();
    assert_eq!(app.policy.stage, "prod");
    assert_eq!(app.policy.claim_stale, SignedDuration::from_secs(90));
    assert_eq!(app.drivers.ids().collect::<Vec<_>>(), ["lob-letter"]);
    let text = format!("{instance:?}");
    for (name, value) in VARIABLES {
        assert!(!text.contains(value), "{name}");
    }
}

#[tokio::test]
async fn every_missing_secret_is_named_at_once() {
    let error = start_with(DRIVER, &[], &[]).await.err().unwrap();
    assert_eq!(error.error_type(), "Start.SecretsUnusable");
    let text = error.to_string();
    for name in ["crm-client-secret", "crm-refresh-poller", "lob-key"] {
        assert!(text.contains(name), "{name} in {text}");
    }
    assert!(
        !text.contains("seal-key") && !text.contains("intake"),
        "{text}"
    );
}

#[tokio::test]
async fn a_driver_file_with_a_mistake_refuses_to_start() {
    let driver = "id = \"lob-letter\"\nunheard_of = 1\n";
    let error = start_with(driver, &VARIABLES, &[]).await.err().unwrap();
    assert_eq!(error.error_type(), "Start.DriversInvalid");
    assert!(error.to_string().contains("lob-letter.toml"), "{error}");
}

#[tokio::test]
async fn a_short_row_time_starts_too() {
    let short = [("SENDTRAIL_POLLER__ROW_TIMEOUT", "2s")];
    assert!(start_with(DRIVER, &VARIABLES, &short).await.is_ok());
}

#[test]
fn a_look_up_leaves_time_for_the_write_of_its_row() {
    for seconds in [1, 5, 20, 600] {
        let row = SignedDuration::from_secs(seconds);
        let timeouts = timeouts(row);
        assert!(timeouts.look_up.saturating_mul(2) <= row, "{row}");
        assert!(timeouts.connect.saturating_mul(2) <= timeouts.look_up);
        assert!(timeouts.connect.is_positive());
    }
}
