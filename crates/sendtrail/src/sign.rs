//! `sendtrail sign`: the three headers for a body.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use jiff::Timestamp;
use sendtrail_core::ports::Random;
use sendtrail_signature::Secret;
use sendtrail_startup::{ExposeSecret as _, Function as Reader, SigningKey};
use serde_json::json;

use crate::cli::{Function, SignArgs, SignedAt};
use crate::failure::{Failure, Kind};
use crate::output::{Screen, json_line};
use crate::setup::{Process, Settings, environment, settings};

/// What a Function URL carries; a longer body is a mistake.
const MAX_BODY: u64 = 6 * 1024 * 1024;
/// No secret is longer; what is longer is some other file.
const MAX_SECRET: u64 = 64 * 1024;

/// Runs `sign`.
pub(crate) async fn run(
    args: &SignArgs,
    screen: Screen,
    process: &Process,
    now: Timestamp,
    random: &impl Random,
) -> Result<String, Failure> {
    if args.curl && screen.json {
        return Err(Failure::new(Kind::Usage, "use either --curl or --json"));
    }
    let secret = secret(args, process).await?;
    let body = read(&args.body, "the body")?;
    let id = match &args.id {
        Some(id) => id.clone(),
        None => format!("msg_{:032x}", random.bits()),
    };
    let timestamp = match args.timestamp {
        SignedAt::Now => now.as_second().to_string(),
        SignedAt::At(seconds) => seconds.to_string(),
    };
    let signature = sendtrail_signature::sign(&secret, &id, &timestamp, &body);
    Ok(render(args.curl, screen.json, &id, &timestamp, &signature))
}

fn render(curl: bool, json: bool, id: &str, timestamp: &str, signature: &str) -> String {
    if json {
        return json_line(&json!({
            "webhook-id": id,
            "webhook-timestamp": timestamp,
            "webhook-signature": signature,
        }));
    }
    if curl {
        // No value can hold a quotation mark.
        return format!(
            "-H 'webhook-id: {id}' -H 'webhook-timestamp: {timestamp}' -H 'webhook-signature: {signature}'\n"
        );
    }
    format!("webhook-id: {id}\nwebhook-timestamp: {timestamp}\nwebhook-signature: {signature}\n")
}

/// A file's or standard input's bytes as they are; `what` they are is for messages.
pub(crate) fn read(path: &Path, what: &str) -> Result<Vec<u8>, Failure> {
    let (read, name) = if path == Path::new("-") {
        (
            read_bounded(io::stdin().lock(), MAX_BODY),
            "standard input".to_owned(),
        )
    } else {
        let read = File::open(path).and_then(|file| read_bounded(file, MAX_BODY));
        (read, path.display().to_string())
    };
    let failed = |error: io::Error| {
        Failure::new(
            Kind::Usage,
            format!("cannot read {what} from {name}: {error}"),
        )
    };
    read.map_err(failed)
}

fn read_bounded(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// The secret. No message repeats what might be one.
async fn secret(args: &SignArgs, process: &Process) -> Result<Secret, Failure> {
    if let Some(name) = &args.secret_env {
        // The name is not repeated: people paste the secret itself here.
        let value = process.variable(name).ok_or_else(|| {
            Failure::new(
                Kind::Usage,
                "the variable that --secret-env names is not set; give its name, not the secret",
            )
        })?;
        return parse(value, "the variable of --secret-env");
    }
    if let Some(path) = &args.secret_file {
        return parse(&secret_file(path)?, "the file of --secret-file");
    }
    let function = args.function.ok_or_else(|| {
        Failure::new(Kind::Usage, "use --secret-env, --secret-file or --function")
    })?;
    let env = environment(process, args.config.as_deref())?;
    configured(&settings(&env)?, function, args.key.as_deref()).await
}

/// The secret in a file, without one line end at its end.
pub(crate) fn secret_file(path: &Path) -> Result<String, Failure> {
    let failed =
        |what: &str| Failure::new(Kind::Usage, format!("the file of --secret-file {what}"));
    let bytes = File::open(path)
        .and_then(|file| read_bounded(file, MAX_SECRET))
        .map_err(|error| failed(&format!("cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| failed("is no text"))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

async fn configured(
    settings: &Settings,
    function: Function,
    name: Option<&str>,
) -> Result<Secret, Failure> {
    let (keys, reader) = match function {
        Function::Intake => (&settings.intake.signing_keys, Reader::Intake),
        Function::SideEffect => (&settings.side_effect.signing_keys, Reader::SideEffect),
    };
    let key = find(keys, name)?;
    let secrets = settings.secrets.resolve(reader, [&key.secret]).await?;
    let value = secrets.get(&key.secret)?;
    parse(
        value.expose_secret(),
        &format!("secret:{}", key.secret.name()),
    )
}

fn find<'a>(keys: &'a [SigningKey], name: Option<&str>) -> Result<&'a SigningKey, Failure> {
    let found = match name {
        None => keys.first(),
        Some(name) => keys.iter().find(|key| key.name == name),
    };
    found.ok_or_else(|| {
        let names: Vec<_> = keys.iter().map(|key| key.name.as_str()).collect();
        let what = format!(
            "the configuration has no such signing key; it has {}",
            names.join(", ")
        );
        Failure::new(Kind::Usage, what)
    })
}

/// A secret of this text; `at` says where it stands.
pub(crate) fn parse(text: &str, at: &str) -> Result<Secret, Failure> {
    Secret::parse(text).map_err(|error| Failure::new(Kind::Configuration, format!("{at}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_holds_the_same_three_headers() {
        let lines = render(false, false, "msg_1", "17", "v1,a+/=");
        assert_eq!(
            lines,
            "webhook-id: msg_1\nwebhook-timestamp: 17\nwebhook-signature: v1,a+/=\n"
        );
        let curl = render(true, false, "msg_1", "17", "v1,a+/=");
        assert_eq!(curl.matches("-H '").count(), 3);
        assert_eq!(curl.lines().count(), 1);
        let json = render(false, true, "msg_1", "17", "v1,a+/=");
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["webhook-timestamp"], "17");
    }

    #[test]
    fn a_body_is_read_whole_or_not_at_all() {
        assert_eq!(read_bounded(&b"{}\r\n"[..], 4).unwrap(), b"{}\r\n");
        assert!(read_bounded(&b"{}\r\n"[..], 3).is_err());
    }
}
