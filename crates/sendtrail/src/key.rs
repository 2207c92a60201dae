//! `sendtrail key`: fresh secrets.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sendtrail_core::ports::Random;
use sendtrail_signature::Secret;
use serde_json::json;

use crate::cli::{KeyCommand, KeyNewArgs};
use crate::failure::{Failure, Kind};
use crate::output::{Cell, Paint, Screen, facts, json_line};

/// Runs `key`.
pub(crate) fn run(
    command: &KeyCommand,
    screen: Screen,
    random: &impl Random,
) -> Result<String, Failure> {
    match command {
        KeyCommand::New(args) => new(args, screen, random),
    }
}

fn new(args: &KeyNewArgs, screen: Screen, random: &impl Random) -> Result<String, Failure> {
    let text = fresh(random);
    let secret = Secret::parse(&text).map_err(|error| {
        Failure::new(Kind::Failed, format!("the new key is no secret: {error}"))
    })?;
    let whsec = secret.to_whsec();
    if screen.json {
        return Ok(json_line(
            &json!({"name": args.name, "text": text, "whsec": whsec}),
        ));
    }
    if args.whsec {
        return Ok(format!("{whsec}\n"));
    }
    if args.text {
        return Ok(format!("{text}\n"));
    }
    let plain = |text: &str| Cell(Paint::Plain, text.to_owned());
    let name = args.name.as_deref().map(|name| ("name", plain(name)));
    let forms = [("text", plain(&text)), ("whsec", plain(&whsec))];
    let lines: Vec<_> = name.into_iter().chain(forms).collect();
    Ok(facts(screen, &lines))
}

/// 256 random bits as 43 characters that every system takes as text.
fn fresh(random: &impl Random) -> String {
    let mut bytes = [0; 32];
    for half in bytes.chunks_exact_mut(16) {
        half.copy_from_slice(&random.bits().to_ne_bytes());
    }
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sendtrail_startup::OsRandom;

    #[test]
    fn a_key_has_256_bits_in_43_printable_characters() {
        let key = fresh(&OsRandom);
        assert_eq!(key.len(), 43);
        assert!(
            key.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        );
        assert!(Secret::parse(&key).is_ok());
    }

    #[test]
    fn both_halves_are_drawn_and_no_two_keys_are_alike() {
        let (one, two) = (fresh(&OsRandom), fresh(&OsRandom));
        assert_ne!(one[..20], two[..20]);
        assert_ne!(one[23..], two[23..]);
        assert_ne!(one[..20], one[23..]);
    }
}
