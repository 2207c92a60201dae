//! The configuration file.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use sendtrail_startup::Config;
use sendtrail_startup::fuzzing::config as read;

const CANARY: &str = "canary-4f1c9a7e";

/// Any text as the configuration file.
pub fn config_file(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match read(&text, sendtrail_zoho::Config::read) {
        Ok(config) => check(&config),
        Err(mistakes) => {
            assert!(!mistakes.0.is_empty());
            let lines = 1 + text.matches('\n').count();
            assert!(mistakes.0.iter().all(|mistake| mistake.line <= lines));
        }
    }
    // A secret that was written into the file is not repeated.
    let pasted = text.replace("\"secret:", &format!("\"{CANARY}"));
    if let Err(mistakes) = read(&pasted, sendtrail_zoho::Config::read) {
        assert!(
            mistakes
                .0
                .iter()
                .all(|mistake| !mistake.what.contains(CANARY)),
            "{mistakes}"
        );
    }
}

fn check(config: &Config<sendtrail_zoho::Config>) {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    assert!((1..=20).contains(&config.stage.len()) && config.stage.bytes().all(plain));
    for url in [&config.crm.accounts_url, &config.crm.api_url] {
        assert!(matches!(url.scheme(), "https" | "http"));
        assert!(url.username().is_empty() && url.password().is_none());
    }
    // No key opens two doors, and no door is without one.
    let intake = config.intake_secrets();
    let side_effect = &config.side_effect.signing_keys;
    assert!(!config.intake.signing_keys.is_empty() && !side_effect.is_empty());
    let keys = intake
        .iter()
        .chain(side_effect.iter().map(|key| &key.secret));
    let names: Vec<_> = keys.map(|key| key.name().to_owned()).collect();
    assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len());
    // Every time is one that something can be done in.
    let submit = config.side_effect.submit_time();
    assert!(submit >= config.side_effect.connect_timeout.saturating_mul(2));
    assert!(config.side_effect.timeout <= SignedDuration::from_mins(15));
    assert!(config.submit_policy().claim_stale >= config.side_effect.timeout);
    let polling = config.poll_policy();
    assert!((1..=200).contains(&polling.page_rows) && (1..=50).contains(&polling.max_pages));
    assert!(polling.concurrency >= 1 && polling.rate_per_second >= 1);
    assert!(polling.reserve < config.poller.timeout);
    assert!(config.intake.preview_ttl <= config.intake.confirm_ttl);
    assert!((1..=4_500_000).contains(&config.documents.max_bytes));
}
