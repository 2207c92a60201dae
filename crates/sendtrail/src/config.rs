//! `sendtrail config`: is the configuration right?

use std::collections::BTreeSet;

use sendtrail_core::settings::{Mistake, Mistakes, Reader, SecretRef};
use sendtrail_sendapi::DriverFile;
use sendtrail_signature::{KeyRing, Secret, ensure_distinct};
use sendtrail_startup::{
    Environment, ExposeSecret as _, Function, Secrets, SigningKey, StartError,
};
use serde_json::json;

use crate::cli::{ConfigArgs, ConfigCommand};
use crate::failure::{Failure, Kind};
use crate::output::{Screen, json_line};
use crate::setup::{Process, Settings, environment, settings};

/// Runs `config`.
pub(crate) async fn run(
    args: &ConfigArgs,
    screen: Screen,
    process: &Process,
) -> Result<String, Failure> {
    let env = environment(process, args.config.as_deref())?;
    match args.command {
        ConfigCommand::Check { secrets } => check(&env, screen, secrets).await,
    }
}

async fn check(env: &Environment, screen: Screen, read_secrets: bool) -> Result<String, Failure> {
    let settings = settings(env).map_err(|mut failure| {
        failure
            .message
            .push_str("\nthe driver files were not checked yet");
        failure
    })?;
    let drivers = drivers(env, &settings)?;
    if read_secrets {
        secrets(&settings, &drivers).await?;
    }
    let file = env.config_file().display().to_string();
    let ids: Vec<&str> = drivers.iter().map(|driver| driver.id().as_str()).collect();
    if screen.json {
        return Ok(json_line(&json!({
            "file": file,
            "stage": settings.stage,
            "drivers": ids,
            "secrets_read": read_secrets,
        })));
    }
    let secrets = if read_secrets {
        "every secret can be used"
    } else {
        "secrets were not read (--secrets reads them)"
    };
    Ok(format!(
        "{file} is right\nstage {}\ndrivers {}\n{secrets}\n",
        settings.stage,
        ids.join(", ")
    ))
}

/// The driver files, checked, and each secret they name listed.
fn drivers(env: &Environment, settings: &Settings) -> Result<Vec<DriverFile>, Failure> {
    let files = settings.driver_files()?;
    let files: Vec<_> = files
        .into_iter()
        .map(|file| (file.path, file.text))
        .collect();
    let drivers = sendtrail_sendapi::load(&files).map_err(StartError::Drivers)?;
    let listed = listed(env)?;
    let mut mistakes = Vec::new();
    for (driver, (path, _)) in drivers.iter().zip(&files) {
        for secret in driver.secret_refs() {
            if !listed.contains(secret.name()) {
                mistakes.push(mistake(path, &secret, "is not listed in [secrets]"));
            }
        }
    }
    if mistakes.is_empty() {
        Ok(drivers)
    } else {
        Err(Mistakes(mistakes).into())
    }
}

/// The names in `[secrets]`.
fn listed(env: &Environment) -> Result<BTreeSet<String>, Failure> {
    let file = env.config_file();
    let text = std::fs::read_to_string(&file).map_err(|error| {
        let what = format!("cannot read {}: {error}", file.display());
        Failure::new(Kind::Configuration, what)
    })?;
    let reader = Reader::new("", &text);
    let keys = reader.root().section("secrets").keys();
    Ok(keys.into_iter().map(|(name, _)| name).collect())
}

fn mistake(file: &str, secret: &SecretRef, what: &str) -> Mistake {
    Mistake {
        file: file.to_owned(),
        line: 0,
        key: format!("secret:{}", secret.name()),
        what: what.to_owned(),
    }
}

/// Reads every secret of the configuration as the function that uses it, and checks that the keys are keys.
async fn secrets(settings: &Settings, drivers: &[DriverFile]) -> Result<(), Failure> {
    let mut mistakes = BTreeSet::new();
    let (mut intake, mut side_effect) = (Secrets::default(), Secrets::default());
    for (function, refs) in asked(settings, drivers) {
        match settings.secrets.resolve(function, &refs).await {
            Ok(values) => match function {
                Function::Intake => intake = values,
                Function::SideEffect => side_effect = values,
                Function::Poller | Function::Operator => {}
            },
            Err(StartError::Secrets(found)) => {
                mistakes.extend(found);
            }
            Err(other) => return Err(other.into()),
        }
    }
    if !mistakes.is_empty() {
        return Err(StartError::Secrets(mistakes.into_iter().collect()).into());
    }
    let keys = Keys::read(settings, &intake, &side_effect)?;
    keys.check()
        .map_err(|error| Failure::new(Kind::Configuration, error))
}

/// What each function asks for, and the command.
fn asked(settings: &Settings, drivers: &[DriverFile]) -> [(Function, Vec<SecretRef>); 4] {
    let crm = &settings.crm;
    let tokens = &crm.refresh_token;
    let of_drivers: Vec<_> = drivers.iter().flat_map(DriverFile::secret_refs).collect();
    let with_crm = |token: &SecretRef, others: Vec<SecretRef>| {
        let crm = [crm.client_secret.clone(), token.clone()];
        crm.into_iter().chain(others).collect()
    };
    let side_effect = [settings.side_effect_secrets(), of_drivers.clone()].concat();
    let operator = tokens.operator.as_ref();
    [
        (
            Function::Intake,
            with_crm(&tokens.intake, settings.intake_secrets()),
        ),
        (
            Function::SideEffect,
            with_crm(&tokens.side_effect, side_effect),
        ),
        (Function::Poller, with_crm(&tokens.poller, of_drivers)),
        (
            Function::Operator,
            operator.map_or_else(Vec::new, |token| with_crm(token, Vec::new())),
        ),
    ]
}

/// Every key of the installation.
struct Keys {
    intake: Vec<(String, Secret)>,
    side_effect: Vec<(String, Secret)>,
    token: Secret,
    seal: Secret,
}

impl Keys {
    fn read(settings: &Settings, intake: &Secrets, side_effect: &Secrets) -> Result<Self, Failure> {
        let mut mistakes = Vec::new();
        let mut read = |values: &Secrets, secret: &SecretRef| -> Result<Option<Secret>, Failure> {
            let key = Secret::parse(values.get(secret)?.expose_secret());
            Ok(key
                .map_err(|error| mistakes.push(mistake("the secrets", secret, &error.to_string())))
                .ok())
        };
        let token = read(intake, &settings.intake.token_key)?;
        let seal = read(intake, &settings.seal_key)?;
        let opened = read(side_effect, &settings.seal_key)?;
        let mut signing =
            |values: &Secrets, keys: &[SigningKey]| -> Result<Vec<(String, Secret)>, Failure> {
                let mut found = Vec::new();
                for key in keys {
                    let secret = read(values, &key.secret)?;
                    found.extend(secret.map(|secret| (key.name.clone(), secret)));
                }
                Ok(found)
            };
        let in_intake = signing(intake, &settings.intake.signing_keys)?;
        let in_side_effect = signing(side_effect, &settings.side_effect.signing_keys)?;
        if let (Some(seal), Some(opened)) = (&seal, &opened)
            && ensure_distinct(&[("intake", seal), ("side_effect", opened)]).is_ok()
        {
            let what =
                "is not the same for side-effect as for intake: nothing confirmed could be sent";
            mistakes.push(mistake("the secrets", &settings.seal_key, what));
        }
        match (token, seal) {
            (Some(token), Some(seal)) if mistakes.is_empty() => Ok(Self {
                intake: in_intake,
                side_effect: in_side_effect,
                token,
                seal,
            }),
            _ => Err(Mistakes(mistakes).into()),
        }
    }

    fn check(&self) -> Result<(), String> {
        for (function, keys) in [("intake", &self.intake), ("side_effect", &self.side_effect)] {
            KeyRing::new(keys.clone()).map_err(|error| format!("{function}: {error}"))?;
        }
        let labels = |function: &str, keys: &[(String, Secret)]| -> Vec<(String, Secret)> {
            let label =
                |(name, key): &(String, Secret)| (format!("{function}.{name}"), key.clone());
            keys.iter().map(label).collect()
        };
        let mut all = labels("intake", &self.intake);
        all.extend(labels("side_effect", &self.side_effect));
        all.push(("intake.token_key".to_owned(), self.token.clone()));
        all.push(("seal.key".to_owned(), self.seal.clone()));
        let named: Vec<_> = all.iter().map(|(name, key)| (name.as_str(), key)).collect();
        ensure_distinct(&named).map_err(|error| error.to_string())
    }
}
