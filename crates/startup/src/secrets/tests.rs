//! Secrets that are kept in AWS, against simulated services.

use sendtrail_simulator::parameters::{
    ParameterFault as Fault, ParameterFaultKind as Kind, ParameterKind, Parameters,
    ParametersConfig, ParametersHandle,
};

use super::*;
use crate::config::Config;
use crate::keys::SAMPLE;
use crate::testing::CapturedLogs;

/// The secrets of intake, by their names in the sample.
const NAMES: [&str; 3] = ["token-key", "seal-key", "intake-k1"];

struct Rig {
    services: ParametersHandle,
    config: Config<()>,
    logs: CapturedLogs,
}

/// What no error and no log may hold.
fn value(name: &str) -> String {
    format!("the-value-of-{}", name.replace('-', "_"))
}

impl Rig {
    /// The sample with all secrets in Parameter Store, but the last one of intake in Secrets Manager.
    async fn start() -> Self {
        let logs = CapturedLogs::start("intake");
        let services = Parameters::start(ParametersConfig::default())
            .await
            .unwrap();
        let mut in_secrets = false;
        let lines = SAMPLE.lines().map(|line| {
            in_secrets |= line == "[secrets]";
            match line.split_once(" = ") {
                Some((name, _)) if in_secrets && name == "intake-k1" => {
                    format!("{name} = \"secretsmanager:{{stage}}/{name}\"")
                }
                Some((name, _)) if in_secrets => {
                    format!("{name} = \"ssm:/sendtrail/{{stage}}/{{function}}/{name}\"")
                }
                _ => line.to_owned(),
            }
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        let variables = [
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", "the-secret-access-key"),
            ("AWS_ENDPOINT_URL", services.url()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let env = Environment::new(variables, "");
        let crm = crate::read::tests::any_crm;
        let file = std::path::Path::new("/etc/sendtrail.toml");
        let (config, _) = crate::read::read(file, &text, &env, crm).unwrap();
        Self {
            services,
            config,
            logs,
        }
    }

    async fn filled() -> Self {
        let rig = Self::start().await;
        for name in NAMES {
            rig.put(name, &value(name));
        }
        rig
    }

    fn put(&self, name: &str, value: &str) {
        if name == "intake-k1" {
            self.services.put_secret("prod/intake-k1", value);
        } else {
            let at = format!("/sendtrail/prod/intake/{name}");
            self.services.put(&at, value, ParameterKind::SecureString);
        }
    }

    async fn resolve(&self) -> Result<Secrets, StartError> {
        let wanted = self.config.intake_secrets();
        self.config.secrets.resolve(Function::Intake, &wanted).await
    }

    /// The lines of the error: each names a secret and holds no value, as the log does.
    async fn mistakes(&self) -> Vec<String> {
        let error = self.resolve().await.unwrap_err();
        let _ = error.report();
        let StartError::Secrets(mistakes) = &error else {
            panic!("{error}");
        };
        let all = format!("{error} {error:?} {}", self.logs.text());
        for name in NAMES {
            assert!(!all.contains(&value(name)), "{all}");
        }
        assert!(
            !all.contains("the-secret-access-key") && !all.contains("AWS4-HMAC"),
            "{all}"
        );
        mistakes.iter().map(ToString::to_string).collect()
    }
}

#[tokio::test]
async fn a_function_reads_its_own_secrets_and_each_service_is_asked_once() {
    let rig = Rig::filled().await;
    let secrets = rig.resolve().await.unwrap();
    let refs = rig.config.intake_secrets();
    for secret in &refs {
        let read = secrets.get(secret).unwrap().expose_secret();
        assert_eq!(read, value(secret.name()));
    }
    let calls = rig.services.calls();
    let mut asked: Vec<_> = calls
        .iter()
        .map(|call| (call.action.as_str(), call.names.clone()))
        .collect();
    asked.sort();
    let parameters = ["seal-key", "token-key"].map(|name| format!("/sendtrail/prod/intake/{name}"));
    assert_eq!(
        asked,
        [
            ("GetParameters", parameters.to_vec()),
            ("GetSecretValue", vec!["prod/intake-k1".to_owned()])
        ]
    );
    assert_eq!(rig.logs.text(), "");
    // Another function asks under its own name, and is told what is missing there.
    let seal = [&rig.config.seal_key];
    let store = &rig.config.secrets;
    let told = store.resolve(Function::SideEffect, seal).await.unwrap_err();
    assert!(
        told.to_string().contains(
            "secret:seal-key: the parameter /sendtrail/prod/side-effect/seal-key does not exist, or holds no \
             text; this makes it: aws ssm put-parameter --type SecureString --name \
             /sendtrail/prod/side-effect/seal-key --value file://FILE-WITH-THE-VALUE"
        ),
        "{told}"
    );
}

#[tokio::test]
async fn everything_that_is_denied_or_missing_is_told_at_once_with_what_to_do() {
    let rig = Rig::start().await;
    rig.put("seal-key", &value("seal-key"));
    rig.services
        .add_fault(Fault::lasting(Kind::Deny, "GetParameters"));
    let told = rig.mistakes().await;
    assert_eq!(told.len(), 3);
    assert!(
        told[0].starts_with("secret:intake-k1: the secret prod/intake-k1 does not exist")
            && told[0]
                .contains("aws secretsmanager create-secret --name prod/intake-k1 --secret-string"),
        "{told:?}"
    );
    // Which of the two it was, the service does not say.
    for (line, name) in told[1..].iter().zip(["seal-key", "token-key"]) {
        let due = format!(
            "secret:{name}: the role may not ssm:GetParameters on parameter /sendtrail/prod/intake/{name}, or on \
             another that was asked for in the same call, or kms:Decrypt"
        );
        assert!(line.starts_with(&due), "{line}");
    }
    rig.services.clear_faults();
    rig.services
        .add_fault(Fault::lasting(Kind::Deny, "GetSecretValue"));
    let told = rig.mistakes().await;
    assert_eq!(
        told[0],
        "secret:intake-k1: the role may not secretsmanager:GetSecretValue on secret prod/intake-k1, or \
         kms:Decrypt on its key"
    );
    assert!(told[1].starts_with("secret:token-key: the parameter") && told.len() == 2);
    let error = rig.resolve().await.unwrap_err();
    assert!(error.is_unreadable());
}

#[tokio::test]
async fn a_service_that_fails_once_is_asked_again_and_one_that_stays_down_is_named() {
    let rig = Rig::filled().await;
    rig.services
        .add_fault(Fault::once(Kind::Throttle, "GetParameters"));
    rig.services
        .add_fault(Fault::once(Kind::CutAnswer, "GetSecretValue"));
    assert!(rig.resolve().await.is_ok());
    rig.services
        .add_fault(Fault::lasting(Kind::Throttle, "GetParameters"));
    rig.services
        .add_fault(Fault::lasting(Kind::CutAnswer, "GetSecretValue"));
    let told = rig.mistakes().await;
    assert!(told[0].contains(
        "the secret prod/intake-k1 cannot be read: secretsmanager:GetSecretValue failed"
    ));
    for line in &told[1..] {
        assert!(
            line.ends_with("cannot be read: ssm:GetParameters is throttled"),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_value_is_taken_as_it_is_but_for_one_line_end() {
    let rig = Rig::filled().await;
    rig.put("token-key", " a value \n\r\n");
    rig.put("intake-k1", "another\n");
    let secrets = rig.resolve().await.unwrap();
    let read = |secret| secrets.get(secret).unwrap().expose_secret().to_owned();
    assert_eq!(read(&rig.config.intake.token_key), " a value \n");
    assert_eq!(read(&rig.config.intake.signing_keys[0].secret), "another");
}

#[tokio::test]
async fn a_value_that_is_blank_too_long_or_used_twice_is_refused_wherever_it_is_kept() {
    let rig = Rig::filled().await;
    rig.put("token-key", " \n");
    rig.put("intake-k1", &"x".repeat(64 * 1024 + 1));
    assert_eq!(
        rig.mistakes().await,
        [
            "secret:intake-k1: the secret prod/intake-k1 is too long for a secret",
            "secret:token-key: the parameter /sendtrail/prod/intake/token-key is empty",
        ]
    );
    assert!(!rig.resolve().await.unwrap_err().is_unreadable());
    rig.put("token-key", &value("seal-key"));
    rig.put("intake-k1", &"x".repeat(64 * 1024));
    let told = rig.mistakes().await;
    assert!(
        told[0].contains("has the same value as secret:token-key"),
        "{told:?}"
    );
    assert_eq!(told.len(), 2);
}
