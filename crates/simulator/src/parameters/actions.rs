//! The calls themselves: JSON in, JSON or a named refusal out.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::State;
use super::store::{Exists, ParameterKind, StoredParameter};

/// Names or SDK versions may ask for more at once; AWS does not.
const BATCH: usize = 10;
/// A standard parameter holds no more bytes.
const LARGEST_VALUE: usize = 4_096;
const LONGEST_NAME: usize = 1_011;

/// An error as the JSON protocol tells it.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            code,
            message: message.into(),
        }
    }

    pub(crate) fn denied(action: &str, service: &str) -> Self {
        Self::new(
            "AccessDeniedException",
            format!(
                "User: arn:aws:sts::000000000000:assumed-role/simulated is not authorized to perform: {service}:{action} because no identity-based policy allows the {service}:{action} action"
            ),
        )
    }

    pub(crate) fn throttled() -> Self {
        Self::new("ThrottlingException", "Rate exceeded")
    }

    pub(crate) fn body(&self) -> String {
        json!({"__type": self.code, "message": self.message}).to_string()
    }
}

type Answer = Result<Value, Refusal>;

fn parse<T: for<'de> Deserialize<'de>>(body: &Value) -> Result<T, Refusal> {
    T::deserialize(body).map_err(|error| Refusal::new("ValidationException", error.to_string()))
}

/// What a call is about, for faults and the record of calls.
pub(crate) fn names(body: &Value) -> Vec<String> {
    let one = ["Name", "SecretId"]
        .into_iter()
        .filter_map(|key| body[key].as_str());
    let many = body["Names"].as_array().into_iter().flatten();
    one.chain(many.filter_map(Value::as_str))
        .map(str::to_owned)
        .collect()
}

impl State {
    /// Runs an action within its rate.
    pub(crate) fn run(&mut self, action: &str, body: &Value) -> Answer {
        let now = Instant::now();
        let limits = self.switches;
        let fits = match action {
            "PutParameter" => self.puts.enter(limits.puts_per_second, now),
            "DeleteParameter" | "DeleteParameters" => {
                self.deletes.enter(limits.deletes_per_second, now)
            }
            "GetParameter" | "GetParameters" => self.gets.enter(limits.gets_per_second, now),
            _ => true,
        };
        if !fits {
            return Err(Refusal::throttled());
        }
        match action {
            "GetParameters" => self.get_many(&parse(body)?),
            "GetParameter" => self.get_one(&parse(body)?),
            "PutParameter" => self.put(&parse(body)?),
            "DeleteParameters" => self.delete_many(&parse(body)?),
            "DeleteParameter" => self.delete_one(&parse(body)?),
            "GetSecretValue" => self.secret(&parse(body)?),
            _ => Err(Refusal::new("UnknownOperationException", action)),
        }
    }

    /// How old the next read is: as late as may be, then just in time, then half as late, and again.
    fn lateness(&mut self) -> Duration {
        let stale = Duration::from_millis(self.switches.stale_ms);
        self.reads += 1;
        match self.reads % 3 {
            1 => stale,
            2 => Duration::ZERO,
            _ => stale / 2,
        }
    }

    fn get_many(&mut self, call: &GetMany) -> Answer {
        check_names(&call.names)?;
        let late = self.lateness();
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for name in &call.names {
            match self.store.read(name, late) {
                Some(parameter) => found.push(shown(parameter, call.decrypt)),
                None => missing.push(name.clone()),
            }
        }
        // In no order that a caller could rely on.
        found.reverse();
        Ok(json!({"Parameters": found, "InvalidParameters": missing}))
    }

    fn get_one(&mut self, call: &GetOne) -> Answer {
        check_names(std::slice::from_ref(&call.name))?;
        let late = self.lateness();
        let parameter = self.store.read(&call.name, late);
        let parameter = parameter.ok_or_else(|| Refusal::new("ParameterNotFound", ""))?;
        Ok(json!({"Parameter": shown(parameter, call.decrypt)}))
    }

    fn put(&mut self, call: &Put) -> Answer {
        check_names(std::slice::from_ref(&call.name))?;
        if call.value.is_empty() || call.value.len() > LARGEST_VALUE {
            return Err(Refusal::new(
                "ValidationException",
                format!(
                    "Standard tier parameters support a maximum parameter value of {LARGEST_VALUE} characters."
                ),
            ));
        }
        let before = self.store.read(&call.name, Duration::ZERO);
        let kind = call.kind.or(before.map(|before| before.kind));
        let Some(kind) = kind else {
            let message = "A parameter type is required when you create a parameter.";
            return Err(Refusal::new("ValidationException", message));
        };
        let version = if call.overwrite {
            self.store.put(&call.name, &call.value, kind)
        } else {
            let wait = Duration::from_millis(self.switches.recreate_ms);
            let created = self.store.create(&call.name, &call.value, kind, wait);
            created.map_err(|Exists| {
                let message = "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.";
                Refusal::new("ParameterAlreadyExists", message)
            })?
        };
        self.written.push(StoredParameter {
            name: call.name.clone(),
            value: call.value.clone(),
            kind,
            version,
        });
        Ok(json!({"Version": version, "Tier": "Standard"}))
    }

    fn delete_many(&mut self, call: &DeleteMany) -> Answer {
        check_names(&call.names)?;
        let (gone, missing): (Vec<_>, Vec<_>) =
            call.names.iter().partition(|name| self.store.delete(name));
        Ok(json!({"DeletedParameters": gone, "InvalidParameters": missing}))
    }

    fn delete_one(&mut self, call: &DeleteOne) -> Answer {
        check_names(std::slice::from_ref(&call.name))?;
        if self.store.delete(&call.name) {
            Ok(json!({}))
        } else {
            Err(Refusal::new("ParameterNotFound", ""))
        }
    }

    fn secret(&self, call: &GetSecret) -> Answer {
        let stage = call.stage.as_deref().unwrap_or("AWSCURRENT");
        let value = self.secrets.get(&call.id).filter(|_| stage == "AWSCURRENT");
        let value = value.ok_or_else(|| {
            let message = "Secrets Manager can't find the specified secret.";
            Refusal::new("ResourceNotFoundException", message)
        })?;
        Ok(json!({
            "ARN": format!("arn:aws:secretsmanager:simulated:000000000000:secret:{}-AbCdEf", call.id),
            "Name": call.id,
            "VersionId": "00000000-0000-4000-8000-000000000000",
            "VersionStages": ["AWSCURRENT"],
            "SecretString": value,
        }))
    }
}

fn shown(parameter: &StoredParameter, decrypt: bool) -> Value {
    let hidden = parameter.kind == ParameterKind::SecureString && !decrypt;
    let value = if hidden {
        "AQICAHsimulatedciphertext"
    } else {
        &parameter.value
    };
    json!({
        "Name": parameter.name,
        "Type": parameter.kind,
        "Value": value,
        "Version": parameter.version,
        "LastModifiedDate": 1_767_225_600.0,
        "ARN": format!("arn:aws:ssm:simulated:000000000000:parameter{}", parameter.name),
        "DataType": "text",
    })
}

/// What AWS allows in one call: one to ten names, each once, of its letters, with a slash in front when there
/// is one inside, and none that begins as its own do.
fn check_names(names: &[String]) -> Result<(), Refusal> {
    let bad = |why: &str| Err(Refusal::new("ValidationException", why));
    if names.is_empty() || names.len() > BATCH {
        return bad("Member must have length from 1 to 10");
    }
    for (at, name) in names.iter().enumerate() {
        let letter = |b: u8| b.is_ascii_alphanumeric() || b"_.-/".contains(&b);
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(letter) {
            return bad(
                "Only a mix of letters, numbers and the following 4 symbols .-_/ are allowed",
            );
        }
        if name.contains('/') && !name.starts_with('/')
            || name.contains("//")
            || name.ends_with('/')
        {
            return bad("Parameter name must be a fully qualified name.");
        }
        let bare = name.trim_start_matches('/').to_ascii_lowercase();
        if bare.starts_with("aws") || bare.starts_with("ssm") {
            return bad(
                "Parameter name: can't be prefixed with \"ssm\" or \"aws\" (case-insensitive).",
            );
        }
        if names[..at].contains(name) {
            return bad("Duplicated parameter names");
        }
    }
    Ok(())
}

/// Puts another text in place of every value of an answer.
pub(crate) fn corrupt(answer: &mut Value, text: &str) {
    let put = |parameter: &mut Value| parameter["Value"] = text.into();
    if let Some(Value::Array(parameters)) = answer.get_mut("Parameters") {
        parameters.iter_mut().for_each(put);
    }
    if let Some(parameter) = answer.get_mut("Parameter") {
        put(parameter);
    }
    if let Some(secret) = answer.get_mut("SecretString") {
        *secret = text.into();
    }
}

#[derive(Deserialize)]
struct GetMany {
    #[serde(rename = "Names")]
    names: Vec<String>,
    #[serde(rename = "WithDecryption", default)]
    decrypt: bool,
}

#[derive(Deserialize)]
struct GetOne {
    #[serde(rename = "Name")]
    name: String,
    #[serde(rename = "WithDecryption", default)]
    decrypt: bool,
}

#[derive(Deserialize)]
struct Put {
    #[serde(rename = "Name")]
    name: String,
    #[serde(rename = "Value")]
    value: String,
    #[serde(rename = "Type")]
    kind: Option<ParameterKind>,
    #[serde(rename = "Overwrite", default)]
    overwrite: bool,
}

#[derive(Deserialize)]
struct DeleteMany {
    #[serde(rename = "Names")]
    names: Vec<String>,
}

#[derive(Deserialize)]
struct DeleteOne {
    #[serde(rename = "Name")]
    name: String,
}

#[derive(Deserialize)]
struct GetSecret {
    #[serde(rename = "SecretId")]
    id: String,
    #[serde(rename = "VersionStage")]
    stage: Option<String>,
}
