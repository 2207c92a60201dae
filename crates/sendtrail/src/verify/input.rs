//! From options to a request, keys and a refusal.

use std::path::Path;

use sendtrail_signature::Secret;
use sendtrail_startup::{ExposeSecret as _, Function as Reader, SigningKey};

use super::arguments::VerifyArguments;
use super::capture::{self, Capture};
use super::diagnose::{Arrival, Request, Source};
use super::keys::{NamedKey, distinct};
use super::refusal::{self, Refusal};
use crate::cli::Function;
use crate::failure::{Failure, Kind};
use crate::setup::{Process, Settings, environment, settings};
use crate::sign;

/// What the options gave.
#[derive(Debug)]
pub(super) struct Input {
    /// `None` where only the log line of a refusal was given.
    pub(super) request: Option<Signed>,
    pub(super) refusal: Option<Refusal>,
    /// The file's body, or the captured one.
    pub(super) body: Option<Vec<u8>>,
}

/// A request, the keys to verify it with, and when it arrived.
#[derive(Debug)]
pub(super) struct Signed {
    pub(super) request: Request,
    pub(super) keys: Vec<NamedKey>,
    pub(super) arrival: Arrival,
    pub(super) content_type: Option<String>,
}

fn usage(what: impl Into<String>) -> Failure {
    Failure::new(Kind::Usage, what)
}

/// Reads everything that the options name.
pub(super) async fn read(
    args: &VerifyArguments,
    process: &Process,
    now_s: i64,
) -> Result<Input, Failure> {
    check(args)?;
    let refusal = match &args.refusal {
        Some(path) => Some(refusal::read(&text(path, "the log line")?)?),
        None => None,
    };
    let mut capture = match &args.headers {
        Some(path) => capture::read(&sign::read(path, "the headers")?)?,
        None => Capture::default(),
    };
    let body = match &args.body {
        Some(path) => Some(sign::read(path, "the body")?),
        None => capture.body.take(),
    };
    if !args.has_request() {
        return Ok(Input {
            request: None,
            refusal,
            body,
        });
    }
    let Some(body) = body else {
        return Err(usage("the body is missing: name its file with --body"));
    };
    let given = |option: &Option<String>, captured: Option<String>| {
        let text = option.clone().or(captured);
        text.map(String::into_bytes)
    };
    let request = Request {
        id: given(&args.id, capture.id),
        timestamp: given(&args.timestamp, capture.timestamp),
        signature: given(&args.signature, capture.signature),
        body: body.clone(),
    };
    let arrival = arrival(args.at, capture.arrived, refusal.as_ref(), &request, now_s);
    let signed = Signed {
        keys: keys(args, process).await?,
        content_type: capture.content_type,
        request,
        arrival,
    };
    Ok(Input {
        request: Some(signed),
        refusal,
        body: Some(body),
    })
}

/// Options that do not go together, besides what clap refuses.
fn check(args: &VerifyArguments) -> Result<(), Failure> {
    let files = [&args.body, &args.headers, &args.refusal];
    let from_stdin = files
        .iter()
        .filter(|file| file.as_deref() == Some(Path::new("-")));
    if from_stdin.count() > 1 {
        return Err(usage(
            "only one of --body, --headers and --refusal can be standard input",
        ));
    }
    let no_keys =
        args.secret_env.is_empty() && args.secret_file.is_empty() && args.function.is_none();
    match (args.has_request(), args.refusal.is_some()) {
        (false, false) => Err(usage(
            "give a captured request (--headers, or --id, --timestamp and --signature) or the log line of a \
             refusal (--refusal); see sendtrail verify --help",
        )),
        (true, _) if no_keys => Err(usage(
            "give the keys: --secret-env, --secret-file, or --function with a configuration",
        )),
        _ => Ok(()),
    }
}

fn text(path: &Path, what: &str) -> Result<String, Failure> {
    let bytes = sign::read(path, what)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn arrival(
    given: Option<i64>,
    event: Option<i64>,
    refusal: Option<&Refusal>,
    request: &Request,
    now_s: i64,
) -> Arrival {
    let log = || {
        let delta = refusal?.clock_delta_s?;
        let text = str::from_utf8(request.timestamp.as_deref()?).ok()?;
        text.parse::<i64>().ok()?.checked_add(delta)
    };
    let (at, source) = match (given, event, log()) {
        (Some(at), ..) => (at, Source::Given),
        (None, Some(at), _) => (at, Source::Event),
        (None, None, Some(at)) => (at, Source::Log),
        (None, None, None) => (now_s, Source::Now),
    };
    Arrival { at, source }
}

async fn keys(args: &VerifyArguments, process: &Process) -> Result<Vec<NamedKey>, Failure> {
    let due = |label: String, secret| NamedKey {
        label,
        secret,
        is_due: true,
    };
    let mut keys = Vec::new();
    for name in &args.secret_env {
        // The name is not repeated where it names nothing: people paste the secret itself here.
        let value = process.variable(name).ok_or_else(|| {
            usage("a variable that --secret-env names is not set; give its name, not the secret")
        })?;
        let label = format!("${name}");
        keys.push(due(label.clone(), sign::parse(value, &label)?));
    }
    for path in &args.secret_file {
        let secret = sign::parse(&sign::secret_file(path)?, "the file of --secret-file")?;
        keys.push(due(path.display().to_string(), secret));
    }
    if let Some(function) = args.function {
        let env = environment(process, args.config.as_deref())?;
        keys.extend(configured(&settings(&env)?, function).await?);
    }
    Ok(distinct(keys))
}

/// All keys of the function, and those of the other one as far as they can be read here.
async fn configured(settings: &Settings, function: Function) -> Result<Vec<NamedKey>, Failure> {
    let intake = (("intake", Reader::Intake), &settings.intake.signing_keys);
    let side_effect = (
        ("side_effect", Reader::SideEffect),
        &settings.side_effect.signing_keys,
    );
    let (own, other) = match function {
        Function::Intake => (intake, side_effect),
        Function::SideEffect => (side_effect, intake),
    };
    let mut keys = Vec::new();
    for key in own.1 {
        keys.push(resolved(settings, own.0, key, true).await?);
    }
    for key in other.1 {
        keys.extend(resolved(settings, other.0, key, false).await.ok());
    }
    Ok(keys)
}

async fn resolved(
    settings: &Settings,
    (section, function): (&str, Reader),
    key: &SigningKey,
    is_due: bool,
) -> Result<NamedKey, Failure> {
    let secrets = settings.secrets.resolve(function, [&key.secret]).await?;
    let value = secrets.get(&key.secret)?;
    let secret: Secret = sign::parse(
        value.expose_secret(),
        &format!("secret:{}", key.secret.name()),
    )?;
    Ok(NamedKey {
        label: format!("{section}.{}", key.name),
        secret,
        is_due,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arrival_is_the_most_exact_one_that_is_known() {
        let request = Request {
            timestamp: Some(b"1000".to_vec()),
            ..Request::default()
        };
        let refusal = Refusal {
            clock_delta_s: Some(-4),
            ..Refusal::default()
        };
        let of = |given, event, refusal| {
            let arrival = arrival(given, event, refusal, &request, 9);
            (arrival.at, arrival.source)
        };
        assert_eq!(of(Some(1), Some(2), Some(&refusal)), (1, Source::Given));
        assert_eq!(of(None, Some(2), Some(&refusal)), (2, Source::Event));
        assert_eq!(of(None, None, Some(&refusal)), (996, Source::Log));
        assert_eq!(of(None, None, None), (9, Source::Now));
    }
}
