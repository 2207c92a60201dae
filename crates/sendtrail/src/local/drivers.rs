//! The drivers of a local stack: those that ship, pointed at the simulated send API and made quick.

use std::path::Path;

use sendtrail_simulator::send_api::SendApi;
use toml::{Table, Value};

use super::config::Timing;
use super::stack::LocalError;

/// The shipped driver.
pub(crate) const LETTER: &str = "lob-letter";
/// The same without the search by reference: an unknown outcome stays unknown.
pub(crate) const LETTER_BLIND: &str = "lob-letter-blind";
/// The same with a deadline soon after the claim.
pub(crate) const LETTER_HASTY: &str = "lob-letter-hasty";

/// A driver that makes a draft, fills it and commits it last, without an idempotency key.
pub(crate) const DRAFT: &str = "cloudsign";

const SHIPPED_LETTER: &str = include_str!("../../../../infra/config/drivers/lob-letter.toml");
const SHIPPED_DRAFT: &str = include_str!("../../../../infra/config/drivers/cloudsign.toml");

/// Writes the driver files into this folder.
pub(super) fn write(folder: &Path, api: &SendApi, timing: &Timing) -> Result<(), LocalError> {
    std::fs::create_dir_all(folder).map_err(|source| LocalError::file(folder, source))?;
    for id in [LETTER, LETTER_BLIND, LETTER_HASTY, DRAFT] {
        let path = folder.join(format!("{id}.toml"));
        let text = variant(id, &api.url, timing)?;
        std::fs::write(&path, text).map_err(|source| LocalError::file(&path, source))?;
    }
    Ok(())
}

fn variant(id: &str, api_url: &str, timing: &Timing) -> Result<String, LocalError> {
    let (shipped, base) = match id {
        DRAFT => (SHIPPED_DRAFT, format!("{api_url}/cloudsign")),
        _ => (SHIPPED_LETTER, format!("{api_url}/v1")),
    };
    let mut driver: Table = shipped.parse().map_err(|_| LocalError::ShippedDriver)?;
    let host = api_url.trim_start_matches("http://");
    let host = host.split(':').next().unwrap_or(host);
    driver.insert("id".into(), id.into());
    if let Some(auth) = driver.get_mut("auth").and_then(Value::as_table_mut)
        && auth.contains_key("token_url")
    {
        auth.insert("token_url".into(), format!("{base}/token").into());
    }
    driver.insert("base".into(), base.into());
    driver.insert("allow_hosts".into(), Value::Array(vec![host.into()]));
    let give_up = if id == LETTER_HASTY {
        timing.hasty
    } else {
        timing.give_up
    };
    let look_up = table(&mut driver, "look_up")?;
    for (key, value) in [
        ("first", timing.first),
        ("every", timing.every),
        ("give_up", give_up),
        ("not_found_grace", timing.not_found_grace),
    ] {
        look_up.insert(key.into(), value.into());
    }
    table(&mut driver, "find")?.insert("grace".into(), timing.find_grace.into());
    if id == LETTER_BLIND {
        driver.remove("find");
    }
    Ok(driver.to_string())
}

fn table<'a>(driver: &'a mut Table, key: &str) -> Result<&'a mut Table, LocalError> {
    driver
        .get_mut(key)
        .and_then(Value::as_table_mut)
        .ok_or(LocalError::ShippedDriver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variants_differ_from_the_shipped_driver_in_address_and_time_only() {
        let shipped: Table = SHIPPED_LETTER.parse().unwrap();
        let text = variant(LETTER, "http://127.0.0.1:9", &Timing::QUICK).unwrap();
        let local: Table = text.parse().unwrap();
        for key in ["auth", "idempotency", "step", "retry_after"] {
            assert_eq!(shipped.get(key), local.get(key), "{key}");
        }
        assert_eq!(local["look_up"]["rule"], shipped["look_up"]["rule"]);
        assert_eq!(local["base"].as_str(), Some("http://127.0.0.1:9/v1"));
        let blind: Table = variant(LETTER_BLIND, "http://127.0.0.1:9", &Timing::QUICK)
            .unwrap()
            .parse()
            .unwrap();
        assert!(!blind.contains_key("find"));
    }
}
