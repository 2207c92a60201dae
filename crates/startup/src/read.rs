//! Reads the configuration file: every mistake at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::SignedDuration;
use sendtrail_core::settings::{Asked, Mistake, Mistakes, Reader, SecretRef, Section};

use crate::config::{Config, Documents, Intake, Poller, SideEffect, SigningKey, Wake};
use crate::environment::Environment;
use crate::error::StartError;
use crate::secrets::{Place, SecretStore};

/// Lambda's own limit.
const MAX_TIMEOUT: SignedDuration = SignedDuration::from_mins(15);

/// What a Function URL can carry of a document after base64.
const MAX_DOCUMENT: i64 = 4_500_000;

/// Reads the configuration that `env` names. `read_crm` reads `[crm]`, so that this crate links no CRM.
///
/// # Errors
/// [`StartError::Unreadable`], or [`StartError::Config`] with every mistake in the file and the variables.
pub fn load<C>(
    env: &Environment,
    read_crm: impl FnOnce(&Section<'_, '_>) -> Option<C>,
) -> Result<Config<C>, StartError> {
    let file = env.config_file();
    let text = std::fs::read_to_string(&file).map_err(|error| StartError::Unreadable {
        path: file.display().to_string(),
        reason: error.to_string(),
    })?;
    let read = read(&file, &text, env, read_crm).map_err(StartError::Config)?;
    Ok(read.0)
}

/// Reads the text of `file`; also gives the keys that were asked for.
pub(crate) fn read<C>(
    file: &Path,
    text: &str,
    env: &Environment,
    read_crm: impl FnOnce(&Section<'_, '_>) -> Option<C>,
) -> Result<(Config<C>, Vec<Asked>), Mistakes> {
    let name = file.display().to_string();
    let folder = file.parent().unwrap_or(Path::new(""));
    let taken = secret_variables(&name, text, folder);
    let overrides = env.overrides(|variable| taken.contains(variable));
    let reader = Reader::new(&name, text).with_overrides(overrides);
    let root = reader.root();

    let stage = stage(&root);
    let drain = root.boolean_or("drain", false);
    let secrets_lifetime = secrets_lifetime(&root);
    let crm = read_crm(&root.section("crm"));
    let intake = intake(&root.section("intake"));
    let side_effect = side_effect(&root.section("side_effect"));
    let seal_key = root.section("seal").secret("key");
    let documents = documents(&root.section("documents"));
    let poller = poller(&root.section("poller"));
    let wake = wake(&root.section("wake"));
    let places = places(&root.section("secrets"), folder);

    let asked = reader.asked();
    check_listed(&root, &asked, &places);
    let keys = check_keys_differ(&root);
    reader.finish()?;

    let config = (|| {
        let stage = stage?;
        Some(Config {
            stage: stage.clone(),
            drain,
            secrets_lifetime,
            crm: crm?,
            intake: intake?,
            side_effect,
            seal_key: seal_key?,
            documents,
            poller,
            wake,
            secrets: SecretStore {
                places: places
                    .into_iter()
                    .filter_map(|(n, p)| Some((n, p?)))
                    .collect(),
                keys,
                stage,
                env: env.clone(),
            },
            folder: folder.to_path_buf(),
        })
    })();
    // A part that reads as nothing has left a mistake, unless `read_crm` forgot to.
    let config = config.ok_or_else(|| {
        Mistakes(vec![Mistake {
            file: name,
            line: 0,
            key: "crm".to_owned(),
            what: "cannot be used".to_owned(),
        }])
    })?;
    Ok((config, without_secret_names(asked)))
}

/// The variables that `[secrets]` names: they hold secrets and override nothing, whatever they are called.
fn secret_variables(name: &str, text: &str, folder: &Path) -> BTreeSet<String> {
    let reader = Reader::new(name, text);
    let places = places(&reader.root().section("secrets"), folder);
    places
        .into_values()
        .filter_map(|place| match place? {
            Place::Variable(variable) => Some(variable),
            Place::File(_) | Place::Parameter(_) | Place::Secret(_) => None,
        })
        .collect()
}

fn stage(root: &Section<'_, '_>) -> Option<String> {
    let stage = root.text("stage")?;
    let of_form = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !(1..=20).contains(&stage.len()) || !stage.bytes().all(of_form) {
        root.wrong("stage", "must be 1 to 20 lower-case letters, digits or -");
        return None;
    }
    Some(stage)
}

fn secrets_lifetime(root: &Section<'_, '_>) -> SignedDuration {
    let lifetime = root.duration_or("secrets_lifetime", "15m");
    if lifetime < SignedDuration::from_mins(1) {
        root.wrong(
            "secrets_lifetime",
            "must be at least 1m: every function reads its secrets again after it",
        );
    }
    lifetime
}

/// All four keys or none: a schedule without one of them would do nothing, or nothing that is seen to fail.
fn wake(section: &Section<'_, '_>) -> Option<Wake> {
    const KEYS: [&str; 4] = ["group", "role_arn", "target_arn", "dead_letter_arn"];
    let read = KEYS.map(|key| {
        let text = section.optional_text(key);
        text.filter(|text| !text.is_empty())
    });
    let missing: Vec<_> = KEYS
        .iter()
        .zip(&read)
        .filter_map(|(key, text)| text.is_none().then_some(*key))
        .collect();
    if (1..KEYS.len()).contains(&missing.len()) {
        let what = "is missing: the keys of [wake] are set all or none";
        for key in &missing {
            section.wrong(key, what);
        }
    }
    let [group, role_arn, target_arn, dead_letter_arn] = read;
    Some(Wake {
        group: group?,
        role_arn: role_arn?,
        target_arn: target_arn?,
        dead_letter_arn: dead_letter_arn?,
    })
}

fn intake(section: &Section<'_, '_>) -> Option<Intake> {
    let token_key = section.secret("token_key");
    let preview_ttl = positive(section, "preview_ttl", "10m");
    let confirm_ttl = positive(section, "confirm_ttl", "60m");
    if preview_ttl > confirm_ttl {
        let what = "must not be longer than intake.confirm_ttl: what can be seen can be confirmed";
        section.wrong("preview_ttl", what);
    }
    let preview_link = section.boolean_or("preview_link", false);
    let signing_keys = signing_keys(section);
    Some(Intake {
        token_key: token_key?,
        preview_ttl,
        confirm_ttl,
        preview_link,
        signing_keys,
    })
}

fn side_effect(section: &Section<'_, '_>) -> SideEffect {
    let settings = SideEffect {
        timeout: timeout(section, "60s"),
        claim_settle: section.duration_or("claim_settle", "2s"),
        clock_margin: section.duration_or("clock_margin", "30s"),
        record_reserve: positive(section, "record_reserve", "15s"),
        connect_timeout: positive(section, "connect_timeout", "5s"),
        signing_keys: signing_keys(section),
    };
    // A connection that is never made must be seen as such, and not as a submit of unknown outcome.
    let needed = settings.connect_timeout.saturating_mul(2);
    if settings.submit_time() < needed {
        section.wrong(
            "timeout",
            "leaves too little for the submit: it must hold claim_settle, record_reserve and twice \
             connect_timeout",
        );
    }
    settings
}

fn documents(section: &Section<'_, '_>) -> Documents {
    let max_bytes = section.integer_or("max_bytes", 4_400_000, 1..=MAX_DOCUMENT);
    Documents {
        max_bytes: max_bytes.unsigned_abs(),
    }
}

fn poller(section: &Section<'_, '_>) -> Poller {
    let number = |key, default, most: u32| {
        let number = section.integer_or(key, default, 1..=i64::from(most));
        u32::try_from(number).unwrap_or(most)
    };
    let settings = Poller {
        timeout: timeout(section, "110s"),
        page_rows: number("page_rows", 200, 200),
        max_pages: number("max_pages", 5, 50),
        concurrency: number("concurrency", 8, 100),
        rate_per_second: number("rate_per_second", 20, 1000),
        row_timeout: positive(section, "row_timeout", "20s"),
        reserve: section.duration_or("reserve", "15s"),
        list_lag: section.duration_or("list_lag", "60s"),
        interval: positive(section, "interval", "2m"),
    };
    if settings.reserve >= settings.timeout {
        section.wrong(
            "reserve",
            "must be shorter than poller.timeout, or no row is ever started",
        );
    }
    settings
}

fn positive(section: &Section<'_, '_>, key: &str, default: &str) -> SignedDuration {
    let duration = section.duration_or(key, default);
    if !duration.is_positive() {
        section.wrong(key, "must be longer than nothing");
    }
    duration
}

fn timeout(section: &Section<'_, '_>, default: &str) -> SignedDuration {
    let timeout = positive(section, "timeout", default);
    if timeout > MAX_TIMEOUT {
        section.wrong(
            "timeout",
            "must not be longer than 15m, which is Lambda's limit",
        );
    }
    timeout
}

fn signing_keys(section: &Section<'_, '_>) -> Vec<SigningKey> {
    let mut keys: Vec<SigningKey> = Vec::new();
    let tables = section.sections("signing_key");
    if tables.is_empty() {
        section.wrong(
            "signing_key",
            "needs at least one table, with name and secret",
        );
    }
    for table in &tables {
        let name = table.text("name");
        let secret = table.secret("secret");
        let Some(name) = name else { continue };
        let of_form = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
        if !(1..=40).contains(&name.len()) || !name.bytes().all(of_form) {
            table.wrong("name", "must be 1 to 40 letters, digits, _, . or -");
        }
        if keys.iter().any(|key| key.name == name) {
            table.wrong("name", "is the name of an earlier signing key too");
        }
        if let Some(secret) = secret {
            keys.push(SigningKey { name, secret });
        }
    }
    keys
}

/// The entries of `[secrets]`; `None` for one that cannot be read, so that it counts as listed.
fn places(section: &Section<'_, '_>, folder: &Path) -> BTreeMap<String, Option<Place>> {
    let mut places = BTreeMap::new();
    for (name, _) in section.keys() {
        let text = section.optional_text(&name);
        let place = text.and_then(|text| {
            let read = Place::parse(&text, folder);
            read.map_err(|what| section.wrong(&name, what)).ok()
        });
        if !name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        {
            section.wrong(&name, "must be named by letters, digits, - or _");
        }
        places.insert(name, place);
    }
    places
}

/// Every reference, also those the CRM's adapter read, must name an entry of `[secrets]`.
fn check_listed(root: &Section<'_, '_>, asked: &[Asked], places: &BTreeMap<String, Option<Place>>) {
    for key in asked.iter().filter(|asked| asked.kind == "secret") {
        each_secret(root, &key.key, &mut |section, last, secret| {
            if !places.contains_key(secret.name()) {
                let what = format!("secret:{} is not listed in [secrets]", secret.name());
                section.wrong(last, &what);
            }
        });
    }
}

/// One secret must not be the key to two things. Gives the names of all keys.
fn check_keys_differ(root: &Section<'_, '_>) -> BTreeSet<String> {
    const KEYS: [&str; 4] = [
        "intake.token_key",
        "seal.key",
        "intake.signing_key[].secret",
        "side_effect.signing_key[].secret",
    ];
    let mut names = BTreeSet::new();
    for key in KEYS {
        each_secret(root, key, &mut |section, last, secret| {
            if !names.insert(secret.name().to_owned()) {
                let what = format!("secret:{} is used for another key too", secret.name());
                section.wrong(last, &what);
            }
        });
    }
    names
}

/// Calls `visit` with every reference written under `key`, in which `[]` stands for each table of an array.
fn each_secret(
    section: &Section<'_, '_>,
    key: &str,
    visit: &mut dyn FnMut(&Section<'_, '_>, &str, &SecretRef),
) {
    let Some((first, rest)) = key.split_once('.') else {
        if let Some(secret) = section.optional_secret(key) {
            visit(section, key, &secret);
        }
        return;
    };
    match first.strip_suffix("[]") {
        Some(array) => {
            for table in section.sections(array) {
                each_secret(&table, rest, visit);
            }
        }
        None => each_secret(&section.section(first), rest, visit),
    }
}

/// The names of secrets are the installation's own; one row stands for them.
fn without_secret_names(asked: Vec<Asked>) -> Vec<Asked> {
    let mut rows: BTreeSet<Asked> = BTreeSet::new();
    for mut row in asked {
        if row.key.starts_with("secrets.") {
            "secrets.NAME".clone_into(&mut row.key);
        }
        rows.insert(row);
    }
    rows.into_iter().collect()
}

#[cfg(test)]
pub(crate) mod tests;
